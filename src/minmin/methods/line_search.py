"""How far to go along a direction of a convex function, judged by slopes alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

_OVERSHOT = 0.3
"""A step is too long where f rises at its end by more than this part of how it fell at the start."""
_STILL_STEEP = 0.3
"""A step is too short where f falls at its end by more than this part of that."""
_MOST_TRIALS = 60

P = TypeVar("P")


def search(at: Callable[[float], tuple[P, float]], slope: float) -> tuple[P, float]:
    """A point whose step t is neither too long nor too short, and t.

    ``at(t)`` gives the point at t and the slope there; ``slope`` is the one at zero. Steps start from t = 1, double
    while they are too short, and end between the last two where one was too long: at the zero of the slopes' secant, or
    in the middle where the secant leads to an end.
    """
    low, low_slope = 0.0, slope
    t, high = 1.0, math.inf
    for _ in range(_MOST_TRIALS):
        point, end = at(t)
        if not end <= -_OVERSHOT * slope:  # too long, or not a number
            high = t
            share = low_slope / (low_slope - end) if math.isfinite(end) else 0.1
            t = low + min(max(share, 0.05), 0.95) * (high - low)
        elif end < _STILL_STEEP * slope:
            low, low_slope = t, end
            t = 2.0 * t if math.isinf(high) else 0.5 * (low + high)
        else:
            break
    return point, t
