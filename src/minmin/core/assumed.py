"""Assumed: a problem with constants that somebody else supplies, such as a method that estimates them during a run."""

from __future__ import annotations

from minmin.core.constants import Constants
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector


class Assumed(Problem):
    """The same f, with other constants.

    Parameters
    ----------
    original : Problem
        f; it counts.
    constants : Constants
    """

    def __init__(self, original: Problem, constants: Constants):
        self.original = original
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
        return self.original.fix(x)
