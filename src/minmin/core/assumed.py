"""Assumed: a problem with constants that somebody else supplies, such as a method that estimates them during a run."""

from __future__ import annotations

from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector


class Assumed(Problem):
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
        self.original = original
        self._known = known
        self._constants = constants
        self.d_x, self.d_y = original.d_x, original.d_y
        self.has_value, self.has_y_hessian = original.has_value, original.has_y_hessian
        self.part_sizes, self.part_weights = original.part_sizes, original.part_weights
        self.has_noisy_gradients = original.has_noisy_gradients
        self.term_x, self.term_y = original.term_x, original.term_y

    @property
    def constants(self) -> Constants:
        return self._constants

    @property
    def row_obstacle(self) -> str:
        return self.original.row_obstacle

    def fix(self, x: Vector) -> Slice:
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
