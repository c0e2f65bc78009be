"""f as a function of all variables together."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.terms import Term
from term_benchmark.instances import Instance

Array = np.ndarray[Any, Any]


class JointFunction:
    """f of z = (x, y)."""

    def __init__(self, instance: Instance):
        self.start, self.largest_curvature = instance.start, instance.f.largest_curvature
        self.value, self.gradient = instance.f.value, instance.f.gradient


class JointTerm(Term):
    """p(x) + q(y), as a term of z."""

    def __init__(self, instance: Instance):
        self.terms = (instance.term_x, instance.term_y)
        self._d_x = instance.f.d_x

    def value(self, v: Array) -> float:
        return sum(t.value(part) for t, part in zip(self.terms, self._split(v), strict=True) if t is not None)

    def prox(self, v: Array, step: float) -> Array:
        pairs = zip(self.terms, self._split(v), strict=True)
        return np.concatenate([part if t is None else t.prox(part, step) for t, part in pairs])

    def project(self, v: Array) -> Array:
        pairs = zip(self.terms, self._split(v), strict=True)
        return np.concatenate([part if t is None else t.project(part) for t, part in pairs])

    def _split(self, v: Array) -> tuple[Array, Array]:
        return v[: self._d_x], v[self._d_x :]
