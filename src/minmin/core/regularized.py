"""Regularized: a problem plus μ/2 times the squared distance from a centre, which makes it strongly convex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from minmin.core.arrays import Array, identity
from minmin.core.bound import Constants
from minmin.core.problem import Problem, Slice
from minmin.core.second_order import Direction, Gauge, SecondOrderSlice, YStepModel
from minmin.core.vectors import Vector, dot, parts_of
from minmin.core.wrapped import Wrapped, WrappedEvaluation, WrappedSlice


class Regularized(Wrapped):
    """f(x, y) + μ_x/2 |x - x_0|² + μ_y/2 |y - y_0|².

    Parameters
    ----------
    original : Problem
        f, with constants; it counts.
    center : pair of vectors
        x_0 and y_0.
    mu : pair of float
        μ_x and μ_y; zero for a block that is strongly convex already.
    """

    def __init__(self, original: Problem, center: tuple[Vector, Vector], mu: tuple[float, float]):
        super().__init__(original, bounds_by_data=False, flat_gradient_proves_unbounded=False)
        self.center = center
        self.mu = mu

    @property
    def constants(self) -> Constants | None:
        return self._with_squares(self.original.constants)

    def constants_for(self, cost_ratio: float) -> Constants | None:
        return self._with_squares(self.original.constants_for(cost_ratio))

    def _with_squares(self, c: Constants | None) -> Constants | None:
        if c is None:
            return None
        in_x, in_y = self.mu
        return replace(c, L_x=c.L_x + in_x, L_y=c.L_y + in_y, mu_x=c.mu_x + in_x, mu_y=c.mu_y + in_y)

    def fix(self, x: Vector) -> SecondOrderSlice:
        return _RegularizedSlice(self.original.fix(x), self.center, self.mu)

    def excess(self, x: Vector, y: Vector) -> tuple[float, float]:
        """μ/2 times the squared distance from the centre, in x and in y."""
        return _half_square(self.mu[0], x - self.center[0]), _half_square(self.mu[1], y - self.center[1])


def _half_square(mu: float, distance: Vector) -> float:
    return 0.5 * mu * dot(distance, distance) if mu > 0.0 else 0.0


class _RegularizedEvaluation(WrappedEvaluation):
    """The evaluation of f with the regularisation."""

    __slots__ = ("_center", "_mu_x", "_mu_y")

    def __init__(self, original: Any, slice_: _RegularizedSlice):
        super().__init__(original, slice_)
        self._center = slice_.center
        self._mu_x, self._mu_y = slice_.mu

    @property
    def _from_center(self) -> tuple[Vector, Vector]:
        return self.x - self._center[0], self.y - self._center[1]

    @property
    def _excess(self) -> float:
        to_x, to_y = self._from_center
        return _half_square(self._mu_x, to_x) + _half_square(self._mu_y, to_y)

    def _compute_value(self) -> float:
        return self.original.value + self._excess

    @property
    def value_without_terms(self) -> float:
        return self.original.value_without_terms + self._excess

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_x + self._mu_x * (self.x - self._center[0])

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_y + self._mu_y * (self.y - self._center[1])

    @property
    def gauge(self) -> Gauge | None:
        return None if self._mu_y > 0.0 else self.original.gauge

    def hess_yy(self) -> Array:
        return self.original.hess_yy() + self._mu_y * identity(self.y.shape[0], self.y)

    def hess_yy_product(self, dy: Array) -> Array:
        return self.original.hess_yy_product(dy) + self._mu_y * dy

    def hess_yy_diagonal(self) -> Array:
        return self.original.hess_yy_diagonal() + self._mu_y

    def hess_xx_diagonal(self) -> Vector:
        return self.original.hess_xx_diagonal() + self._mu_x

    def hess_product(self, direction: Direction, dy: Vector) -> Vector:
        return self.original.hess_product(direction, dy) + self._mu_x * direction.dx

    def model_after(self, dy: Vector) -> YStepModel:
        return YStepModel(dy, self.original.model_after(dy).grad_x + self._mu_x * (self.x - self._center[0]))

    def slope(self, direction: Direction, dy: Vector) -> float:
        to_x, to_y = self._from_center
        of_f = self.original.slope(direction, dy)
        return of_f + self._mu_x * dot(to_x, direction.dx) + self._mu_y * dot(to_y, dy)

    def is_unbounded_along(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        moves = self._mu_y > 0.0 if in_y_alone else max(self._mu_x, self._mu_y) > 0.0
        return not moves and super().is_unbounded_along(step, in_y_alone=in_y_alone)


class _RegularizedSlice(WrappedSlice):
    __slots__ = ("center", "mu")
    evaluations = _RegularizedEvaluation

    def __init__(self, original: Slice, center: tuple[Vector, Vector], mu: tuple[float, float]):
        super().__init__(original)
        self.center, self.mu = center, mu

    def estimate_change(self, known: Any, y: Array, rows: Any, factors: Any) -> Array:
        return super().estimate_change(known, y, rows, factors) + self.mu[1] * (y - known.y)

    @property
    def nested(self) -> Problem | None:
        original = self.original.nested
        if original is None:
            return None
        center, mu = self.center[1], self.mu[1]
        return Regularized(original, (center[: original.d_x], center[original.d_x :]), (mu, mu))

    @property
    def parts(self) -> Sequence[Slice]:
        """With the regularisation in y: a part's weight would multiply that in x, which :meth:`join` adds instead."""
        pairs = zip(self.original.parts, parts_of(self.center[1]), strict=True)
        return [_RegularizedSlice(part, (self.center[0], c), (0.0, self.mu[1])) for part, c in pairs]
