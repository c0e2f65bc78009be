"""The duality gap of a GLM: a certificate that the data alone prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from array_api_compat import array_namespace

from minmin.oracle import Certificate
from minmin.space import Array, dot, largest, norm, square

if TYPE_CHECKING:
    from minmin.problems.glm import _GLMEvaluation

_ROUNDING = 4.0
"""Rounding errors of sums are taken to be so many times eps times the norm of their terms."""


class Ahead(NamedTuple):
    """The quadratic model of f after a step in y: the step, its image Y·dy, the residual and ∇ₓ there."""

    dy: Array
    image: Array
    residual: Array
    gradient: Array


def duality_certificate(evaluation: _GLMEvaluation, y_root: Array | None) -> Certificate:
    """f - f* at an evaluation whose model ahead of a step in y is known; ``y_root`` is a K with KᵀK = H_yy⁻¹.

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*, and A = diag(α_x), B = diag(α_y),
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + ½|Xᵀθ + Ax|² in A⁻¹ + ½|Yᵀθ + By|² in B⁻¹
    (Fenchel and Young). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the residual that the model has after the step
    dy, so for a Newton step in y the last term all but vanishes. The first bracket is at most ℓ_i'' u_i² where
    |u_i| <= 1, for each of our losses (:attr:`Loss.conjugate_radius`): so no logarithm is needed, and Xᵀθ is the
    gradient that the step in x needs anyway.

    A column without a penalty demands that its part of Xᵀθ or Yᵀθ is zero. Of y only rounding errors g are left, and
    a further step -H_yy⁻¹g takes them off: with δ = |K·g| it adds at most δ to |√h u| and |√h X|δ to Xᵀθ, and what
    it leaves in the penalised columns of y, BH_yy⁻¹g, is paid for by that: |√h Y H_yy⁻¹g|² + |BH_yy⁻¹g|² in B⁻¹ is δ².
    Without such a K, or with a column of x that has no penalty, there is no bound.
    """
    p, ahead = evaluation.problem, evaluation.ahead
    assert ahead is not None
    h, theta = evaluation.curvature, ahead.residual
    grad_y = p.pull_y(theta) + p.alpha_y * evaluation.y
    lengths = norm(evaluation.x), norm(evaluation.y) + norm(ahead.dy)
    sizes = tuple(math.sqrt(dot(h, squares)) for squares in p.row_squares)
    # The margins are off by eps·(|X_i||x| + |Y_i||y|), and the residual by the curvature times that.
    off = sum(size * length for size, length in zip(sizes, lengths, strict=True))
    eps = _ROUNDING * evaluation.eps
    penalties = p.penalty_x.length(evaluation.x), p.penalty_y.length(evaluation.y) + p.penalty_y.length(ahead.dy)
    noise_x, noise_y = (
        eps * (_weighted_norm(theta, squares) + penalty + size * off)
        for squares, size, penalty in zip(p.row_squares, sizes, penalties, strict=True)
    )
    left, least_left, in_y, least_in_y = 0.0, 0.0, 0.0, 0.0
    if p.penalty_y.covers_all and p.penalty_y.is_one_number:
        in_y = square(norm(grad_y) + noise_y) / (2.0 * p.alpha_y)
        least_in_y = square(noise_y) / (2.0 * p.alpha_y)
    else:
        column_noise = eps * (p.spread_y(theta) + off * p.spread_y(h**0.5) + p.alpha_y * _sizes(evaluation.y, ahead.dy))
        if p.penalty_y.covers_all:
            in_y = 0.5 * square(p.penalty_y.dual_norm(abs(grad_y) + column_noise))
            least_in_y = 0.5 * square(p.penalty_y.dual_norm(column_noise))
        else:
            left, least_left = _left_in_y(y_root, grad_y, column_noise)
            in_y = least_in_y = 2.0 * noise_y * lengths[1]  # y itself is rounded
    curved = math.sqrt(dot(h * ahead.image, ahead.image))
    inside = largest(ahead.image) <= p.loss.conjugate_radius
    in_x, least_in_x = _in_x(evaluation, ahead, eps, off, (noise_x, sizes[0]), (left, least_left))
    bound = square(curved + left) + in_x + in_y
    floor = square(least_left) + least_in_x + least_in_y
    return Certificate(
        bound if inside and math.isfinite(bound) else math.inf,
        floor if math.isfinite(floor) else 0.0,
        by_data=True,
        noise=(noise_x, noise_y),
    )


def _in_x(
    evaluation: _GLMEvaluation,
    ahead: Ahead,
    eps: float,
    off: float,
    known: tuple[float, float],
    lefts: tuple[float, float],
) -> tuple[float, float]:
    """x's part of the bound, and of its floor, where the further step in y takes so much."""
    p = evaluation.problem
    if not p.penalty_x.covers_all:
        return math.inf, math.inf
    noise, size = known
    if p.penalty_x.is_one_number:
        root = math.sqrt(p.alpha_x)
        noise, size = noise / root, size / root
    else:
        squares = p.row_squares_over_alpha_x
        size = math.sqrt(dot(evaluation.curvature, squares))
        in_penalty = math.sqrt(p.penalty_x.product(evaluation.x, evaluation.x))
        noise = eps * (_weighted_norm(ahead.residual, squares) + in_penalty + size * off)
    left, least_left = lefts
    in_x = 0.5 * square(p.penalty_x.dual_norm(ahead.gradient) + noise + size * left)
    return in_x, 0.5 * square(noise + size * least_left)


def _weighted_norm(v: Array, weights: Array) -> float:
    return math.sqrt(dot(v * weights, v))


def _sizes(a: Array, b: Array) -> Array:
    return abs(a) + abs(b)


def _left_in_y(root: Array | None, gradient: Array, noise: Array) -> tuple[float, float]:
    """What eliminating a gradient of so much noise takes, and what the noise alone would take."""
    if root is None:
        return math.inf, math.inf
    xp = array_namespace(gradient)
    unseen = ~xp.any(root != 0, axis=0)
    if bool(xp.any(unseen & (xp.abs(gradient) + noise > 0))):
        return math.inf, math.inf
    by_noise = norm(xp.reshape(root * noise, (-1,)))
    return norm(root @ gradient) + by_noise, by_noise
