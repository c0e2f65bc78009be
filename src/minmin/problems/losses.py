"""Losses of a generalised linear model as functions of the margin, safe for margins of any size."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from array_api_compat import array_namespace

from minmin.errors import InputError
from minmin.space import Array, like, to_numpy


class Loss(ABC):
    """ℓ(margin, target), entry by entry.

    ``prepare`` computes what value and derivatives share, once; the others take it as ``shared``.
    """

    name: str
    max_curvature: float
    """sup ℓ''."""
    min_curvature: float = 0.0
    """inf ℓ''."""
    conjugate_radius: float = 1.0
    """ℓ(m) + ℓ*(s) - m·s <= ℓ''(m)·u² for s = ℓ'(m) + ℓ''(m)·u and |u| at most this."""

    @abstractmethod
    def check(self, target: Array) -> Array:
        """The target as the formulas want it, or an error that says which entry is out of range."""

    @abstractmethod
    def prepare(self, margin: Array, target: Array) -> Array: ...

    @abstractmethod
    def value(self, margin: Array, target: Array, shared: Array) -> Array: ...

    @abstractmethod
    def slope(self, margin: Array, target: Array, shared: Array) -> Array: ...

    @abstractmethod
    def curvature(self, margin: Array, target: Array, shared: Array) -> Array: ...

    @abstractmethod
    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss rises in the end as margins go on changing like this.

        Changes of at most ``slack`` count as none.
        """

    @abstractmethod
    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss falls for ever, where none rises."""


class Logistic(Loss):
    """log(1 + exp(-t·m)), t in {-1, 1}; shared is exp(-|m|), which never overflows.

    With p = |ℓ'|, q = |s|: ℓ + ℓ* - m·s = KL(q, p) <= χ²(q, p) = ℓ''·u².
    """

    name = "logistic"
    max_curvature = 0.25

    def check(self, target: Array) -> Array:
        values = to_numpy(target)
        found = set(np.unique(values).tolist())
        if found <= {-1.0, 1.0}:
            return target
        if found <= {0.0, 1.0}:
            return like(2.0 * values - 1.0, target)
        wrong = int(np.flatnonzero(~np.isin(values, [-1.0, 0.0, 1.0]) | (values == 0.0))[0])
        raise InputError(
            f"target[{wrong}] = {values[wrong]:g}: the logistic loss takes labels in {{-1, 1}} or {{0, 1}}"
        )

    def prepare(self, margin: Array, target: Array) -> Array:
        xp = array_namespace(margin)
        return xp.exp(-xp.abs(margin))

    def value(self, margin: Array, target: Array, shared: Array) -> Array:
        xp = array_namespace(margin)
        return xp.maximum(-target * margin, xp.zeros_like(margin)) + xp.log1p(shared)

    def slope(self, margin: Array, target: Array, shared: Array) -> Array:
        xp = array_namespace(margin)
        wrong_side = xp.where(target * margin > 0, shared, xp.ones_like(shared))
        return -target * wrong_side / (1.0 + shared)

    def curvature(self, margin: Array, target: Array, shared: Array) -> Array:
        return shared / ((1.0 + shared) * (1.0 + shared))

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return not bool(array_namespace(change).all(target * change >= -slack))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(array_namespace(change).any(target * change > slack))


class Squared(Loss):
    """½(m - t)²; shared is m - t."""

    name = "squared"
    max_curvature = 1.0
    min_curvature = 1.0
    conjugate_radius = math.inf

    def check(self, target: Array) -> Array:
        return target

    def prepare(self, margin: Array, target: Array) -> Array:
        return margin - target

    def value(self, margin: Array, target: Array, shared: Array) -> Array:
        return 0.5 * shared * shared

    def slope(self, margin: Array, target: Array, shared: Array) -> Array:
        return shared

    def curvature(self, margin: Array, target: Array, shared: Array) -> Array:
        return array_namespace(shared).ones_like(shared)

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return True

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return False


class Poisson(Loss):
    """exp(m) - t·m, t >= 0; shared is exp(m). Its curvature has no bound, so there is no global L.

    ℓ + ℓ* - m·s = exp(m)·((1 + u)·log(1 + u) - u) <= ℓ''·u².
    """

    name = "poisson"
    max_curvature = math.inf

    def check(self, target: Array) -> Array:
        values = to_numpy(target)
        if (values < 0).any():
            wrong = int(np.flatnonzero(values < 0)[0])
            raise InputError(f"target[{wrong}] = {values[wrong]:g}: the Poisson loss takes counts >= 0")
        return target

    def prepare(self, margin: Array, target: Array) -> Array:
        with np.errstate(over="ignore"):
            return array_namespace(margin).exp(margin)

    def value(self, margin: Array, target: Array, shared: Array) -> Array:
        return shared - target * margin

    def slope(self, margin: Array, target: Array, shared: Array) -> Array:
        return shared - target

    def curvature(self, margin: Array, target: Array, shared: Array) -> Array:
        return shared

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        xp = array_namespace(change)
        return not bool(xp.all((change <= slack) & ((xp.abs(change) <= slack) | (target == 0))))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(array_namespace(change).any(change < -slack))


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Logistic(), Squared(), Poisson())}
