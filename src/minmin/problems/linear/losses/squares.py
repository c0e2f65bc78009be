"""Losses of squares: squared, and with kinks in their slope Huber and squared hinge, whose curvature is 1 or 0."""

from __future__ import annotations

import math
from abc import abstractmethod

from minmin.core.arrays import Array, largest, namespace_of
from minmin.core.vectors import dot
from minmin.errors import InputError, as_number
from minmin.problems.linear.losses.base import DiagonalHessian, DualPoint, Loss, MarginHessian, check_labels

_LITTLE = 1e-4
"""Samples with large residuals get this fraction of the surrogate curvature of the Huber loss.
Measured: docs/benchmarks/tuning.md."""


class LossOfSquares(Loss):
    """½·shared²; ℓ reaches zero, and ℓ'' is at most 1."""

    max_curvature = 1.0

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return 0.5 * shared * shared


class Squared(LossOfSquares):
    """½(m - t)²; ``shared`` is m - t."""

    name = "squared"
    min_curvature = 1.0
    self_concordance = 0.0

    def prepare(self, margins: Array, target: Array) -> Array:
        return margins - target

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return namespace_of(shared).ones_like(shared)


class KinkedLoss(LossOfSquares):
    """ℓ'' is 1 or 0, so the second derivative is constant until a margin passes a kink."""

    reaches_infimum = True

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        """Zero if no margin passes a kink, and infinite otherwise."""
        before, after = (self.number_pieces(m, target) for m in (margins - change, margins))
        return math.inf if largest(after - before) > 0.0 else 0.0

    @abstractmethod
    def number_pieces(self, margins: Array, target: Array) -> Array:
        """A number for the piece of ℓ on which a margin is; between pieces is a kink."""


class Huber(KinkedLoss):
    """½r² for a residual r = m - t of at most δ, and δ(|r| - ½δ) beyond; ``shared`` is r.

    Parameters
    ----------
    delta : float
        δ, above 0, in the units of the target.
    """

    name = "huber"

    def __init__(self, delta: float = 1.0):
        self.delta = as_number(delta, "delta")
        if not 0.0 < self.delta < math.inf:
            raise InputError(f"delta = {self.delta:g} must be finite and above 0")

    def prepare(self, margins: Array, target: Array) -> Array:
        return margins - target

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        size, limited = abs(shared), abs(self._clip(shared))
        return limited * (size - 0.5 * limited)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._clip(shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return namespace_of(shared).astype(abs(shared) <= self.delta, shared.dtype)

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        """Samples without curvature get a little of the surrogate's, so that no column is left without any."""
        xp, of_parabola = namespace_of(margins), self._parabola(shared)
        return DiagonalHessian(weights * xp.where(of_parabola < 1.0, _LITTLE * of_parabola, of_parabola))

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian:
        return DiagonalHessian(weights * self._parabola(margins - target))

    def _parabola(self, residual: Array) -> Array:
        """The curvature of parabolas around t with the slopes of the loss here; they lie above the loss."""
        xp, size = namespace_of(residual), abs(residual)
        limit = self.delta * xp.ones_like(size)
        return limit / xp.maximum(size, limit)

    def find_dual_point(
        self,
        change: Array,
        margins: Array,
        target: Array,
        weights: Array,
        near: MarginHessian,
        left: float,
        most_scale: float = 1.0,
    ) -> DualPoint:
        """ℓ*(s) is ½s² + ts for |s| <= δ, and infinite beyond. So s is multiplied by the largest c that makes it so.

        With the residual r, ℓ + ℓ* - ms = ½(s - ℓ')² + (r - ℓ')(ℓ' - s). By the last product, a further change of s
        costs more than its square.
        """
        xp, residual = namespace_of(margins), margins - target
        slope = self._clip(residual)
        moved, slack = _change_slopes(change, weights, near, left)
        dual = slope + moved
        most = largest(xp.where(weights > 0, abs(dual) + slack, 0.0 * dual))
        scale = min(most_scale, self.delta / most) if most > 0.0 else most_scale
        moved, beyond = scale * dual - slope, residual - slope
        gap = max(dot(weights, moved * (0.5 * moved - beyond)), 0.0)
        return DualPoint(gap, scale, dot(near.diagonal * beyond, beyond))

    def number_pieces(self, margins: Array, target: Array) -> Array:
        xp, residual = namespace_of(margins), margins - target
        return xp.where(abs(residual) <= self.delta, 0.0 * residual, xp.sign(residual))

    def _clip(self, residual: Array) -> Array:
        return namespace_of(residual).clip(residual, -self.delta, self.delta)


class SquaredHinge(KinkedLoss):
    """½max(0, 1 - t·m)², t in {-1, 1}; ``shared`` is max(0, 1 - t·m). It reaches zero, so there is always a minimum."""

    name = "squared-hinge"

    def check_target(self, target: Array) -> Array:
        return check_labels(target, self.name)

    def prepare(self, margins: Array, target: Array) -> Array:
        missing = 1.0 - target * margins
        return namespace_of(missing).maximum(missing, 0.0 * missing)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return -target * shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return namespace_of(shared).astype(shared > 0, shared.dtype)

    def number_pieces(self, margins: Array, target: Array) -> Array:
        return self.curvature(margins, target, self.prepare(margins, target))

    def find_dual_point(
        self,
        change: Array,
        margins: Array,
        target: Array,
        weights: Array,
        near: MarginHessian,
        left: float,
        most_scale: float = 1.0,
    ) -> DualPoint:
        """ℓ*(s) is finite for q = -ts >= 0. With max(0, 1 - tm) = p, ℓ + ℓ* - ms = ½(q - p)² where p > 0."""
        moved, slack = _change_slopes(change, weights, near, left)
        dual = self.prepare(margins, target) - target * moved
        if bool(namespace_of(dual).any((weights > 0) & (dual < slack))):
            return DualPoint(math.inf)
        return DualPoint(0.5 * dot(weights, moved * moved))


def _change_slopes(change: Array, weights: Array, near: MarginHessian, left: float) -> tuple[Array, Array]:
    """h/w·u, and the largest h/w·|u| of every sample for all further u of length ``left`` in the norm of h."""
    xp, h = namespace_of(change), near.diagonal
    per_weight = 1.0 / xp.where(weights > 0, weights, xp.ones_like(weights))
    return per_weight * h * change, per_weight * h**0.5 * left
