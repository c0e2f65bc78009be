"""A step along a direction of a convex function, judged by gradients alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from minmin.space import Vector, dot

_MOST_SHORTENINGS = 100
"""After so many a step is taken as it is; whoever took it sees that it led nowhere, or to NaN."""


class Visited(Protocol):
    """A point where a gradient is known."""

    @property
    def v(self) -> Vector: ...

    @property
    def gradient(self) -> Vector: ...


P = TypeVar("P", bound=Visited)


def advance(
    start: Visited,
    step: Vector,
    at: Callable[[Vector], P],
    learn: Callable[[P, Vector, Vector, float], None],
    good_enough: Callable[[P], bool],
    overshot: float,
) -> P:
    """Take a step, shortening it while it overshoots.

    On a convex function the slope at a step's end tells whether the step was too long: when f rises there by more
    than the part ``overshot`` of how it fell at the start. A shorter one then ends where the secant of the slopes
    is zero. ``learn(point, step, change, product)`` hears of every point visited: the step there, the change of
    gradient over it and their inner product.
    """
    slope = dot(start.gradient, step)
    for _ in range(_MOST_SHORTENINGS):
        new = at(start.v + step)
        change = new.gradient - start.gradient
        product = dot(step, change)
        learn(new, step, change, product)
        end_slope = slope + product
        if end_slope <= -overshot * slope or good_enough(new):
            return new
        # Where even the slope overflows, the step was too long by more than can be told.
        shorter = slope / (slope - end_slope) if math.isfinite(end_slope) else 0.1
        step, slope = shorter * step, shorter * slope
    return new
