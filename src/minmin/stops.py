"""When a run ends from outside: tolerances, budgets, and the stopwatch they are measured with."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from minmin.errors import InputError, as_count, as_number
from minmin.result import Status
from minmin.tally import Tally


@dataclass(frozen=True)
class Stops:
    """What a user asked a run to stop at; see :func:`minmin.minimize`."""

    tol: float
    target_value: float | None
    max_grad_x: int | None
    max_grad_y: int | None
    max_seconds: float | None

    def __post_init__(self) -> None:
        if not 0.0 <= as_number(self.tol, "tol") < math.inf:
            raise InputError(f"tol = {self.tol!r} must be a number >= 0 (0 switches the certified stop off)")
        if self.target_value is not None and not as_number(self.target_value, "target_value") < math.inf:
            raise InputError(f"target_value = {self.target_value!r} must be a finite number")
        for name in ("max_grad_x", "max_grad_y"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name)
        if self.max_seconds is not None and not as_number(self.max_seconds, "max_seconds") >= 0:
            raise InputError(f"max_seconds = {self.max_seconds!r} must be a number >= 0")


class Clock:
    """A stopwatch that stands still while somebody looks."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def advance(self, seconds: float) -> None:
        """Add time that was spent before this stopwatch was started."""
        self._start -= seconds

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        before = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - before


class RunEnded(Exception):  # noqa: N818 - a signal between two layers, never seen by a user
    """Raised in the middle of a step where a run cannot, or shall not, go on."""

    def __init__(self, status: Status, message: str):
        super().__init__(message)
        self.status = status


class BudgetedTally(Tally):
    """Counts, and refuses the call that would exceed a budget."""

    def __init__(self, stops: Stops, clock: Clock):
        super().__init__()
        self._limits = {"grad_x": stops.max_grad_x, "grad_y": stops.max_grad_y}
        self._seconds = stops.max_seconds
        self._clock = clock

    def add(self, kind: str) -> None:
        limit = self._limits.get(kind)
        if limit is not None and self[kind] >= limit:
            raise RunEnded("budget", f"max_{kind} = {limit} calls are spent")
        if self._seconds is not None and self._clock.elapsed() >= self._seconds:
            raise RunEnded("budget", f"max_seconds = {self._seconds:g} are spent")
        super().add(kind)
