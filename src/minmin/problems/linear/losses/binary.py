"""Losses of two classes that are minus a log-likelihood: logistic, probit and complementary log-log."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from scipy.special import erfcx, log_ndtr

from minmin.core.arrays import Array, in_double, largest, namespace_of, to_like
from minmin.problems.linear.losses.base import Loss, MarginHessian, check_labels

_LOCAL_RADIUS = 0.86
"""Below 1 - exp(-2), see :class:`LocallySelfConcordant`."""
_FAR_BELOW = -150.0
"""Below this z the curvature of the probit loss is computed by a series, since λ + z cancels.
Measured: docs/benchmarks/tuning.md."""
_SMALL, _LARGE = 0.02, 750.0
"""Rates exp(m) below the first need a series in the complementary log-log loss; exp of minus the second is zero.
Measured: docs/benchmarks/tuning.md."""


class BinaryLoss(Loss):
    """t in {-1, 1}, and ℓ falls towards zero as t·m grows."""

    unit_dispersion = True

    def check_target(self, target: Array) -> Array:
        return check_labels(target, self.name)

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return not bool(namespace_of(change).all(target * change >= -slack))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(namespace_of(change).any(target * change > slack))


class Logistic(BinaryLoss):
    """log(1 + exp(-t·m)); ``shared`` is exp(-|m|), which never overflows."""

    name = "logistic"
    max_curvature = 0.25
    self_concordance = 1.0

    def prepare(self, margins: Array, target: Array) -> Array:
        xp = namespace_of(margins)
        return xp.exp(-xp.abs(margins))

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        xp = namespace_of(margins)
        return xp.maximum(-target * margins, xp.zeros_like(margins)) + xp.log1p(shared)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        xp = namespace_of(margins)
        wrong_side = xp.where(target * margins > 0, shared, xp.ones_like(shared))
        return -target * wrong_side / (1.0 + shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared / ((1.0 + shared) * (1.0 + shared))


class LocallySelfConcordant(BinaryLoss):
    """|ℓ'''| <= M·ℓ'' at all margins within 2/M of m, where M depends on m.

    Let r = 2/M. By the argument of :attr:`Loss.self_concordance`, ℓ' rises by at least ℓ''(1 - exp(-M·r))/M from m to
    m + r. So if M|u| <= 1 - exp(-2), the slope s = ℓ' + ℓ''u is taken within r of m, and the bound holds as there.
    """

    @abstractmethod
    def local_self_concordance(self, margins: Array, target: Array) -> Array:
        """M of every sample."""

    def is_in_dual_domain(self, change: Array, margins: Array, target: Array, near: MarginHessian) -> bool:
        return self.distance(change, margins, target) <= _LOCAL_RADIUS

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        return largest(self.local_self_concordance(margins, target) * change)


class Probit(LocallySelfConcordant):
    """-log Φ(z), z = t·m, with the normal distribution Φ; ``shared`` is λ = Φ'(z)/Φ(z).

    The array libraries have no Φ, so it is SciPy's, in double precision.
    """

    name = "probit"
    max_curvature = 1.0

    def prepare(self, margins: Array, target: Array) -> Array:
        z = in_double(target * margins)
        return to_like(math.sqrt(2.0 / math.pi) / erfcx(-z / math.sqrt(2.0)), margins)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return to_like(-log_ndtr(in_double(target * margins)), margins)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return -target * shared

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """λ(λ + z), which is 1 - 1/z² + 6/z⁴ - ... far below zero."""
        z = in_double(target * margins)
        ratio, far = in_double(shared), z < _FAR_BELOW
        per_square = 1.0 / np.square(np.where(far, z, 1.0))
        series = 1.0 - per_square * (1.0 - 6.0 * per_square)
        return to_like(np.where(far, series, ratio * (ratio + np.where(far, 0.0, z))), margins)

    def local_self_concordance(self, margins: Array, target: Array) -> Array:
        """|ℓ'''| <= (1 + max(z, 0))·ℓ'': the ratio approaches z - 1/z for large z, and is at most 0.35 below zero."""
        xp = namespace_of(margins)
        return 2.0 + 2.0 * xp.maximum(target * margins, xp.zeros_like(margins))


class CLogLog(LocallySelfConcordant):
    """-log P, P(t = 1) = 1 - exp(-a) with the rate a = exp(m), and ``shared`` is a. So ℓ is a for t = -1."""

    name = "cloglog"

    def prepare(self, margins: Array, target: Array) -> Array:
        with np.errstate(over="ignore"):
            return namespace_of(margins).exp(margins)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        """Of the likely and the unlikely case each, with the formula that is exact there."""
        xp, rate = namespace_of(margins), _limit(shared)
        is_large, is_small = rate > 1.0, margins < -40.0
        if_large = -xp.log1p(-xp.exp(-xp.where(is_large, rate, xp.ones_like(rate))))
        if_middle = -xp.log(-xp.expm1(-xp.where(is_small | is_large, xp.ones_like(rate), rate)))
        of_event = xp.where(is_large, if_large, xp.where(is_small, -margins, if_middle))
        return xp.where(target > 0, of_event, shared)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        xp, rate = namespace_of(margins), _limit(shared)
        return xp.where(target > 0, -xp.exp(-rate) * _over_probability(rate), shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """a·exp(-a)·(a - 1 + exp(-a))/(1 - exp(-a))² for t = 1."""
        xp, rate = namespace_of(margins), _limit(shared)
        is_small = rate < _SMALL
        safe = xp.where(is_small, xp.ones_like(rate), rate)
        series = 0.5 * rate * (1.0 - rate / 3.0 * (1.0 - rate / 4.0 * (1.0 - rate / 5.0 * (1.0 - rate / 6.0))))
        mean = xp.where(is_small, series, (safe + xp.expm1(-safe)) / safe)
        of_event = xp.exp(-rate) * _over_probability(rate) ** 2 * mean
        return xp.where(target > 0, of_event, shared)

    def local_self_concordance(self, margins: Array, target: Array) -> Array:
        """|ℓ'''| <= (1 + a)·ℓ'' for t = 1, and |ℓ'''| = ℓ'' for t = -1."""
        xp = namespace_of(margins)
        rate = _limit(self.prepare(margins, target))
        return 2.0 + 2.0 * xp.where(target > 0, rate, xp.zeros_like(rate))


def _limit(rate: Array) -> Array:
    """The rate, but no infinity, which would give NaN where it is multiplied by exp(-rate)."""
    xp = namespace_of(rate)
    return xp.minimum(rate, _LARGE * xp.ones_like(rate))


def _over_probability(rate: Array) -> Array:
    """a/(1 - exp(-a))."""
    xp = namespace_of(rate)
    is_tiny = rate < 1e-30
    safe = xp.where(is_tiny, xp.ones_like(rate), rate)
    return xp.where(is_tiny, xp.ones_like(rate), -safe / xp.expm1(-safe))
