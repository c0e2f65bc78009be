"""L1: the sum of absolute values, which makes coordinates exactly zero."""

from __future__ import annotations

import math
from typing import Any

from minmin.core.arrays import Array
from minmin.core.term import Change, Piece, Term
from minmin.terms.elementwise import all_true, as_step, largest_scale, lower_scale, soft_threshold, weighted_sum
from minmin.terms.parameters import make_weight
from minmin.terms.pieces import make_orthant


class L1(Term):
    """t(v) = Σ w_i |v_i|, the penalty of the lasso.

    The proximal map moves every v_i towards 0 by step·w_i, and not beyond.
    The conjugate is 0 where |s_i| <= w_i for all i, and infinite elsewhere.

    Parameters
    ----------
    weight : float or array
        w: one number for all coordinates, or one per coordinate; finite and not negative.
    """

    takes_steps = has_pieces = True

    def __init__(self, weight: Any):
        self._weight = make_weight(weight, "weight")
        self.weight = self._weight.value

    def value(self, v: Array) -> float:
        return weighted_sum(self._weight.like(v), abs(v))

    def change(self, old: Array, new: Array) -> Change:
        weight = self._weight.like(old)
        return Change(weighted_sum(weight, abs(new) - abs(old)), weighted_sum(weight, abs(new - old)))

    def prox(self, v: Array, step: Any) -> Array:
        return soft_threshold(v, as_step(step) * self._weight.like(v))

    def piece(self, v: Array, gradient: Array) -> Piece:
        return make_orthant(v, gradient, self._weight.like(v))

    def conjugate(self, s: Array) -> float:
        return 0.0 if all_true(abs(s) <= self._weight.like(s)) else math.inf

    def dual_scale(self, s: Array) -> float:
        return lower_scale(self, s, largest_scale(abs(s), self._weight.like(s)))

    def dual_radius(self, s: Array) -> float:
        return self._weight.least

    def project(self, v: Array) -> Array:
        return v

    def check_size(self, size: int, name: str) -> None:
        self._weight.check_size(size, "weight", name)
