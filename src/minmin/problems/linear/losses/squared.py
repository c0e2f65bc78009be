"""The squared loss."""

from __future__ import annotations

from minmin.core.arrays import Array, namespace_of
from minmin.problems.linear.losses.base import Loss


class Squared(Loss):
    """½(m - t)²; ``shared`` is m - t."""

    name = "squared"
    max_curvature = 1.0
    min_curvature = 1.0
    self_concordance = 0.0

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

    def prepare(self, margins: Array, target: Array) -> Array:
        return margins - target

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return 0.5 * shared * shared

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return namespace_of(shared).ones_like(shared)
