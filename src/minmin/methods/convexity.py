"""Checks that f is convex, at no extra cost, between the points that a run visits anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from minmin.core.rounding import VALUE_PRECISION, is_clearly_negative
from minmin.core.vectors import Vector, dot, norm, square
from minmin.methods.inner.partial_minimum import YMemory


class Visit(NamedTuple):
    """A point x that a run has visited, with ∇ₓf and f there; f is NaN if it is not known."""

    x: Vector
    gradient: Vector
    value: float


def find_negative_curvature(
    old: Visit,
    new: Visit,
    y: Sequence[YMemory],
    weights: Sequence[float],
    largest: tuple[float, float],
    value_size: float,
    eps: float,
) -> float:
    """The curvature of f between two visits in a row if it is clearly negative, else zero.

    Between two points of a convex f at distance d, <∇f(old), d> <= f(new) - f(old) <= <∇f(new), d>. The parts of y know
    their share of the products. ``largest`` are the largest |∇ₓf| and |∇ᵧf| of the run, or of the terms in them, and
    ``value_size`` that of f.
    """
    step = new.x - old.x
    in_x, in_y = norm(step), math.sqrt(sum(w * square(part.distance) for w, part in zip(weights, y, strict=True)))
    square_distance = square(in_x) + square(in_y)
    if not 0.0 < square_distance < math.inf:
        return 0.0
    before = dot(old.gradient, step) + sum(w * part.slope_before for w, part in zip(weights, y, strict=True))
    after = dot(new.gradient, step) + sum(w * part.slope_after for w, part in zip(weights, y, strict=True))
    size = largest[0] * in_x + largest[1] * in_y
    found = after - before if is_clearly_negative(after - before, size, eps) else 0.0
    change = new.value - old.value
    rounding = VALUE_PRECISION * (abs(new.value) + abs(old.value)) + math.sqrt(eps) * value_size
    for half in (change - before, after - change):
        if is_clearly_negative(half + rounding, size, eps):
            found = min(found, 2.0 * half)
    return found / square_distance
