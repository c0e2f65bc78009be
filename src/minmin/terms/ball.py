"""L2Ball: points near a centre."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, in_double, to_like
from minmin.core.term import Term
from minmin.core.vectors import norm
from minmin.errors import InputError, as_number
from minmin.terms.elementwise import find_shift, weighted_sum
from minmin.terms.parameters import make_parameter

_ROUNDING_ERRORS = 4.0
"""A distance from the centre may be wrong by this many times eps·√d times |center| + radius.
Measured: docs/benchmarks/tuning.md."""


class L2Ball(Term):
    """t(v) = 0 if |v - center| <= radius, up to rounding, and infinite elsewhere.

    The proximal map moves v straight towards the centre until it is in the ball, whatever the step. With a step per
    coordinate, those with longer steps move farther.
    The conjugate is radius·|s| + <center, s>.

    Parameters
    ----------
    radius : float
        Finite and not negative; with 0, the centre is the only point.
    center : float or array
        One number for all coordinates, or one per coordinate.
    """

    takes_steps = True

    def __init__(self, radius: Any, center: Any = 0.0):
        self.radius = as_number(radius, "radius")
        if not 0.0 <= self.radius < math.inf:
            raise InputError(f"radius = {self.radius:g} must be finite and not negative")
        self._center = make_parameter(center, "center")
        self.center = self._center.value
        self._center.require(np.isfinite(self.center), "center", "must be finite")
        self._center_norm = 0.0 if isinstance(self.center, float) else norm(self.center)

    def value(self, v: Array) -> float:
        return 0.0 if self._is_inside(v, norm(self._from_center(v))) else math.inf

    def prox(self, v: Array, step: float) -> Array:
        offset = self._from_center(v)
        distance = norm(offset)
        if self._is_inside(v, distance):
            return v
        if getattr(step, "shape", ()) and self.radius > 0.0:
            d = 1.0 / in_double(step)
            a = in_double(offset) * d
            shift = find_shift(a, d, self.radius, np.zeros(len(a), dtype=int))
            return self._center.like(v) + to_like(a / (shift + d), v)
        return self._center.like(v) + offset * (self.radius / distance)

    def _from_center(self, v: Array) -> Array:
        center = self._center.like(v)
        return v if isinstance(center, float) and center == 0.0 else v - center

    def _is_inside(self, v: Array, distance: float) -> bool:
        return distance <= self.radius + self.slack(v)

    def conjugate(self, s: Array) -> float:
        return self.radius * norm(s) + weighted_sum(self._center.like(s), s)

    def dual_scale(self, s: Array) -> float:
        return 1.0

    def dual_radius(self, s: Array) -> float:
        return math.inf

    def diameter(self, v: Array) -> float:
        return 2.0 * self.radius

    def slack(self, v: Array) -> float:
        root = math.sqrt(v.shape[0])
        center = abs(self.center) * root if isinstance(self.center, float) else self._center_norm
        return _ROUNDING_ERRORS * array_eps(v) * root * (self.radius + center)

    def check_size(self, size: int, name: str) -> None:
        self._center.check_size(size, "center", name)
