"""F(x) = min_y f(x, y) + q(y), with y found as accurately as rounding allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from term_benchmark.inner import minimise_in_y
from term_benchmark.instances import Instance

Array = np.ndarray[Any, Any]


class ReducedFunction:
    """F and ∇F(x) = ∇ₓf(x, y(x))."""

    def __init__(self, instance: Instance):
        self.f, self.term_y = instance.f, instance.term_y
        self.start = instance.start[: self.f.d_x]
        self.largest_curvature = self.f.largest_reduced_curvature(self.term_y is None)
        self._z = instance.start.copy()
        self._solved = False

    def value(self, x: Array) -> float:
        z = self._solve(x)
        return self.f.value(z) + (0.0 if self.term_y is None else self.term_y.value(z[self.f.d_x :]))

    def gradient(self, x: Array) -> Array:
        return self.f.gradient(self._solve(x))[: self.f.d_x]

    def _solve(self, x: Array) -> Array:
        d_x = self.f.d_x
        if not self._solved or not np.array_equal(x, self._z[:d_x]):
            self._z = np.concatenate([x, minimise_in_y(self.f, self.term_y, x, self._z[d_x:])])
            self._solved = True
        return self._z
