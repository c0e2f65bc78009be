"""What :class:`minmin.problems.Quadratic` computes at a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from array_api_compat import array_namespace

from minmin.core.arrays import Array
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderSlice, YStepModel
from minmin.core.vectors import dot, largest_entry

if TYPE_CHECKING:
    from minmin.problems.quadratic import Quadratic


class QuadraticSlice(SecondOrderSlice):
    __slots__ = ("_problem", "_slope_x", "slope_y", "tally")

    def __init__(self, x: Array, problem: Quadratic):
        super().__init__(x)
        self._problem = problem
        self.tally = problem.tally if problem.blocks is None else problem.blocks.count_in(problem.tally)
        _, _, H_yx, _, _, b_y = problem.arrays
        self.slope_y = H_yx @ x + b_y
        self._slope_x: Array | None = None

    @property
    def slope_x(self) -> Array:
        """H_xx x + b_x, for values and ∇ₓ; minimising over y does not need it."""
        if self._slope_x is None:
            H_xx, _, _, _, b_x, _ = self._problem.arrays
            self._slope_x = H_xx @ self.x + b_x
        return self._slope_x

    @property
    def nested(self) -> Quadratic | None:
        blocks = self._problem.blocks
        return None if blocks is None or len(blocks.rest) == 1 else self._problem.nest(self.x, self.slope_y)

    def at(self, y: Array) -> QuadraticEvaluation:
        return QuadraticEvaluation(self, y, self._problem)

    def along(self, dx: Array) -> Direction:
        H_xx, _, H_yx, _, _, _ = self._problem.arrays
        return Direction(dx, (H_xx @ dx, H_yx @ dx))

    def moved(self, direction: Direction, t: float) -> QuadraticSlice:
        # Computed from scratch, at the cost of one product: sums of images would accumulate rounding errors.
        return self._problem.fix(self.x + t * direction.dx)


class QuadraticEvaluation(SecondOrderEvaluation):
    __slots__ = ("_problem", "_slice")

    def __init__(self, slice_: QuadraticSlice, y: Array, problem: Quadratic):
        super().__init__(slice_.x, y, slice_.tally)
        self._slice = slice_
        self._problem = problem

    @property
    def slice(self) -> QuadraticSlice:
        return self._slice

    def find_largest_entry(self, grad_x: Array, grad_y: Array) -> float:
        blocks = self._problem.blocks
        return largest_entry(grad_x, grad_y) if blocks is None else blocks.find_largest_entry(grad_x, grad_y)

    def _compute_value(self) -> float:
        _, _, _, H_yy, b_x, _ = self._problem.arrays
        in_x = 0.5 * dot(self._slice.slope_x + b_x, self.x)
        return in_x + dot(self._slice.slope_y, self.y) + 0.5 * dot(H_yy @ self.y, self.y)

    def _compute_grad_x(self) -> Array:
        return self._slice.slope_x + self._problem.arrays[1] @ self.y

    def _compute_grad_y(self) -> Array:
        return self._problem.arrays[3] @ self.y + self._slice.slope_y

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        return self._problem.arrays[3]

    def hess_yy_product(self, dy: Array) -> Array:
        return self._problem.arrays[3] @ dy

    def hess_yy_diagonal(self) -> Array:
        return array_namespace(self.y).linalg.diagonal(self._problem.arrays[3])

    def model_after(self, dy: Array) -> YStepModel:
        return YStepModel(dy, self.grad_x + self._problem.arrays[1] @ dy)

    def hess_yx(self, direction: Direction) -> Array:
        return direction.images[1]

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        return direction.images[0] + self._problem.arrays[1] @ dy

    def hess_xx_diagonal(self) -> Array:
        return array_namespace(self.x).linalg.diagonal(self._problem.arrays[0])

    def slope(self, direction: Direction, dy: Array) -> float:
        in_x = dot(self._slice.slope_x, direction.dx) + dot(direction.images[1], self.y)
        return in_x + dot(self.grad_y, dy)

    def model_distance(self, direction: Direction, dy: Array) -> float:
        return 0.0
