"""Which block is outer: a problem with its blocks exchanged, and pairs put back into the user's order."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.rounding import RoundingScale
from minmin.core.vectors import Vector, norm

T = TypeVar("T")


class Outer(Enum):
    """The block that a method moves once per iteration. Methods always call it x."""

    X = "x"
    Y = "y"

    def orient(self, problem: Problem) -> Problem:
        """The problem as a method sees it."""
        return problem if self is Outer.X else problem.swapped()

    def pair(self, first: T, second: T) -> tuple[T, T]:
        """Put a pair from the user's order into the method's order, or the reverse."""
        return (first, second) if self is Outer.X else (second, first)


class Swapped(Problem):
    """Any problem with its blocks exchanged. Fixing x precomputes nothing."""

    def __init__(self, original: Problem):
        self.original = original
        self.has_value = original.has_value
        self.d_x, self.d_y = original.d_y, original.d_x
        self.term_x, self.term_y = original.term_y, original.term_x
        self.structure_x, self.structure_y = original.structure_y, original.structure_x

    @property
    def constants(self) -> Constants | None:
        constants = self.original.constants
        return None if constants is None else constants.swapped()

    @property
    def row_obstacle(self) -> str:
        return f"{type(self.original).__name__} is not known to be a sum over rows"

    @property
    def prototype(self) -> Array:
        return self.original.prototype

    def counted(self, tally: Tally) -> Swapped:
        return Swapped(self.original.counted(tally.swapped()))

    def swapped(self) -> Problem:
        return self.original

    def to_like(self, prototype: Array) -> Swapped:
        return Swapped(self.original.to_like(prototype))

    def identity(self) -> Iterable[Any]:
        return self.original.identity()

    def fix(self, x: Vector) -> Slice:
        return _SwappedSlice(self.original, x)


class _SwappedSlice(Slice):
    __slots__ = ("_original", "term_y")

    def __init__(self, original: Problem, x: Vector):
        super().__init__(x)
        self._original = original
        self.term_y = original.term_x

    def at(self, y: Vector) -> Evaluation:
        return _SwappedEvaluation(self._original.fix(y).at(self.x))


class _SwappedEvaluation(Evaluation):
    """The original's evaluation, which does the counting, with the blocks exchanged."""

    __slots__ = ("_original", "term_x", "term_y")

    def __init__(self, original: Evaluation):
        super().__init__(original.y, original.x, UNCOUNTED)
        self._original = original
        self.term_x, self.term_y = original.term_y, original.term_x

    def known_gradients(self) -> dict[str, Vector]:
        return self._original.known_gradients()

    def locate(self, gradient: str, index: int) -> str:
        return self._original.locate(gradient, index)

    def _compute_value(self) -> float:
        return self._original.value

    def _compute_grad_x(self) -> Vector:
        return self._original.grad_y

    def _compute_grad_y(self) -> Vector:
        return self._original.grad_x

    @property
    def rounding(self) -> RoundingScale:
        return self._original.rounding._replace(y_norm=norm(self.y))
