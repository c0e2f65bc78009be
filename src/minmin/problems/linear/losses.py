"""Losses of a linear model as functions of the margins, safe for margins of any size."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from minmin.core.arrays import Array, largest, namespace_of, to_like, to_numpy
from minmin.core.identity import identify
from minmin.core.second_order import Gauge
from minmin.errors import InputError
from minmin.problems.linear.margin_hessian import DiagonalHessian, MarginHessian
from minmin.problems.linear.penalties import Penalty

FAR = 1.0
"""Margins farther from zero than this get the curvature of a parabola, since the loss's own curvature may vanish. At
this distance the parabola of the logistic loss has 1.18 times the curvature of the loss, so the two join almost
smoothly."""


class Loss(ABC):
    """A convex loss ℓ(margin, target) of every sample.

    Margins have the shape (n,), or (n, K) for a loss with K outputs per sample. A loss of one margin per sample defines
    its value and two derivatives, entry by entry; the rest has defaults that are safe for every convex loss. A bound by
    duality needs :attr:`conjugate_radius`; a proof that f has no minimum needs :meth:`rises` and :meth:`falls`.

    Attributes
    ----------
    name : str
    outputs : int
        The number of margins per sample.
    max_curvature, min_curvature : float
        sup and inf of ℓ''; infinite and zero if they are not known.
    conjugate_radius : float
        ℓ(m) + ℓ*(s) - m·s <= ℓ''(m)·u² holds for s = ℓ'(m) + ℓ''(m)·u and every |u| up to this; 0 if it is not known.
    unit_dispersion : bool
        Whether -ℓ is a log-likelihood, up to a constant. Otherwise standard errors estimate a factor, the dispersion.
    """

    name: str = "custom"
    outputs: int = 1
    max_curvature: float = math.inf
    min_curvature: float = 0.0
    conjugate_radius: float = 0.0
    unit_dispersion: bool = False

    def check_target(self, target: Array) -> Array:
        """The target in the form that the formulas use; an error says which entry is out of range."""
        return target

    def prepare(self, margins: Array, target: Array) -> Array:
        """What value and derivatives have in common; computed once, and passed to them as ``shared``."""
        return margins

    @abstractmethod
    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ of every sample."""

    def infimum(self, target: Array) -> Array | None:
        """The infimum of ℓ over all margins, of every sample; None if it is not known."""
        return None

    @abstractmethod
    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ' of every margin."""

    @abstractmethod
    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ'' of every margin."""

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        """The second derivative of the weighted mean loss."""
        return DiagonalHessian(weights * self.curvature(margins, target, shared))

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian | None:
        """The second derivative of parabolas that have the slopes of the loss at these margins and at margin zero.

        It does not vanish far from zero. ``near`` is the second derivative of the loss; the surrogate is None if that
        never vanishes. For the logistic loss the parabola lies above the loss (Jaakkola and Jordan, 2000), so a step
        never raises f.
        """
        if self.min_curvature > 0.0:
            return None
        xp = namespace_of(margins)
        zero = xp.zeros_like(margins)
        change = slope - self.slope(zero, target, self.prepare(zero, target))
        far = xp.abs(margins) > FAR
        chord = weights * change / xp.where(far, margins, xp.ones_like(zero))
        return DiagonalHessian(xp.where(far, xp.maximum(near.diagonal, chord), near.diagonal))

    def is_in_dual_domain(self, change: Array, near: MarginHessian) -> bool:
        """Whether ℓ(m) + ℓ*(s) - <m, s> <= <u, ℓ''u> for every sample, s = ℓ' + ℓ''u and u the change."""
        return largest(change) <= self.conjugate_radius

    def distance(self, change: Array) -> float:
        """The length of a change of all margins. Within length 1 the second derivative changes by a factor e at most.

        By default the largest change of a margin, which is right if |ℓ'''| <= ℓ''; zero for a quadratic loss.
        """
        return 0.0 if math.isinf(self.conjugate_radius) else largest(change)

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss rises eventually if its margins keep changing in this direction.

        Changes of at most ``slack`` count as zero.
        """
        return True

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss keeps falling in this direction; called only if none rises."""
        return False

    def identity(self) -> Iterable[Any]:
        """What distinguishes this loss from others in checkpoints: its type and its parameters."""
        return [type(self).__module__, type(self).__qualname__, *identify(vars(self))]

    def gauge(self, penalty: Penalty) -> Gauge | None:
        """Directions of coefficients with these penalties along which f never changes; None if there are none."""
        return None


class Logistic(Loss):
    """log(1 + exp(-t·m)), t in {-1, 1}; ``shared`` is exp(-|m|), which never overflows.

    With p = |ℓ'|, q = |s|: ℓ + ℓ* - m·s = KL(q, p) <= χ²(q, p) = ℓ''·u².
    """

    name = "logistic"
    max_curvature = 0.25
    conjugate_radius = 1.0
    unit_dispersion = True

    def check_target(self, target: Array) -> Array:
        values = to_numpy(target)
        labels = set(np.unique(values).tolist())
        if labels <= {-1.0, 1.0}:
            return target
        if labels <= {0.0, 1.0}:
            return to_like(2.0 * values - 1.0, target)
        other = ~np.isin(values, [-1.0, 0.0, 1.0])
        wrong = int(np.flatnonzero(other if other.any() else values == 0.0)[0])
        raise InputError(
            f"target[{wrong}] = {values[wrong]:g}: the logistic loss takes labels in {{-1, 1}} or {{0, 1}}"
        )

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

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

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return not bool(namespace_of(change).all(target * change >= -slack))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(namespace_of(change).any(target * change > slack))


class Squared(Loss):
    """½(m - t)²; ``shared`` is m - t."""

    name = "squared"
    max_curvature = 1.0
    min_curvature = 1.0
    conjugate_radius = math.inf

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


class Poisson(Loss):
    """exp(m) - t·m, t >= 0; ``shared`` is exp(m). Its curvature is unbounded, so there is no global L.

    ℓ + ℓ* - m·s = exp(m)·((1 + u)·log(1 + u) - u) <= ℓ''·u².
    """

    name = "poisson"
    conjugate_radius = 1.0
    unit_dispersion = True

    def check_target(self, target: Array) -> Array:
        values = to_numpy(target)
        if (values < 0).any():
            wrong = int(np.flatnonzero(values < 0)[0])
            raise InputError(f"target[{wrong}] = {values[wrong]:g}: the Poisson loss takes counts >= 0")
        return target

    def infimum(self, target: Array) -> Array:
        xp = namespace_of(target)
        return target - target * xp.log(xp.where(target > 0, target, xp.ones_like(target)))

    def prepare(self, margins: Array, target: Array) -> Array:
        with np.errstate(over="ignore"):
            return namespace_of(margins).exp(margins)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared - target * margins

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared - target

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return shared

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        xp = namespace_of(change)
        return not bool(xp.all((change <= slack) & ((xp.abs(change) <= slack) | (target == 0))))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(namespace_of(change).any(change < -slack))


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Logistic(), Squared(), Poisson())}
