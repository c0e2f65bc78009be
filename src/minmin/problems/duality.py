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

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*,
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + |Xᵀθ + α_x x|²/2α_x + |Yᵀθ + α_y y|²/2α_y
    (Fenchel and Young). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the residual that the model has after the step
    dy, so for a Newton step in y the last term all but vanishes. The first bracket is at most ℓ_i'' u_i² where
    |u_i| <= 1, for each of our losses (:attr:`Loss.conjugate_radius`): so no logarithm is needed, and Xᵀθ is the
    gradient that the step in x needs anyway.

    A block without a penalty demands Xᵀθ = 0 (or Yᵀθ = 0). Of y only rounding errors g are left, and a further step
    -H_yy⁻¹g takes them off: it adds δ = |K·g| to |√h u| and at most |√h X|δ to Xᵀθ. Without such a K, or a penalty on
    x, there is no bound.
    """
    p, ahead = evaluation.problem, evaluation.ahead
    assert ahead is not None
    h, theta = evaluation.curvature, ahead.residual
    grad_y = p.pull_y(theta) + p.alpha_y * evaluation.y
    lengths = norm(evaluation.x), norm(evaluation.y) + norm(ahead.dy)
    sizes = tuple(math.sqrt(dot(h, squares)) for squares in p.row_squares)
    # The margins are off by eps·(|X_i||x| + |Y_i||y|), and the residual by the curvature times that.
    off = sum(size * length for size, length in zip(sizes, lengths, strict=True))
    blocks = zip(p.row_squares, sizes, (p.alpha_x, p.alpha_y), lengths, strict=True)
    noise_x, noise_y = (
        _ROUNDING * evaluation.eps * (math.sqrt(dot(theta * squares, theta)) + alpha * length + size * off)
        for squares, size, alpha, length in blocks
    )
    left, least_left, in_y, least_in_y = 0.0, 0.0, 0.0, 0.0
    if p.alpha_y > 0.0:
        in_y = square(norm(grad_y) + noise_y) / (2.0 * p.alpha_y)
        least_in_y = square(noise_y) / (2.0 * p.alpha_y)
    else:
        column_noise = _ROUNDING * evaluation.eps * (p.spread_y(theta) + off * p.spread_y(h**0.5))
        left, least_left = _left_in_y(y_root, grad_y, column_noise)
        in_y = least_in_y = 2.0 * noise_y * lengths[1]  # y itself is rounded
    curved = math.sqrt(dot(h * ahead.image, ahead.image))
    inside = largest(ahead.image) <= p.loss.conjugate_radius
    bound = square(curved + left) + _penalised(norm(ahead.gradient) + noise_x + sizes[0] * left, p.alpha_x) + in_y
    floor = square(least_left) + _penalised(noise_x + sizes[0] * least_left, p.alpha_x) + least_in_y
    return Certificate(
        bound if inside else math.inf,
        floor if math.isfinite(floor) else 0.0,
        by_data=True,
        noise=(noise_x, noise_y),
    )


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


def _penalised(gradient: float, alpha: float) -> float:
    return square(gradient) / (2.0 * alpha) if alpha > 0.0 else math.inf
