"""Assumed: a problem with constants that somebody else supplies, such as a method that estimates them during a run."""

from __future__ import annotations

from typing import Any

from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector
from minmin.core.wrapped import Wrapped


class Assumed(Wrapped):
    """The same f, with other constants.

    Parameters
    ----------
    original : Problem
        f; it counts.
    constants : Constants
    known : Evaluation, optional
        Used instead of a new evaluation at this very point. A slice there has no other abilities.
    """

    def __init__(self, original: Problem, constants: Constants, known: Evaluation | None = None):
        super().__init__(original, bounds_by_data=False)
        self._known = known
        self._constants = constants

    @property
    def constants(self) -> Constants:
        return self._constants

    def constants_for(self, cost_ratio: float) -> Constants:
        return self._constants

    def fix(self, x: Vector) -> Any:
        if self._known is not None and x is self._known.x:
            return _KnownSlice(self.original, self._known)
        return self.original.fix(x)


class _KnownSlice(Slice):
    """A slice with one evaluation that was computed before."""

    __slots__ = ("known", "problem")

    def __init__(self, problem: Problem, known: Evaluation):
        super().__init__(known.x)
        self.problem, self.known = problem, known

    def at(self, y: Vector) -> Evaluation:
        return self.known if y is self.known.y else self.problem.fix(self.x).at(y)
