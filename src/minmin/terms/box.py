"""Box and NonNegative: every coordinate between bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, namespace_of
from minmin.core.term import Piece, Term
from minmin.errors import InputError
from minmin.terms.elementwise import all_true, clip, weighted_sum
from minmin.terms.parameters import Parameter, make_parameter
from minmin.terms.pieces import Interval


class Box(Term):
    """t(v) = 0 if lower_i <= v_i <= upper_i for all i, and infinite elsewhere.

    The proximal map moves every v_i to the nearest number between its bounds, whatever the step.
    The conjugate is Σ max(lower_i s_i, upper_i s_i); it is infinite if a coordinate is free on the side of s_i.

    Parameters
    ----------
    lower, upper : float or array or None
        One number for all coordinates, or one per coordinate. None and infinite bounds leave that side free. Bounds
        are rounded to the precision of v.
    """

    takes_steps = has_pieces = True

    def __init__(self, lower: Any, upper: Any):
        self._lower = _make_bound(lower, "lower", -math.inf)
        self._upper = _make_bound(upper, "upper", math.inf)
        self.lower, self.upper = self._lower.value, self._upper.value
        _check_order(self._lower, self._upper)

    def value(self, v: Array) -> float:
        inside = all_true(v >= self._lower.like(v)) and all_true(v <= self._upper.like(v))
        return 0.0 if inside else math.inf

    def prox(self, v: Array, step: float) -> Array:
        return clip(v, self._lower.like(v), self._upper.like(v))

    def piece(self, v: Array, gradient: Array) -> Piece:
        xp, zero, lower, upper = namespace_of(v), 0.0 * v, self._lower.like(v), self._upper.like(v)
        stays = ((v <= lower) & (gradient >= 0.0)) | ((v >= upper) & (gradient <= 0.0))
        return Interval(xp.where(stays, v, lower + zero), xp.where(stays, v, upper + zero), zero, zero)

    def conjugate(self, s: Array) -> float:
        above, below = clip(s, 0.0, math.inf), clip(s, -math.inf, 0.0)
        return _weigh(above, self._upper.like(s)) + _weigh(below, self._lower.like(s))

    def dual_scale(self, s: Array) -> float:
        return 1.0 if math.isfinite(self.conjugate(s)) else 0.0

    def dual_radius(self, s: Array) -> float:
        return math.inf if math.isfinite(self.diameter(s)) else 0.0

    def diameter(self, v: Array) -> float:
        sides = np.broadcast_to(np.asarray(self.upper) - np.asarray(self.lower), v.shape)
        return float(np.linalg.norm(sides))

    def check_size(self, size: int, name: str) -> None:
        self._lower.check_size(size, "lower", name)
        self._upper.check_size(size, "upper", name)


class NonNegative(Box):
    """t(v) = 0 if v_i >= 0 for all i, and infinite elsewhere.

    The proximal map sets negative v_i to 0, whatever the step.
    The conjugate is 0 where s_i <= 0 for all i, and infinite elsewhere.
    """

    def __init__(self) -> None:
        super().__init__(0.0, math.inf)


def _make_bound(value: Any, name: str, free: float) -> Parameter:
    """A user's bounds; ``free`` stands for None."""
    if isinstance(value, list | tuple):
        value = [free if number is None else number for number in value]
    bound = make_parameter(free if value is None else value, name)
    bound.require(np.asarray(bound.value) != -free, name, "allows no number; None leaves that side free")
    return bound


def _check_order(lower: Parameter, upper: Parameter) -> None:
    if lower.size is not None and upper.size is not None and lower.size != upper.size:
        raise InputError(f"lower has {lower.size} numbers and upper has {upper.size}; give both one per coordinate")
    low, high = np.broadcast_arrays(np.atleast_1d(lower.value), np.atleast_1d(upper.value))
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        i = wrong[0]
        raise InputError(
            f"{lower.locate('lower', i)} = {low[i]:g} is above {upper.locate('upper', i)} = {high[i]:g}; "
            "no number lies between them"
        )


def _weigh(s: Array, bound: float | Array) -> float:
    """Σ bound_i s_i, where an infinite bound counts as 0 for s_i = 0; such a sum is never -∞ here."""
    if isinstance(bound, float):
        if math.isfinite(bound):
            return weighted_sum(bound, s)
        return 0.0 if all_true(s == 0.0) else math.inf
    xp = namespace_of(s)
    finite = xp.isfinite(bound)
    return weighted_sum(xp.where(finite, bound, 0.0), s) if all_true((s == 0.0) | finite) else math.inf
