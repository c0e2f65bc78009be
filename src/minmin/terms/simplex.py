"""Simplex: coordinates that are not negative and have a given sum."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace, device

from minmin.core.arrays import Array, array_eps, namespace_of
from minmin.core.term import Term
from minmin.errors import InputError, as_number
from minmin.terms.elementwise import all_true, clip, weighted_sum

_ROUNDING_ERRORS = 10.0
"""A sum of d numbers may be wrong by this many times eps·√d. Measured: docs/benchmarks/tuning.md."""


class Simplex(Term):
    """t(v) = 0 if v_i >= 0 for all i and Σ v_i = total, up to rounding, and infinite elsewhere.

    The proximal map is max(v_i - c, 0), with the c that gives the right sum, whatever the step.
    The conjugate is total·max s_i.

    Parameters
    ----------
    total : float
        The sum; positive and finite.
    """

    def __init__(self, total: Any = 1.0):
        self.total = as_number(total, "total")
        if not 0.0 < self.total < math.inf:
            raise InputError(f"total = {self.total:g} must be positive and finite")

    def value(self, v: Array) -> float:
        error = abs(weighted_sum(1.0, v) - self.total)
        allowed = _ROUNDING_ERRORS * array_eps(v) * math.sqrt(v.shape[0]) * self.total
        return 0.0 if error <= allowed and all_true(v >= 0.0) else math.inf

    def prox(self, v: Array, step: float) -> Array:
        """The projection by sorting: Held, Wolfe and Crowder, Math. Programming 6 (1974), 62-88."""
        xp = array_namespace(v)  # NumPy 2.0 itself has no cumulative_sum
        v = v - xp.max(v)  # which changes c alone; entries below -total are 0 now
        largest = xp.sort(v[v > -self.total], descending=True)
        counts = xp.arange(1, largest.shape[0] + 1, dtype=v.dtype, device=device(v))
        excess = xp.cumulative_sum(largest) - self.total
        positive = int(xp.sum(xp.astype(largest * counts > excess, xp.int64)))
        u = clip(v - float(excess[positive - 1]) / positive, 0.0, math.inf)
        return u * (self.total / weighted_sum(1.0, u))  # without the rounding errors in c

    def conjugate(self, s: Array) -> float:
        return self.total * float(namespace_of(s).max(s))

    def dual_scale(self, s: Array) -> float:
        return 1.0

    def dual_radius(self, s: Array) -> float:
        return math.inf

    def diameter(self, v: Array) -> float:
        return math.sqrt(2.0) * self.total

    def slack(self, v: Array) -> float:
        return _ROUNDING_ERRORS * array_eps(v) * self.total

    def check_size(self, size: int, name: str) -> None:
        if size == 0:
            raise InputError(f"{name}: the block has no coordinates, so their sum cannot be {self.total:g}")
