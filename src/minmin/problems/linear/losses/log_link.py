"""Losses of a mean exp(m): Poisson, gamma, Tweedie and negative binomial."""

from __future__ import annotations

import math

import numpy as np

from minmin.core.arrays import Array, namespace_of
from minmin.errors import InputError, as_number
from minmin.problems.linear.losses.base import Loss, require_targets


class NonNegativeLoss(Loss):
    """t >= 0; ℓ rises as m grows, and as m falls it rises if t > 0 and falls if t = 0."""

    def check_target(self, target: Array) -> Array:
        return require_targets(target >= 0.0, target, f"the {self.name} loss takes numbers >= 0")

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        xp = namespace_of(change)
        return not bool(xp.all((change <= slack) & ((xp.abs(change) <= slack) | (target == 0))))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(namespace_of(change).any(change < -slack))


class Poisson(NonNegativeLoss):
    """exp(m) - t·m; ``shared`` is exp(m). Its curvature is unbounded, so there is no global L."""

    name = "poisson"
    self_concordance = 1.0
    unit_dispersion = True

    def check_target(self, target: Array) -> Array:
        return require_targets(target >= 0.0, target, "the Poisson loss takes counts >= 0")

    def infimum(self, target: Array) -> Array:
        return target - _times_log(target)

    def prepare(self, margins: Array, target: Array) -> Array:
        return _exp(margins)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared - target * margins

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared - target

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared


class Gamma(Loss):
    """t·exp(-m) + m, t > 0; ``shared`` is t·exp(-m). Its curvature is unbounded, so there is no global L."""

    name = "gamma"
    self_concordance = 1.0

    def check_target(self, target: Array) -> Array:
        return require_targets(target > 0.0, target, f"the {self.name} loss takes numbers > 0")

    def infimum(self, target: Array) -> Array:
        return 1.0 + namespace_of(target).log(target)

    def prepare(self, margins: Array, target: Array) -> Array:
        return _exp(-margins, target)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared + margins

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return 1.0 - shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared

    def pearson_squares(self, margins: Array, target: Array, shared: Array) -> Array:
        return (1.0 - shared) ** 2


class Tweedie(NonNegativeLoss):
    """exp((2 - p)·m)/(2 - p) + t·exp((1 - p)·m)/(p - 1), t >= 0, with a power p between 1 and 2.

    Half the deviance of a distribution whose variance is proportional to mean^p: a positive probability of zero, and a
    density above zero. ``shared`` has one row for each of the two exponentials. There is no global L.

    Parameters
    ----------
    power : float
        p, above 1 and below 2. For 1 take "poisson", for 2 "gamma".
    """

    name = "tweedie"

    def __init__(self, power: float = 1.5):
        self.power = as_number(power, "power")
        if not 1.0 < self.power < 2.0:
            raise InputError(
                f"power = {self.power:g} must lie between 1 and 2; for 1 take loss='poisson', for 2 loss='gamma'"
            )

    @property
    def self_concordance(self) -> float:  # type: ignore[override]
        return max(self.power - 1.0, 2.0 - self.power)

    def infimum(self, target: Array) -> Array:
        p = self.power
        return target ** (2.0 - p) / ((2.0 - p) * (p - 1.0))

    def prepare(self, margins: Array, target: Array) -> Array:
        p = self.power
        return namespace_of(margins).stack([_exp((2.0 - p) * margins), _exp((1.0 - p) * margins, target)])

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared[0, :] / (2.0 - self.power) + shared[1, :] / (self.power - 1.0)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared[0, :] - shared[1, :]

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return (2.0 - self.power) * shared[0, :] + (self.power - 1.0) * shared[1, :]

    def pearson_squares(self, margins: Array, target: Array, shared: Array) -> Array:
        return (shared[0, :] - shared[1, :]) ** 2 / shared[0, :]


class NegativeBinomial(NonNegativeLoss):
    """(t + 1/k)·log(1 + k·exp(m)) - t·m, t >= 0, with a dispersion k: the variance is mean + k·mean².

    With z = m + log k this is log(1 + exp(z))/k + t·log(1 + exp(-z)) + t·log k, which does not cancel. ``shared`` is
    exp(-|z|), which never overflows.

    Parameters
    ----------
    dispersion : float
        k, above 0. Towards 0 the loss becomes Poisson's.
    """

    name = "negative-binomial"
    self_concordance = 1.0
    unit_dispersion = True

    def __init__(self, dispersion: float = 1.0):
        self.dispersion = as_number(dispersion, "dispersion")
        if not 0.0 < self.dispersion < math.inf:
            raise InputError(f"dispersion = {self.dispersion:g} must be finite and above 0; for 0 take loss='poisson'")

    def infimum(self, target: Array) -> Array:
        k = self.dispersion
        return (target + 1.0 / k) * namespace_of(target).log1p(k * target) - _times_log(target)

    def prepare(self, margins: Array, target: Array) -> Array:
        xp = namespace_of(margins)
        return xp.exp(-xp.abs(self._shift(margins)))

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        xp, z = namespace_of(margins), self._shift(margins)
        log, zero = xp.log1p(shared), xp.zeros_like(z)
        rising, falling = xp.maximum(z, zero) + log, xp.maximum(-z, zero) + log
        return rising / self.dispersion + target * (falling + math.log(self.dispersion))

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        xp, above = namespace_of(margins), self._shift(margins) > 0
        one = xp.ones_like(shared)
        rising, falling = xp.where(above, one, shared), xp.where(above, shared, one)
        return (rising / self.dispersion - target * falling) / (1.0 + shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return (target + 1.0 / self.dispersion) * shared / ((1.0 + shared) * (1.0 + shared))

    def _shift(self, margins: Array) -> Array:
        return margins + math.log(self.dispersion)


def _exp(exponents: Array, factor: Array | None = None) -> Array:
    """factor·exp(exponents), infinite where that is too large, but zero where the factor is."""
    xp = namespace_of(exponents)
    with np.errstate(over="ignore"):
        if factor is None:
            return xp.exp(exponents)
        return factor * xp.exp(xp.where(factor > 0, exponents, 0.0 * exponents))


def _times_log(target: Array) -> Array:
    """t·log t, which is zero for t = 0."""
    xp = namespace_of(target)
    return target * xp.log(xp.where(target > 0, target, xp.ones_like(target)))
