"""A linear model at one point: everything is computed from the margins, which are cached."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from minmin.core.arrays import Array, array_eps, inner, largest, to_like, to_numpy, weighted_square, zeros
from minmin.core.bound import RoundingScale, rounding_error
from minmin.core.preconditioner import Preconditioner
from minmin.core.rows import Reduction, RowSum, map_rows, prefetch, request
from minmin.core.second_order import Direction, Gauge, SecondOrderEvaluation, SecondOrderSlice, YStepModel
from minmin.core.vectors import dot, norm
from minmin.numerics.row_pieces import Matrix
from minmin.problems.linear.designs import select
from minmin.problems.linear.duality_rounding import prefetch_sums
from minmin.problems.linear.losses.base import MarginHessian
from minmin.problems.linear.preconditioner import LinearPreconditioner, couple_outputs
from minmin.problems.linear.unboundedness import is_unbounded_along

if TYPE_CHECKING:
    from minmin.problems.linear.model import LinearModel


@dataclass(frozen=True)
class LinearYStepModel(YStepModel):
    """The quadratic model after a step in y, with the image Y·dy and the model's residual there."""

    image: Array
    residual: Array


class LinearSlice(SecondOrderSlice, RowSum):
    __slots__ = ("_x_penalty", "margins", "model")

    def __init__(self, x: Array, margins: Array, model: LinearModel):
        super().__init__(x)
        self.margins = margins
        self.model = model
        self._x_penalty: float | None = None

    @property
    def x_penalty(self) -> float:
        if self._x_penalty is None:
            self._x_penalty = self.model.x_block.penalty_value(self.x)
        return self._x_penalty

    @property
    def units(self) -> Array | float:
        return self.model.y_block.units()

    def at(self, y: Array) -> LinearEvaluation:
        return LinearEvaluation(self, y, self.margins + self.model.y_block.margins(y), self.model)

    def along(self, dx: Array) -> Direction:
        return Direction(dx, (self.model.x_block.image(dx),))

    def moved(self, direction: Direction, t: float) -> LinearSlice:
        (image,) = direction.images
        return LinearSlice(self.x + t * direction.dx, self.margins + t * image, self.model)

    def find_row_smoothness(self) -> Matrix:
        """L_i = w_i·sup ℓ''·|Y_i|² of every row."""
        m = self.model
        norms, weights = to_numpy(m.y_block.row_norms_squared()), to_numpy(m.weights)
        return np.asarray(m.loss.max_curvature * weights.astype(np.float64) * norms.astype(np.float64))

    def estimate_change(self, known: LinearEvaluation, y: Array, rows: Matrix, factors: Matrix) -> Array:
        """Xx and the derivatives at ``known`` are numbers that are kept, so a row costs one row of Y."""
        m, loss = self.model, self.model.loss
        m.tally.note("rows_y", len(rows))
        design, target = m.y_block.design.rows(rows), select(m.target, rows)
        margins = select(self.margins, rows) + design.image(y)
        change = loss.slope(margins, target, loss.prepare(margins, target)) - select(known.loss_slope, rows)
        weights = select(m.weights, rows) * to_like(factors, m.weights)
        return design.adjoint(weights * change) + m.y_block.penalty.alpha * (y - known.y)


@dataclass(slots=True)
class _Derivatives:
    """What the loss has prepared, and derivatives with respect to the margins, each computed when first needed."""

    shared: Array
    slope: Array | None = None
    residual: Array | None = None
    hessian: MarginHessian | None = None


class MarginCache(tuple[Array, ...]):
    """Xx and Xx + Yy, both with the offset.

    It also remembers the derivatives there. A checkpoint stores only the arrays, as a plain tuple; after that the
    derivatives are computed again, with the same result.
    """

    derivatives: _Derivatives


class LinearEvaluation(SecondOrderEvaluation):
    __slots__ = ("_derivatives", "_surrogate", "margins", "model", "slice")
    slice: LinearSlice

    def __init__(
        self, slice_: LinearSlice, y: Array, margins: Array, model: LinearModel, known: _Derivatives | None = None
    ):
        super().__init__(slice_.x, y, model.tally)
        self.slice = slice_
        self.model = model
        self.margins = margins
        self._derivatives = known or _Derivatives(model.loss.prepare(margins, model.target))
        self._surrogate: MarginHessian | None = None

    @classmethod
    def from_cache(cls, x: Array, y: Array, model: LinearModel, cache: tuple[Array, ...]) -> LinearEvaluation:
        """The evaluation at (x, y) that had this cache."""
        known = cache.derivatives if isinstance(cache, MarginCache) else None
        in_x, margins = model.place_rows(cache) if known is None else cache
        return cls(LinearSlice(x, in_x, model), y, margins, model, known)

    @property
    def cache(self) -> MarginCache:
        cache = MarginCache((self.slice.margins, self.margins))
        cache.derivatives = self._derivatives
        return cache

    def forget(self) -> None:
        known = self._derivatives
        known.slope = known.residual = known.hessian = None

    @property
    def shared(self) -> Array:
        """What the loss has prepared from the margins."""
        return self._derivatives.shared

    @property
    def gauge(self) -> Gauge | None:
        return self.model.loss.gauge(self.model.y_block.penalty)

    @property
    def loss_slope(self) -> Array:
        """The derivative of every sample's loss with respect to its margins."""
        known = self._derivatives
        if known.slope is None:
            known.slope = self.model.loss.slope(self.margins, self.model.target, self.shared)
        return known.slope

    @property
    def residual(self) -> Array:
        """The derivative of the weighted mean loss with respect to every margin."""
        known = self._derivatives
        if known.residual is None:
            known.residual = map_rows(_weigh, self.model.weights, self.loss_slope)
        return known.residual

    @property
    def margin_hessian(self) -> MarginHessian:
        """The second derivative of the weighted mean loss with respect to all margins."""
        if self._surrogate is not None:
            return self._surrogate
        known = self._derivatives
        if known.hessian is None:
            m = self.model
            known.hessian = m.loss.hessian(self.margins, m.target, self.shared, m.weights)
        return known.hessian

    @property
    def cause_of_infinity(self) -> str:  # type: ignore[override]
        sizes = [largest(block.column_norms()) for block in (self.model.x_block, self.model.y_block)]
        size = max(sizes) / math.sqrt(self.model.x_block.design.shape[0])
        target = largest(self.model.target)
        what = f"a column has numbers of about {size:.1g}; scale it"
        if target > size:
            what = f"targets are up to {target:.1g}; scale them"
        return f"the loss is not finite here: {what}, or start nearer to zero"

    def _compute_rounding(self) -> RoundingScale:
        """The fixed terms are |√w ℓ'|/√sup ℓ'': the terms that Xᵀ(w ℓ') sums may be large although the sum is small.

        An offset adds |√(w ℓ'') offset|, since margins have its rounding errors.
        """
        fixed_terms = math.sqrt(inner(self.residual, self.loss_slope) / self.model.loss.max_curvature)
        offset = self.model.offset
        if offset is not None:
            fixed_terms += math.sqrt(weighted_square(self.margin_hessian.diagonal, offset))
        return RoundingScale(array_eps(self.x), norm(self.y), fixed_terms)

    def _compute_value(self) -> float:
        m = self.model
        mean_loss = m.loss.mean(self.margins, m.target, self.shared, m.weights)
        return mean_loss + self.slice.x_penalty + m.y_block.penalty_value(self.y)

    def _compute_grad_x(self) -> Array:
        return self.model.x_block.gradient(self.residual, self.x)

    def _compute_grad_y(self) -> Array:
        self._tally.note("rows_y", self.model.y_block.design.shape[0])
        return self.model.y_block.gradient(self.residual, self.y)

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        y_block, h = self.model.y_block, self.margin_hessian
        if not y_block.is_zero:
            design = y_block.design.for_rows
            prefetch(request(design, "adjoint", self.residual), request(h.for_rows, "gram", design))
        return y_block.hessian(h)

    def hess_yy_product(self, dy: Array) -> Array:
        y_block = self.model.y_block
        return y_block.gradient(self.margin_hessian.times(y_block.image(dy)), dy)

    def hess_yy_diagonal(self) -> Array:
        return self.model.y_block.hessian_diagonal(self.margin_hessian)

    def hess_xx_diagonal(self) -> Array:
        return self.model.x_block.hessian_diagonal(self.margin_hessian)

    def focus(self, moves: Array) -> LinearEvaluation:
        m, twin = self.model, copy(self)
        twin.model = m.with_blocks(m.x_block.focus(moves), m.y_block)
        twin.slice = LinearSlice(self.x, self.slice.margins, twin.model)
        return twin

    def x_preconditioner(self) -> Preconditioner:
        return couple_outputs(self) or LinearPreconditioner(self)

    def hess_yx(self, direction: Direction) -> Array:
        (image,) = direction.images
        if self.model.y_block.is_zero:
            return zeros(self.model.d_y, direction.dx)
        return self.model.y_block.adjoint(self.margin_hessian.times(image))

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        (image,) = direction.images
        if not self.model.y_block.is_zero:
            change = self.model.y_block.image(dy)
            change += image
            image = change
        product = self.model.x_block.adjoint(self.margin_hessian.times(image))
        product += self.model.x_block.penalty.alpha * direction.dx
        return product

    def model_after(self, dy: Array) -> LinearYStepModel:
        self._tally.add("grad_x")
        image = self.model.y_block.margins(dy)
        residual = self.residual
        if not self.model.y_block.is_zero:
            residual = residual + self.margin_hessian.times(image)
        prefetch_sums(self, image, residual)
        return LinearYStepModel(dy, self.model.x_block.gradient(residual, self.x), image, residual)

    def model_here(self) -> LinearYStepModel:
        """The model after no step in y."""
        return LinearYStepModel(0.0 * self.y, self.grad_x, 0.0 * self.margins, self.residual)

    def slope(self, direction: Direction, dy: Array) -> float:
        (image,) = direction.images
        design = self.model.y_block.design.for_rows
        prefetch(request(design, "adjoint", self.residual), Reduction(inner, (self.residual, image)))
        in_x = inner(self.residual, image) + self.model.x_block.penalty.product(self.x, direction.dx)
        return in_x + dot(self.grad_y, dy)

    def model_distance(self, direction: Direction, dy: Array) -> float:
        change = direction.images[0] + self.model.y_block.image(dy)
        return self.model.loss.distance(change, self.margins, self.model.target)

    def value_noise(self) -> float:
        """The error in f if margins have errors of eps·(|Xx| + |Yy|), where Xx includes the offset."""
        in_x = self.slice.margins
        error = rounding_error(array_eps(self.x), abs(in_x) + abs(self.margins - in_x))
        return inner(abs(self.residual), error) + weighted_square(self.margin_hessian.diagonal, error)

    def with_surrogate_curvature(self) -> LinearEvaluation | None:
        m = self.model
        surrogate = m.loss.surrogate_hessian(self.margins, m.target, self.loss_slope, m.weights, self.margin_hessian)
        if surrogate is None:
            return None
        twin = copy(self)
        twin._surrogate = surrogate
        return twin

    def is_unbounded_along(self, step: tuple[Direction, Array] | None = None, *, in_y_alone: bool = False) -> bool:
        return is_unbounded_along(self, step, in_y_alone=in_y_alone)


def _weigh(weights: Array, slopes: Array) -> Array:
    """The slopes of all margins times one weight per row."""
    return (weights if slopes.ndim == 1 else weights[:, None]) * slopes
