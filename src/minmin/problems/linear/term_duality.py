"""The duality gap of a linear model with terms, where penalties alone prove no bound: L1, boxes, groups."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from minmin.core.arrays import Array, array_eps
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.model_gap import BlockGap, find_gap
from minmin.core.term import Term
from minmin.core.vectors import norm, square, square_up
from minmin.numerics.dense import DENSE_UP_TO, inverse_root, is_full_rank
from minmin.problems.linear.duality import bound_in_y, find_dual_point, losses_above_infima
from minmin.problems.linear.duality_rounding import Rounding
from minmin.problems.linear.penalties import Penalty

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation, LinearYStepModel


def bound_with_terms(evaluation: LinearEvaluation, terms: tuple[Term | None, Term | None], enough: float) -> Bound:
    """A bound on f + p + q above its minimum, from the data alone.

    See :func:`minmin.problems.linear.duality.bound_by_duality` for the dual points θ = w(ℓ' + ℓ''u). With terms, the
    squares of Xᵀθ + Ax and Yᵀθ + By become the gaps of :func:`minmin.core.model_gap.find_gap`. If a block has a penalty
    of 0, such a gap is finite only where its term's conjugate is. So θ is multiplied by the largest c <= 1 that makes
    it so. By convexity of ℓ*, this adds at most (1 - c)(ℓ - inf ℓ) for every sample.

    A block y without a term whose penalties are not all positive needs Yᵀθ = 0 in the unpenalised columns. The Newton
    step u = Y·dy gives that, and Xᵀθ at that θ is one more ∇ₓ. It is computed only if without it the bound would be at
    most ``enough``; else that is returned as an estimate.
    """
    term_x, term_y = terms
    model = evaluation.model
    if term_y is not None or model.y_block.penalty.covers_all:
        return _bound_at(evaluation, evaluation.model_here(), terms, None)
    in_x = _Block(term_x, evaluation.x, evaluation.grad_x, model.x_block.penalty, 0.0)
    scale = in_x.find_scale()
    without_step = _price_of_scale(evaluation, scale) + in_x.find_gap(scale).value
    if without_step > enough:
        return Bound(without_step)
    if model.d_y > DENSE_UP_TO:
        return UNKNOWN
    hessian = evaluation.hess_yy()
    root = inverse_root(hessian if evaluation.gauge is None else evaluation.gauge.make_invertible(hessian))
    if not is_full_rank(root):
        return UNKNOWN
    dy = -(root.T @ (root @ evaluation.grad_y))
    return _bound_at(evaluation, evaluation.model_after(dy), terms, root)


def _bound_at(
    evaluation: LinearEvaluation, after: LinearYStepModel, terms: tuple[Term | None, Term | None], y_root: Array | None
) -> Bound:
    model = evaluation.model
    gradient_y = model.y_block.gradient(after.residual, evaluation.y)
    rounding = Rounding(evaluation, after, rough=False)
    left = floor_left = 0.0
    noise_x, noise_y = rounding.noise
    fixed = BlockGap(0.0, 0.0)
    blocks = []
    if y_root is None:
        blocks.append(_Block(terms[1], evaluation.y, gradient_y, model.y_block.penalty, noise_y))
    else:
        in_y = bound_in_y(evaluation, gradient_y, y_root, rounding)
        left, floor_left, fixed = in_y.left, in_y.floor_left, BlockGap(in_y.value, in_y.floor)
    point = find_dual_point(evaluation, after, left)
    if point.scale < 1.0 or math.isinf(point.gap):
        return UNKNOWN
    noise_x += rounding.size_x * left
    blocks.append(_Block(terms[0], evaluation.x, after.grad_x, model.x_block.penalty, noise_x))
    scale = min(block.find_scale() for block in blocks)
    gaps = [fixed, *(block.find_gap(scale) for block in blocks)]
    value = square_up(math.sqrt(point.gap) + left) + sum(gap.value for gap in gaps) + _price_of_scale(evaluation, scale)
    if y_root is not None:
        # Scaling adds (1 - c)By to the r that is left of ∇ᵧ. In the norm of B⁻¹, ½|r + (1 - c)By|² is at most
        # |r|² + (1 - c)²yᵀBy, and |r|² is in ``left``.
        value += square(1.0 - scale) * model.y_block.penalty.product(evaluation.y, evaluation.y)
    if not math.isfinite(value):
        return UNKNOWN
    return Bound(value, square_up(floor_left) + sum(gap.floor for gap in gaps), "data")


def _price_of_scale(evaluation: LinearEvaluation, scale: float) -> float:
    """(1 - c)·Σ w(ℓ - inf ℓ), what multiplying the dual point by c adds to the gap at most."""
    if scale == 1.0:
        return 0.0
    return (1.0 - scale) * losses_above_infima(evaluation)


class _Block(NamedTuple):
    """What one block contributes to the gap.

    Attributes
    ----------
    term : Term or None
    v, gradient : arrays
        Its variables, and the gradient of f at the dual point.
    penalty : Penalty
    noise : float
        The size of errors in the gradient.
    """

    term: Term | None
    v: Array
    gradient: Array
    penalty: Penalty
    noise: float

    def find_scale(self) -> float:
        """The largest c <= 1 for which the conjugate is finite, whatever the errors in the gradient."""
        if self.term is None or self.penalty.covers_all:
            return 1.0
        scale, radius = self.term.dual_scale(-self.gradient), self.term.dual_radius(self.gradient)
        if scale == 0.0 or self.noise == 0.0 or math.isinf(radius):
            return scale
        return 0.0 if radius == 0.0 else 1.0 / (1.0 / scale + self.noise / radius)

    def find_gap(self, scale: float) -> BlockGap:
        """The gap, if the part of the gradient that comes from the losses is multiplied by the scale."""
        gradient, eps = self.gradient, array_eps(self.v)
        if scale != 1.0:
            gradient = scale * gradient + (1.0 - scale) * (self.penalty.alpha * self.v)
        if self.term is None and self.penalty.covers_all:
            noise = self.noise / math.sqrt(self.penalty.least)
            return BlockGap(0.5 * square_up(self.penalty.dual_norm(gradient) + noise), 0.5 * square_up(noise))
        if self.penalty.covers_all or self.term is None or math.isinf(self.term.dual_radius(self.v)):
            return find_gap(self.term, self.v, gradient, self.penalty.least, noise=self.noise, eps=eps)
        gap = find_gap(self.term, self.v, gradient, 0.0, eps=eps)
        by_noise = self.noise * norm(self.v)
        return BlockGap(gap.value + by_noise, gap.floor + by_noise)
