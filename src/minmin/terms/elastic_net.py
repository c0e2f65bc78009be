"""ElasticNet: absolute values plus squares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, namespace_of
from minmin.core.term import Change, Piece, Term
from minmin.core.vectors import dot
from minmin.terms.elementwise import all_true, as_step, clip, largest_scale, lower_scale, soft_threshold, weighted_sum
from minmin.terms.parameters import make_weight
from minmin.terms.pieces import make_orthant


class ElasticNet(Term):
    """t(v) = Σ l1_i |v_i| + ½ Σ l2_i v_i².

    The proximal map moves every v_i towards 0 by step·l1_i, not beyond, and divides it by 1 + step·l2_i.
    The conjugate is Σ max(|s_i| - l1_i, 0)²/(2 l2_i); where l2_i = 0, it is infinite for |s_i| > l1_i.

    Parameters
    ----------
    l1, l2 : float or array
        One number for all coordinates, or one per coordinate; finite and not negative.
    """

    takes_steps = has_pieces = True

    def __init__(self, l1: Any, l2: Any):
        self._l1, self._l2 = make_weight(l1, "l1"), make_weight(l2, "l2")
        self.l1, self.l2 = self._l1.value, self._l2.value
        self.convexity = self._l2.least

    def value(self, v: Array) -> float:
        l2 = self._l2.like(v)
        squares = l2 * dot(v, v) if isinstance(l2, float) else dot(l2 * v, v)
        return weighted_sum(self._l1.like(v), abs(v)) + 0.5 * squares

    def change(self, old: Array, new: Array) -> Change:
        l1, l2, moved = self._l1.like(old), self._l2.like(old), new - old
        weighted = 0.5 * l2 * (new + old)
        value = weighted_sum(l1, abs(new) - abs(old)) + dot(weighted, moved)
        return Change(value, weighted_sum(l1, abs(moved)) + dot(abs(weighted), abs(moved)))

    def prox(self, v: Array, step: Any) -> Array:
        step = as_step(step)
        u = soft_threshold(v, step * self._l1.like(v))
        u /= 1.0 + step * self._l2.like(v)
        return u

    def piece(self, v: Array, gradient: Array) -> Piece:
        return make_orthant(v, gradient, self._l1.like(v), self._l2.like(v))

    def conjugate(self, s: Array) -> float:
        l1, l2 = self._l1.like(s), self._l2.like(s)
        excess = clip(abs(s) - l1, 0.0, math.inf)
        if not isinstance(l2, float):
            flat = l2 == 0.0
            if not all_true((excess == 0.0) | ~flat):
                return math.inf
            return 0.5 * dot(excess / namespace_of(s).where(flat, 1.0, l2), excess)
        if l2 > 0.0:
            return 0.5 * dot(excess, excess) / l2
        return 0.0 if all_true(excess == 0.0) else math.inf

    def dual_scale(self, s: Array) -> float:
        l2, bounded = self._l2.like(s), abs(s)
        if not isinstance(l2, float):
            bounded = namespace_of(s).where(l2 == 0.0, bounded, 0.0)
        elif l2 > 0.0:
            return 1.0
        return lower_scale(self, s, largest_scale(bounded, self._l1.like(s)))

    def dual_radius(self, s: Array) -> float:
        if self.convexity > 0.0:
            return math.inf
        return self._l1.least if not np.any(self.l2) else 0.0

    def project(self, v: Array) -> Array:
        return v

    def check_size(self, size: int, name: str) -> None:
        self._l1.check_size(size, "l1", name)
        self._l2.check_size(size, "l2", name)
