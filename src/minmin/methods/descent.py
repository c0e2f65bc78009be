"""A step along a direction of a convex function, judged by gradients alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from minmin.space import Vector, dot

_OVERSHOT = 0.9
"""A step is shortened when f rises at its end by more than this part of how it fell at its start."""


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
) -> P:
    """Take a step, shortening it while it clearly overshoots.

    On a convex function the slope at a step's end tells whether the step was too long; a shorter one then ends
    where the secant of the slopes is zero. ``learn(point, step, change, product)`` hears of every point visited: the
    step there, the change of gradient over it and their inner product.
    """
    slope = dot(start.gradient, step)
    while True:
        new = at(start.v + step)
        change = new.gradient - start.gradient
        product = dot(step, change)
        learn(new, step, change, product)
        end_slope = slope + product
        if end_slope <= -_OVERSHOT * slope or good_enough(new):
            return new
        # Where even the slope overflows, the step was too long by more than can be told.
        shorter = slope / (slope - end_slope) if math.isfinite(end_slope) else 0.1
        step, slope = shorter * step, shorter * slope
