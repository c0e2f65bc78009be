"""Which block is outer: a problem with its blocks exchanged, and pairs put back into the user's order."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from minmin.core.arrays import Array, identity, namespace_of
from minmin.core.bound import Constants, RoundingScale
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector, norm
from minmin.core.wrapped import Wrapped, WrappedEvaluation

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


class Swapped(Wrapped):
    """Any problem with its blocks exchanged. Fixing x precomputes nothing; of the Hessian there is H_yy alone."""

    # What is known of the rows and units of the original does not hold with its blocks exchanged.
    constants_for = Problem.constants_for
    units = Problem.units
    units_x = Problem.units_x
    why_no_rows = Problem.why_no_rows

    def __init__(self, original: Problem):
        super().__init__(
            original,
            d_x=original.d_y,
            d_y=original.d_x,
            term_x=original.term_y,
            term_y=original.term_x,
            structure_x=original.structure_y,
            structure_y=original.structure_x,
            part_sizes=(),
            part_weights=(),
            part_structures=(),
            blocks=None,
            is_second_order=False,
            has_y_hessian=original.is_second_order,
            bounds_by_data=False,
        )

    @property
    def constants(self) -> Constants | None:
        constants = self.original.constants
        return None if constants is None else constants.swapped()

    def passes_for_constants(self) -> tuple[int, int]:
        in_x, in_y = self.original.passes_for_constants()
        return in_y, in_x

    def without_terms(self) -> Problem:
        return self.original.without_terms().swapped()

    def counted(self, tally: Tally) -> Swapped:
        return self.around(self.original.counted(tally.swapped()))

    def swapped(self) -> Problem:
        return self.original

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        y, x = self.original.project_start(y, x)
        return x, y

    def fix(self, x: Vector) -> Any:
        return _SwappedSlice(self.original, x)


class _SwappedEvaluation(WrappedEvaluation):
    """The original's evaluation, which does the counting, with the blocks exchanged."""

    __slots__ = ()

    def __init__(self, original: Evaluation, slice_: _SwappedSlice):
        super().__init__(original, slice_)
        self.x, self.y = original.y, original.x
        self.term_x, self.term_y = original.term_y, original.term_x

    def find_largest_entry(self, grad_x: Vector, grad_y: Vector) -> float:
        return self.original.find_largest_entry(grad_y, grad_x)

    gauge = None

    def hess_yy(self) -> Array:
        """H_xx of the original, by a product with each of its columns."""
        at, columns = self.original, identity(self.y.shape[0], self.y)
        products = [at.hess_product(at.slice.along(columns[i, :]), 0.0 * at.y) for i in range(self.y.shape[0])]
        return namespace_of(self.y).stack(products)

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_y

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_x

    @property
    def rounding(self) -> RoundingScale:
        """Differences of values, if there are any, are the original's ∇ᵧf, so ∇ₓf here."""
        r = self.original.rounding
        return r._replace(y_norm=norm(self.y), fixed_terms=r.fixed_terms + r.difference_terms, difference_terms=0.0)


class _SwappedSlice(Slice):
    __slots__ = ("_problem", "term_y")

    def __init__(self, problem: Problem, x: Vector):
        super().__init__(x)
        self._problem = problem
        self.term_y = problem.term_x

    def at(self, y: Vector) -> Evaluation:
        return _SwappedEvaluation(self._problem.fix(y).at(self.x), self)
