"""Race: how many gradients a method computes before it has a point that is good enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from minmin.terms import Term

Array = np.ndarray[Any, Any]


class Objective(Protocol):
    """A smooth function, f or F, where a method starts."""

    start: Array
    largest_curvature: float

    def value(self, v: Array) -> float: ...

    def gradient(self, v: Array) -> Array: ...


class Count(NamedTuple):
    """The number of gradients, and whether the point was good enough after them."""

    calls: int
    reached: bool

    def __str__(self) -> str:
        return str(self.calls) if self.reached else f"> {self.calls}"


class _EndError(Exception):
    """Ends a method from within."""


class _TargetReachedError(_EndError):
    pass


class Race:
    """A smooth function plus a term. Only gradients count."""

    def __init__(self, objective: Objective, term: Term, target: float, most_calls: int):
        self.objective, self.term = objective, term
        self.target, self.most_calls = target, most_calls
        self.calls = 0

    def gradient(self, v: Array) -> Array:
        if self.calls == self.most_calls:
            raise _EndError
        self.calls += 1
        return self.objective.gradient(v)

    def see(self, v: Array) -> None:
        """The method could stop at this point; the race ends if it is good enough."""
        if self.objective.value(v) + self.term.value(v) <= self.target:
            raise _TargetReachedError

    def run(self, method: Callable[[Race], None]) -> Count:
        """Run a method until it reaches the target, gives up, or has spent all its calls."""
        try:
            method(self)
        except _TargetReachedError:
            return Count(self.calls, True)
        except _EndError:
            pass
        return Count(self.calls, False)
