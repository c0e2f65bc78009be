"""The duality gap of a linear model, with terms or without: a bound that needs no constants, only the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from array_api_compat import device

from minmin.core.arrays import Array, array_eps, namespace_of
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.model_gap import BlockGap, find_gap
from minmin.core.second_order import Gauge
from minmin.core.term import Term
from minmin.core.vectors import dot, norm, square, square_up
from minmin.numerics.dense import DENSE_UP_TO, inverse_root, is_full_rank
from minmin.problems.linear.duality_rounding import Rounding
from minmin.problems.linear.losses.base import DualPoint
from minmin.problems.linear.penalties import Penalty

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation, LinearYStepModel


_NEGLIGIBLE = 1e-6
"""Rounding errors count as small if they alone give at most this fraction of a bound: they add 0.2 % to it at most, so
rough upper limits of them are good enough."""


def bound_by_duality(
    evaluation: LinearEvaluation, after: LinearYStepModel, y_root: Array | None, enough: float
) -> tuple[Bound, tuple[float, float]]:
    """A bound on f - f* from the quadratic model after a step in y, and the rounding errors in both gradients.

    ``y_root`` is a matrix K with KᵀK = H_yy⁻¹, if one is known. A bound of at most ``enough`` need not be sharper.

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*, and A = diag(α_x), B = diag(α_y),
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + ½|Xᵀθ + Ax|² in A⁻¹ + ½|Yᵀθ + By|² in B⁻¹
    (Fenchel and Young), where "in A⁻¹" means the norm √(vᵀA⁻¹v). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the
    residual of the quadratic model after the step dy, so for a Newton step in y the last term is nearly zero. The
    bracket is at most <u_i, ℓ_i'' u_i> if u_i is small enough (:meth:`Loss.find_dual_point`). So no conjugate has to
    be computed, and Xᵀθ is the gradient that the step in x needs anyway. Below, h is the second derivative of the
    weighted mean loss.

    A loss may multiply θ by a c < 1, so that all ℓ_i* are finite. Then Xᵀθ + Ax becomes c(Xᵀθ + Ax) + (1 - c)Ax, and
    likewise in y.

    For an unpenalised column, the entry of Xᵀθ or Yᵀθ must be zero. In y only rounding errors g are left, and a further
    step -H_yy⁻¹g removes them. With δ = |K·g| this step adds at most δ to |√h u| and |√h X|δ to Xᵀθ. What it leaves in
    the penalised columns of y, BH_yy⁻¹g, is covered by the same δ: |√h Y H_yy⁻¹g|² + |BH_yy⁻¹g|² in B⁻¹ is δ².

    If H_yy was not factorised, this step is taken in the unpenalised columns of y alone, with the K of those columns.
    It adds at most |√h Y|δ to the other columns. Without a K, or with an unpenalised column in x, there is no bound.
    """
    gradient_y = evaluation.model.y_block.gradient(after.residual, evaluation.y)
    return _bound_roughly_first(
        lambda rounding: _bound_with(rounding, evaluation, after, gradient_y, y_root),
        evaluation,
        after,
        enough,
        has_terms=False,
    )


def _bound_roughly_first(
    bound_with: Callable[[Rounding], tuple[float, float]],
    evaluation: LinearEvaluation,
    after: LinearYStepModel,
    enough: float,
    *,
    has_terms: bool,
) -> tuple[Bound, tuple[float, float]]:
    """A bound with rough rounding errors if they are small, or if it is enough; and the errors in both gradients.

    ``bound_with`` gives the bound with these errors, and what it would be if both gradients were rounding errors. With
    terms, errors count in full and not by their squares, so they are computed more exactly if need be, in any case.
    """
    rounding = Rounding(evaluation, after, rough=True)
    value, floor = bound_with(rounding)
    is_good = value <= enough < math.inf or floor <= _NEGLIGIBLE * value < math.inf
    if is_good and rounding.is_rough:
        floor = 0.0
    elif not is_good and (rounding.is_rough or has_terms):
        rounding = Rounding(evaluation, after, rough=False)
        value, floor = bound_with(rounding)
    floor = floor if math.isfinite(floor) else 0.0
    return Bound(value, floor, "data") if math.isfinite(value) else Bound(math.inf, floor), rounding.noise


def bound_without_step(evaluation: LinearEvaluation, enough: float) -> Bound:
    """A bound on f - f* for any convex loss; it may take another ∇ₓ.

    The first of two dual points is that of the point itself, u = 0. It proves a bound if all columns are penalised:
    half the squares of both gradients, in the norms of the inverse penalties. The second is θ = 0. It proves that f is
    above its minimum by at most f - Σ w inf ℓ. That may be zero if losses reach their infima, but rarely is. So it is
    used only if it is at most ``enough``, and does not replace an estimate otherwise.
    """
    m = evaluation.model
    bound = UNKNOWN
    if m.x_block.penalty.covers_all and m.y_block.penalty.covers_all:
        bound, _ = bound_by_duality(evaluation, evaluation.model_here(), None, enough)
    if not m.loss.reaches_infimum:
        return bound
    above_infima = _find_height(evaluation)
    return Bound(above_infima, 0.0, "data") if above_infima <= enough else bound


def _find_height(evaluation: LinearEvaluation, terms: Sequence[Term | None] = ()) -> float:
    """How far f + p + q is above the sum of the infima of its losses, penalties and terms."""
    pairs = zip(terms, (evaluation.x, evaluation.y), strict=False)
    of_terms = sum(term.value(v) + term._conjugate(0.0 * v) for term, v in pairs if term is not None)
    penalties = evaluation.slice.x_penalty + evaluation.model.y_block.penalty_value(evaluation.y)
    return _losses_above_infima(evaluation) + penalties + of_terms + evaluation.value_noise()


def _bound_with(
    rounding: Rounding, evaluation: LinearEvaluation, after: LinearYStepModel, gradient_y: Array, y_root: Array | None
) -> tuple[float, float]:
    """The bound with these rounding errors, and what it would be if both gradients were rounding errors."""
    model = evaluation.model
    in_y = _bound_in_y(evaluation, gradient_y, y_root, rounding)
    point = _find_dual_point(evaluation, after, in_y.left)
    gradient_x, by_scale = after.grad_x, 0.0
    if point.scale < 1.0:
        gradient_x = _scale_losses(gradient_x, point.scale, model.x_block.penalty, evaluation.x)
        penalty = model.y_block.penalty
        if penalty.covers_all or y_root is None:
            scaled = _scale_losses(gradient_y, point.scale, penalty, evaluation.y)
            in_y = _bound_in_y(evaluation, scaled, y_root, rounding)
        else:
            # In the norm of B⁻¹, ½|r + (1 - c)By|² is at most |r|² + (1 - c)²yᵀBy, and |r|² is in ``left``.
            by_scale = square(1.0 - point.scale) * penalty.product(evaluation.y, evaluation.y)
    value_in_x = floor_in_x = math.inf
    if model.x_block.penalty.covers_all:
        noise, size = rounding.in_x_over_penalty()
        value_in_x = 0.5 * square_up(model.x_block.penalty.dual_norm(gradient_x) + noise + size * in_y.left)
        floor_in_x = 0.5 * square_up(noise + size * in_y.floor_left)
    value = square_up(math.sqrt(point.gap) + in_y.left) + value_in_x + in_y.value + by_scale
    return value, square_up(in_y.floor_left) + floor_in_x + in_y.floor


def _losses_above_infima(evaluation: LinearEvaluation) -> float:
    """Σ w(ℓ - inf ℓ), infinite if the infima are not known."""
    m = evaluation.model
    infima = m.loss.infimum(m.target)
    if infima is None:
        return math.inf
    return dot(m.weights, m.loss.value(evaluation.margins, m.target, evaluation.shared) - infima)


def _find_dual_point(evaluation: LinearEvaluation, after: LinearYStepModel, left: float) -> DualPoint:
    """The dual point of the model after a step in y; ``left`` as in :meth:`Loss.find_dual_point`."""
    if not left < math.inf:
        return DualPoint(math.inf)
    m, h = evaluation.model, evaluation.margin_hessian
    point = m.loss.find_dual_point(after.image, evaluation.margins, m.target, m.weights, h, left)
    return point._replace(gap=point.gap + left * math.sqrt(point.cross)) if point.cross > 0.0 else point


def _scale_losses(gradient: Array, scale: float, penalty: Penalty, v: Array) -> Array:
    """The gradient at v if the part of it that comes from the losses is multiplied by the scale."""
    return scale * gradient + (1.0 - scale) * (penalty.alpha * v)


class _BoundInY(NamedTuple):
    """What y contributes to a bound.

    Attributes
    ----------
    value, floor : float
        From the penalised columns, and what it would be if the gradient were only noise.
    left, floor_left : float
        δ, the cost of removing the gradient of the unpenalised columns, and what it would be for the noise alone.
    """

    value: float
    floor: float
    left: float = 0.0
    floor_left: float = 0.0


def _bound_in_y(evaluation: LinearEvaluation, gradient: Array, y_root: Array | None, rounding: Rounding) -> _BoundInY:
    penalty = evaluation.model.y_block.penalty
    if rounding.y_sizes is None:
        size, noise = norm(gradient), rounding.noise[1]
        return _BoundInY(square_up(size + noise) / (2.0 * penalty.least), square_up(noise) / (2.0 * penalty.least))
    noise_by_column = rounding.noise_by_y_column(rounding.y_sizes)
    with_noise, noise_alone = (penalty.dual_norm(g) for g in (abs(gradient) + noise_by_column, noise_by_column))
    if penalty.covers_all:
        return _BoundInY(0.5 * square_up(with_noise), 0.5 * square_up(noise_alone))
    y_rounding = 2.0 * dot(noise_by_column, rounding.y_terms)  # since y itself is rounded
    if y_root is not None:
        return _BoundInY(y_rounding, y_rounding, *_cost_to_remove(y_root, gradient, noise_by_column))
    root, places = _unpenalised_y_root(evaluation)
    gradient_there, noise_there = (_select(v, places) for v in (gradient, noise_by_column))
    left, floor_left = _cost_to_remove(root, gradient_there, noise_there)
    size_y = penalty.dual_norm(rounding.y_sizes)
    return _BoundInY(
        y_rounding + 0.5 * square_up(with_noise + size_y * left),
        y_rounding + 0.5 * square_up(noise_alone + size_y * floor_left),
        left,
        floor_left,
    )


def _unpenalised_y_root(evaluation: LinearEvaluation) -> tuple[Array | None, Array | None]:
    """A matrix K with KᵀK = H⁻¹ for the unpenalised columns of y alone, and the indices of their coefficients.

    K is None if there are too many such columns, if all columns are unpenalised, or if H is singular.
    """
    block = evaluation.model.y_block
    if block.penalty.is_one_number:
        return None, None
    places, design = block.find_unpenalised()
    if places.size > DENSE_UP_TO:
        return None, None
    root = _invert(evaluation.margin_hessian.gram(design), evaluation.model.loss.gauge(Penalty(0.0)))
    return root, namespace_of(evaluation.y).asarray(places, device=device(evaluation.y))


def _invert(hessian: Array, gauge: Gauge | None) -> Array | None:
    """K with KᵀK = H⁻¹ for an H that may be singular along the directions of the gauge alone; None if it is not so."""
    root = inverse_root(hessian if gauge is None else gauge.make_invertible(hessian))
    return root if is_full_rank(root) else None


def _select(v: Array, places: Array | None) -> Array:
    return v if places is None else namespace_of(v).take(v, places, axis=0)


def _cost_to_remove(root: Array | None, gradient: Array, noise: Array) -> tuple[float, float]:
    """δ = |K·g| for a gradient with this noise, and for the noise alone."""
    if root is None:
        return math.inf, math.inf
    xp = namespace_of(gradient)
    unseen = ~xp.any(root != 0, axis=0)
    if bool(xp.any(unseen & (xp.abs(gradient) + noise > 0))):
        return math.inf, math.inf
    by_noise = norm(xp.reshape(root * noise, (-1,)))
    return norm(root @ gradient) + by_noise, by_noise


def bound_with_terms(
    evaluation: LinearEvaluation,
    terms: tuple[Term | None, Term | None],
    enough: float,
    after: LinearYStepModel | None = None,
    y_root: Array | None = None,
) -> Bound:
    """A bound on f + p + q above its minimum, from the data alone.

    See :func:`bound_by_duality` for the dual points θ = w(ℓ' + ℓ''u). With terms, the
    squares of Xᵀθ + Ax and Yᵀθ + By become the gaps of :func:`minmin.core.model_gap.find_gap`. If a block has a penalty
    of 0, such a gap is finite only where its term's conjugate is. So θ is multiplied by the largest c <= 1 that makes
    it so. By convexity of ℓ*, this adds at most (1 - c)(ℓ - inf ℓ) for every sample. A c of 0 says nothing
    of the point, so it gives no bound.

    A block y without a term whose penalties are not all positive needs Yᵀθ = 0 in the unpenalised columns. The Newton
    step u = Y·dy gives that, and Xᵀθ at that θ is one more ∇ₓ. It is computed only if without it the bound would be at
    most ``enough``; else that is returned as an estimate.

    The dual point θ = 0 proves that f + p + q is above its minimum by at most what it is above the infima of its
    losses, penalties and terms. That is used where nothing better is proved, if it is at most ``enough``.

    ``after`` is the model after a Newton step in y, and ``y_root`` the root of H_yy⁻¹ that it took, if they are known.
    """
    bound = _bound_by_gradients(evaluation, terms, enough, after, y_root)
    if bound.is_proved:
        return bound
    height = _find_height(evaluation, terms)
    return Bound(height, 0.0, "data") if height <= enough and math.isfinite(height) else bound


def _bound_by_gradients(
    evaluation: LinearEvaluation,
    terms: tuple[Term | None, Term | None],
    enough: float,
    after: LinearYStepModel | None,
    y_root: Array | None,
) -> Bound:
    """The bound of the best other dual point."""
    term_x, term_y = terms
    model = evaluation.model
    if term_y is not None or model.y_block.penalty.covers_all:
        after, y_root = after or evaluation.model_here(), None
    elif after is None or y_root is None:
        in_x = _Block(term_x, evaluation.x, evaluation.grad_x, model.x_block.penalty, 0.0)
        scale = in_x.find_scale()
        if scale == 0.0:
            return UNKNOWN
        without_step = _price_of_scale(evaluation, scale) + in_x.find_gap(scale).value
        if without_step > enough:
            return Bound(without_step)
        y_root = None if model.d_y > DENSE_UP_TO else _invert(evaluation.hess_yy(), evaluation.gauge)
        if y_root is None:
            return UNKNOWN
        after = evaluation.model_after(-(y_root.T @ (y_root @ evaluation.grad_y)))
    gradient_y = model.y_block.gradient(after.residual, evaluation.y)
    return _bound_roughly_first(
        lambda rounding: _bound_with_terms(rounding, evaluation, after, terms, gradient_y, y_root),
        evaluation,
        after,
        enough,
        has_terms=True,
    )[0]


def _bound_with_terms(
    rounding: Rounding,
    evaluation: LinearEvaluation,
    after: LinearYStepModel,
    terms: tuple[Term | None, Term | None],
    gradient_y: Array,
    y_root: Array | None,
) -> tuple[float, float]:
    """The bound with these rounding errors, and what it would be if both gradients were rounding errors."""
    model = evaluation.model
    noise_x, noise_y = rounding.noise
    in_y, blocks = _BoundInY(0.0, 0.0), []
    if y_root is None:
        blocks.append(_Block(terms[1], evaluation.y, gradient_y, model.y_block.penalty, noise_y))
    else:
        in_y = _bound_in_y(evaluation, gradient_y, y_root, rounding)
    point = _find_dual_point(evaluation, after, in_y.left)
    if math.isinf(point.gap):
        return math.inf, 0.0
    noise_x += rounding.size_x * in_y.left
    blocks.append(_Block(terms[0], evaluation.x, after.grad_x, model.x_block.penalty, noise_x))
    blocks = [block.scaled(point.scale) for block in blocks]
    scale = min(block.find_scale() for block in blocks)
    if scale == 0.0:
        return math.inf, 0.0
    gaps = [BlockGap(in_y.value, in_y.floor), *(block.find_gap(scale) for block in blocks)]
    in_rows = square_up(math.sqrt(point.gap) + in_y.left)
    value = in_rows + sum(gap.value for gap in gaps) + _price_of_scale(evaluation, scale)
    if y_root is not None:
        # Scaling adds (1 - c)By to the r that is left of ∇ᵧ. In the norm of B⁻¹, ½|r + (1 - c)By|² is at most
        # |r|² + (1 - c)²yᵀBy, and |r|² is in ``left``.
        by_scale = square(1.0 - scale * point.scale)
        value += by_scale * model.y_block.penalty.product(evaluation.y, evaluation.y)
    return value, square_up(in_y.floor_left) + sum(gap.floor for gap in gaps)


def _price_of_scale(evaluation: LinearEvaluation, scale: float) -> float:
    """(1 - c)·Σ w(ℓ - inf ℓ), what multiplying the dual point by c adds to the gap at most."""
    return 0.0 if scale == 1.0 else (1.0 - scale) * _losses_above_infima(evaluation)


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

    def scaled(self, scale: float) -> _Block:
        """The same if the part of the gradient that comes from the losses is multiplied by the scale."""
        if scale == 1.0:
            return self
        return self._replace(gradient=_scale_losses(self.gradient, scale, self.penalty, self.v))

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
        gradient, eps = self.scaled(scale).gradient, array_eps(self.v)
        if self.term is None and self.penalty.covers_all:
            noise = self.noise / math.sqrt(self.penalty.least)
            return BlockGap(0.5 * square_up(self.penalty.dual_norm(gradient) + noise), 0.5 * square_up(noise))
        if self.penalty.covers_all or self.term is None or math.isinf(self.term.dual_radius(self.v)):
            return find_gap(self.term, self.v, gradient, self.penalty.least, noise=self.noise, eps=eps)
        gap = find_gap(self.term, self.v, gradient, 0.0, eps=eps)
        by_noise = self.noise * norm(self.v)
        return BlockGap(gap.value + by_noise, gap.floor + by_noise)
