"""Checks that f is convex, at no extra cost, between the points that a run visits anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from minmin.core.rounding import VALUE_PRECISION, is_clearly_negative
from minmin.core.vectors import Vector, dot
from minmin.methods.inner.partial_minimum import YMemory


class Visit(NamedTuple):
    """A point x that a run has visited, with ∇ₓf and f there; f is NaN if it is not known."""

    x: Vector
    gradient: Vector
    value: float


def find_negative_curvature(
    old: Visit,
    new: Visit,
    in_x: float,
    y: Sequence[YMemory],
    weights: Sequence[float],
    largest: tuple[float, float],
    value_size: float,
    eps: float,
) -> float:
    """The curvature of f between two visits in a row if it is clearly negative, else zero.

    Between two points of a convex f at distance d, <∇f(old), d> <= f(new) - f(old) <= <∇f(new), d>. ``in_x`` is the
    distance in x; the parts of y know their share of it and of the products. ``largest`` are the largest |∇ₓf| and
    |∇ᵧf| of the run, or of the terms in them, and ``value_size`` that of f.
    """
    square_in_y = before_in_y = after_in_y = 0.0
    for weight, part in zip(weights, y, strict=True):
        square_in_y += weight * (part.distance * part.distance)
        before_in_y += weight * part.slope_before
        after_in_y += weight * part.slope_after
    in_y = math.sqrt(square_in_y)
    square_distance = in_x * in_x + in_y * in_y
    if not 0.0 < square_distance < math.inf:
        return 0.0
    step = new.x - old.x
    before, after = dot(old.gradient, step) + before_in_y, dot(new.gradient, step) + after_in_y
    size = largest[0] * in_x + largest[1] * in_y
    found = after - before if is_clearly_negative(after - before, size, eps) else 0.0
    change = new.value - old.value
    rounding = VALUE_PRECISION * (abs(new.value) + abs(old.value)) + math.sqrt(eps) * value_size
    half = min(change - before, after - change)
    if is_clearly_negative(half + rounding, size, eps):
        found = min(found, 2.0 * half)
    return found / square_distance
