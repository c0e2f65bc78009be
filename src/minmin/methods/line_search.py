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
_WIDE = 16.0
"""Where a step is known to within no better than this factor, its logarithm is halved and not the step."""

P = TypeVar("P")


def search(at: Callable[[float], tuple[P, float]], slope: float) -> tuple[P | None, float]:
    """A point whose step t is neither too long nor too short, and t.

    ``at(t)`` gives the point at t and the slope there; ``slope`` is the one at zero. Steps start from t = 1, double
    while they are too short, and end between the last two where one was too long: at the zero of the slopes' secant, or
    in the middle where the secant leads to an end. Steps that are too long again and again shrink ever faster, since a
    direction of nearly no curvature may be 1e150 times too long. Where no such point is found, the longest step that
    was too short is taken, along which f only falls; None and zero where there was none.
    """
    best: P | None = None
    low, low_slope = 0.0, slope
    t, high, shrink = 1.0, math.inf, 1.0
    for _ in range(_MOST_TRIALS):
        point, end = at(t)
        if not end <= -_OVERSHOT * slope:  # too long, or not a number
            high = t
            share = low_slope / (low_slope - end) if math.isfinite(end) else 0.1
            share = min(max(share, 0.05), 0.95)
            if low == 0.0:
                t = min(share, shrink) * high
                shrink = max(min(0.25, shrink * shrink), 1e-100)
            else:
                t = _between(low, high, share)
        elif end < _STILL_STEEP * slope:
            best, low, low_slope = point, t, end
            t = 2.0 * t if math.isinf(high) else _between(low, high, 0.5)
        else:
            return point, t
    return best, low


def _between(low: float, high: float, share: float) -> float:
    return low + share * (high - low) if high <= _WIDE * low else math.sqrt(low) * math.sqrt(high)
