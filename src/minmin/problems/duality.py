"""The duality gap of a GLM: a certificate that the data alone prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from minmin.oracle import Certificate
from minmin.space import Array, dot, largest, norm, square

if TYPE_CHECKING:
    from minmin.problems.glm import _GLMEvaluation

_ROUNDING = 4.0
"""Rounding errors of sums are taken to be so many times eps times the norm of their terms."""
_ZERO = 8.0
"""What should be zero may be so many times its rounding error."""


class Ahead(NamedTuple):
    """The quadratic model of f after a step in y: the step, its image Y·dy, the residual and ∇ₓ there."""

    dy: Array
    image: Array
    residual: Array
    gradient: Array


def duality_certificate(evaluation: _GLMEvaluation) -> Certificate:
    """f - f* at an evaluation whose model ahead of a step in y is known.

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*,
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + |Xᵀθ + α_x x|²/2α_x + |Yᵀθ + α_y y|²/2α_y
    (Fenchel and Young). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the residual that the model has after the step
    dy, so for a Newton step in y the last term all but vanishes. The first bracket is at most ℓ_i'' u_i² where
    |u_i| <= 1, for each of our losses (:attr:`Loss.conjugate_radius`): so no logarithm is needed, and Xᵀθ is the
    gradient that the step in x needs anyway. A block without a penalty demands Xᵀθ = 0 (or Yᵀθ = 0); where that
    holds up to rounding, the rounding's inner product with the block is taken, and else there is no bound.
    """
    p, ahead = evaluation.problem, evaluation.ahead
    assert ahead is not None
    h, theta = evaluation.curvature, ahead.residual
    grad_y = p.pull_y(theta) + p.alpha_y * evaluation.y
    lengths = norm(evaluation.x), norm(evaluation.y) + norm(ahead.dy)
    sizes = tuple(math.sqrt(dot(h, squares)) for squares in p.row_squares)
    # The margins are off by eps·(|X_i||x| + |Y_i||y|), and the residual by the curvature times that.
    off = sum(size * length for size, length in zip(sizes, lengths, strict=True))
    bound = dot(h * ahead.image, ahead.image) if largest(ahead.image) <= p.loss.conjugate_radius else math.inf
    floor, noises = 0.0, []
    for gradient, squares, size, alpha, length in zip(
        (ahead.gradient, grad_y), p.row_squares, sizes, (p.alpha_x, p.alpha_y), lengths, strict=True
    ):
        summed = math.sqrt(dot(theta * squares, theta)) + alpha * length
        noise = _ROUNDING * evaluation.eps * (summed + size * off)
        bound += _block_term(norm(gradient), noise, alpha, length)
        floor += _block_term(0.0, noise, alpha, length)
        noises.append(noise)
    return Certificate(bound, floor, by_data=True, noise=(noises[0], noises[1]))


def _block_term(gradient: float, noise: float, alpha: float, length: float) -> float:
    if alpha > 0.0:
        return square(gradient + noise) / (2.0 * alpha)
    return 2.0 * (gradient + noise) * length if gradient <= _ZERO * noise else math.inf
