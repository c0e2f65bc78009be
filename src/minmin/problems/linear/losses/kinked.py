"""Losses whose slope has kinks: Huber and squared hinge. Their curvature is 1 on some margins and 0 on others."""

from __future__ import annotations

import math
from abc import abstractmethod

from minmin.core.arrays import Array, largest, namespace_of
from minmin.core.vectors import dot
from minmin.errors import InputError, as_number
from minmin.problems.linear.losses.base import DualPoint, Loss
from minmin.problems.linear.losses.targets import check_labels
from minmin.problems.linear.margin_hessian import DiagonalHessian, MarginHessian


class KinkedLoss(Loss):
    """ℓ'' is 1 or 0, so the second derivative is constant until a margin passes a kink."""

    max_curvature = 1.0
    reaches_infimum = True

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

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

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian:
        """Of parabolas around t with the slopes of the loss at these margins; they lie above the loss."""
        xp, size = namespace_of(margins), abs(margins - target)
        limit = self.delta * xp.ones_like(size)
        return DiagonalHessian(weights * limit / xp.maximum(size, limit))

    def find_dual_point(
        self, change: Array, margins: Array, target: Array, weights: Array, near: MarginHessian, left: float
    ) -> DualPoint:
        """ℓ*(s) is ½s² + ts for |s| <= δ, and infinite beyond. So s is multiplied by the largest c that makes it so.

        With the residual r, ℓ + ℓ* - ms = ½(s - ℓ')² + (r - ℓ')(ℓ' - s).
        """
        xp, residual = namespace_of(margins), margins - target
        slope = self._clip(residual)
        dual = slope + _where_curved(near, change)
        most = largest(xp.where(weights > 0, abs(dual) + _slack(near, left), 0.0 * dual))
        scale = min(1.0, self.delta / most) if most > 0.0 else 1.0
        change = scale * dual - slope
        return DualPoint(dot(weights, change * (0.5 * change - (residual - slope))), scale)

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

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return 0.5 * shared * shared

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return -target * shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return namespace_of(shared).astype(shared > 0, shared.dtype)

    def number_pieces(self, margins: Array, target: Array) -> Array:
        return self.curvature(margins, target, self.prepare(margins, target))

    def find_dual_point(
        self, change: Array, margins: Array, target: Array, weights: Array, near: MarginHessian, left: float
    ) -> DualPoint:
        """ℓ*(s) is finite for q = -ts >= 0. With max(0, 1 - tm) = p, ℓ + ℓ* - ms = ½(q - p)² where p > 0."""
        xp, curved = namespace_of(margins), _where_curved(near, change)
        dual = self.prepare(margins, target) - target * curved
        if bool(xp.any((weights > 0) & (dual < _slack(near, left)))):
            return DualPoint(math.inf)
        return DualPoint(0.5 * dot(weights, curved * curved))


def _where_curved(near: MarginHessian, change: Array) -> Array:
    """The change of ℓ' for a change of the margins."""
    return namespace_of(change).where(near.diagonal > 0, change, 0.0 * change)


def _slack(near: MarginHessian, left: float) -> Array:
    """How far every margin with curvature may move, if all move by at most ``left`` in the norm of the curvature."""
    xp, h = namespace_of(near.diagonal), near.diagonal
    curved = h > 0
    return xp.where(curved, left / xp.where(curved, h, xp.ones_like(h)) ** 0.5, 0.0 * h)
