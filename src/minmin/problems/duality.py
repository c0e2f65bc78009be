"""The duality gap of a linear model: a certificate that the data alone prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from array_api_compat import array_namespace

from minmin.oracle import Certificate
from minmin.space import Array, dot, norm, square

if TYPE_CHECKING:
    from minmin.problems.linear import LinearEvaluation

_ROUNDING = 4.0
"""Rounding errors of sums are taken to be so many times eps times the norm of their terms."""


class Ahead(NamedTuple):
    """The quadratic model of f after a step in y: the step, its image Y·dy, the residual and ∇ₓ there."""

    dy: Array
    image: Array
    residual: Array
    gradient: Array


def duality_certificate(evaluation: LinearEvaluation, y_root: Array | None) -> Certificate:
    """f - f* at an evaluation whose model ahead of a step in y is known; ``y_root`` is a K with KᵀK = H_yy⁻¹.

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*, and A = diag(α_x), B = diag(α_y),
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + ½|Xᵀθ + Ax|² in A⁻¹ + ½|Yᵀθ + By|² in B⁻¹
    (Fenchel and Young). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the residual that the model has after the step
    dy, so for a Newton step in y the last term all but vanishes. The first bracket is at most <u_i, ℓ_i'' u_i> where
    u_i is small enough (:meth:`LinearModel.is_in_dual_domain`): so no logarithm is needed, and Xᵀθ is the gradient
    that the step in x needs anyway. h is the second derivative of the weighted mean loss.

    A column without a penalty demands that its part of Xᵀθ or Yᵀθ is zero. Of y only rounding errors g are left, and
    a further step -H_yy⁻¹g takes them off: with δ = |K·g| it adds at most δ to |√h u| and |√h X|δ to Xᵀθ, and what
    it leaves in the penalised columns of y, BH_yy⁻¹g, is paid for by that: |√h Y H_yy⁻¹g|² + |BH_yy⁻¹g|² in B⁻¹ is δ².
    Where H_yy was not factorised, such a step is taken in the unpenalised columns of y alone, with a K of their own: it
    adds at most |√h Y|δ to what is left in the others. Without a K, or with an unpenalised column of x, there is no
    bound.
    """
    p, ahead = evaluation.problem, evaluation.ahead
    assert ahead is not None
    rounding = _Rounding(evaluation, ahead)
    grad_y = p.pull_y(ahead.residual) + p.penalty_y.alpha * evaluation.y
    left, least_left, in_y, least_in_y = 0.0, 0.0, 0.0, 0.0
    if rounding.y_spread is None:
        in_y, least_in_y = _penalised(norm(grad_y), rounding.noise[1], p.penalty_y.alpha)
    else:
        noise = rounding.noise_of_y_columns(rounding.y_spread)
        if p.penalty_y.covers_all:
            in_y = 0.5 * square(p.penalty_y.dual_norm(abs(grad_y) + noise))
            least_in_y = 0.5 * square(p.penalty_y.dual_norm(noise))
        else:
            in_y = least_in_y = 2.0 * dot(noise, rounding.y_sizes)  # y itself is rounded
            if y_root is not None:
                left, least_left = _left_in_y(y_root, grad_y, noise)
            else:
                root, free = p.free_y_root(evaluation)
                left, least_left = _left_in_y(root, free(grad_y), free(noise))
                size_y = p.penalty_y.dual_norm(rounding.y_spread)
                in_y += 0.5 * square(p.penalty_y.dual_norm(abs(grad_y) + noise) + size_y * left)
                least_in_y += 0.5 * square(p.penalty_y.dual_norm(noise) + size_y * least_left)
    in_x = least_in_x = math.inf
    if p.penalty_x.covers_all:
        noise_x, size_x = rounding.in_x_over_alpha()
        in_x = 0.5 * square(p.penalty_x.dual_norm(ahead.gradient) + noise_x + size_x * left)
        least_in_x = 0.5 * square(noise_x + size_x * least_left)
    curved = math.sqrt(max(dot(evaluation.bending.times(ahead.image), ahead.image), 0.0))
    inside = p.is_in_dual_domain(ahead.image, evaluation.bending)
    bound = square(curved + left) + in_x + in_y
    floor = square(least_left) + least_in_x + least_in_y
    return Certificate(
        bound if inside and math.isfinite(bound) else math.inf,
        floor if math.isfinite(floor) else 0.0,
        by_data=True,
        noise=rounding.noise,
    )


class _Rounding:
    """How large rounding errors are expected to be.

    A block with one penalty is looked at as a whole, which costs nothing. One with a penalty a column may have columns
    of all units, so y is looked at column by column, and x in the units of its penalties.

    Attributes
    ----------
    noise : pair of float
        In ∇ₓ and ∇ᵧ.
    y_sizes : array
        The terms of y.
    y_spread : array or None
        √Σ h_i Y_ij² of every column of y; None where y has one penalty above 0.
    """

    def __init__(self, evaluation: LinearEvaluation, ahead: Ahead):
        self._evaluation, self._ahead = evaluation, ahead
        p, h, x, y = evaluation.problem, evaluation.bending.diagonal, evaluation.x, evaluation.y
        self._unit = _ROUNDING * evaluation.eps
        self._sizes = tuple(math.sqrt(dot(h, squares)) for squares in p.row_squares)
        self.y_sizes = abs(y) + abs(ahead.dy)
        one_alpha_y = p.penalty_y.is_one_number and p.penalty_y.covers_all
        self.y_spread = None if one_alpha_y else p.spread_y(h**0.5)
        # The margins are off by eps·(|X_i||x| + |Y_i||y|), and the residual by the curvature times that.
        in_x, in_y = self._sizes[0] * norm(x), self._sizes[1] * norm(self.y_sizes)
        if not p.penalty_x.is_one_number:
            self._size_over_alpha = math.sqrt(dot(h, p.row_squares_over_alpha_x))
            in_x = min(in_x, self._size_over_alpha * math.sqrt(p.penalty_x.product(x, x)))
        if self.y_spread is not None:
            in_y = dot(self.y_spread, self.y_sizes)
        self._off = in_x + in_y
        penalties = norm(p.penalty_x.alpha * x), norm(p.penalty_y.alpha * self.y_sizes)
        noise_x, noise_y = (
            self._unit * (_weighted_norm(ahead.residual, squares) + penalty + size * self._off)
            for squares, size, penalty in zip(p.row_squares, self._sizes, penalties, strict=True)
        )
        self.noise = noise_x, noise_y

    def noise_of_y_columns(self, spread: Array) -> Array:
        """In every column of ∇ᵧ."""
        p = self._evaluation.problem
        return self._unit * (p.spread_y(self._ahead.residual) + self._off * spread + p.penalty_y.alpha * self.y_sizes)

    def in_x_over_alpha(self) -> tuple[float, float]:
        """In ∇ₓ in the norm of A⁻¹, and |√h X| in it."""
        penalty = self._evaluation.problem.penalty_x
        if penalty.is_one_number:
            root = math.sqrt(penalty.alpha)
            return self.noise[0] / root, self._sizes[0] / root
        x, size = self._evaluation.x, self._size_over_alpha
        terms = _weighted_norm(self._ahead.residual, self._evaluation.problem.row_squares_over_alpha_x)
        return self._unit * (terms + math.sqrt(penalty.product(x, x)) + size * self._off), size


def _weighted_norm(v: Array, weights: Array) -> float:
    return math.sqrt(dot(v * weights, v))


def _penalised(gradient: float, noise: float, alpha: float) -> tuple[float, float]:
    """The part of a block with one penalty, and what it would be of the noise alone."""
    return square(gradient + noise) / (2.0 * alpha), square(noise) / (2.0 * alpha)


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
