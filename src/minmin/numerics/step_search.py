"""How far to go along a direction of a convex function, judged by slopes alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from minmin.core.vectors import Vector, dot

_MOST_TRIALS = 100
"""On a parabola a step that is 10¹⁵⁰ times too long takes 17 trials. Ordinary runs took 5 at most, and starts 10⁸ away
13. Secants alone take more where a gradient explodes: with 60 two more starts 10 away on Sums of Poisson models end in
NaN."""
_WIDE = 16.0
"""Where a step is known to within no better than this factor, its logarithm is halved and not the step. Nothing decides
on the value: with 2, 16 and 1000 reduced-newton takes 76 to 78 steps in all from nine starts 10² to 10⁶ away."""
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.95
"""The zero of a secant this near to an end of its interval is not trusted. Nothing decides on the value: reduced-newton
takes the same steps from afar and on w8a with 0.01, 0.05 and 0.2 from either end."""
_BLIND_SHARE = 0.1
"""The share to go on with where the slope at the end is no number, so that there is no secant. 0.01 to 0.5 take the
same steps from afar and on the hard cases of the tests."""
_SHRINK, _FASTEST_SHRINK = 0.25, 1e-100
"""How much a step shrinks after it was too long for the second time; this is squared after each further time, down to
the latter. Nothing decides on the former: with 0.1 to 0.9 reduced-newton takes 74 to 77 steps in all from nine starts
10² to 10⁶ away."""

P = TypeVar("P")


class Visited(Protocol):
    """A point where a gradient is known."""

    @property
    def v(self) -> Vector: ...

    @property
    def gradient(self) -> Vector: ...


V = TypeVar("V", bound=Visited)


def search_along(
    start: Visited,
    step: Vector,
    at: Callable[[Vector], V],
    learn: Callable[[V, Vector, Vector, float], None],
    *,
    overshoot: float,
    is_enough: Callable[[V], bool],
) -> V:
    """Take a step, shortening it while it overshoots; the last point visited, where every one was too far.

    On a convex function the slope at a step's end tells whether the step was too long. ``learn(point, step, change,
    product)`` hears of every point visited: the step there, the change of gradient over it and their inner product.
    """
    slope = dot(start.gradient, step)
    visited: list[V] = []

    def visit(t: float) -> tuple[V, float]:
        taken = step if t == 1.0 else t * step
        new = at(start.v + taken)
        visited[:] = [new]
        change = new.gradient - start.gradient
        learn(new, taken, change, dot(taken, change))
        return new, slope + dot(step, change)

    search_step(visit, slope, overshoot=overshoot, is_enough=is_enough)
    return visited[0]


def search_step(
    at: Callable[[float], tuple[P, float]],
    slope: float,
    *,
    overshoot: float,
    undershoot: float | None = None,
    is_enough: Callable[[P], bool] = lambda point: False,
) -> tuple[P | None, float]:
    """A point whose step t is neither too long nor too short, and t.

    Steps start from t = 1, double while they are too short, and end between the last two where one was too long: at the
    zero of the slopes' secant, or in the middle where the secant leads to an end. Steps that are too long again and
    again shrink ever faster. Where no step can be too short, the zero of the secant is always taken, since nothing
    would lengthen a step that shrank too fast. Where no such point is found, the longest step that was too short is
    taken, along which f only falls; None and zero where there was none.

    Parameters
    ----------
    at : callable
        ``at(t)`` is the point at t and the slope there.
    slope : float
        The slope at zero.
    overshoot : float
        A step is too long where f rises at its end by more than this part of how it fell at the start.
    undershoot : float, optional
        A step is too short where f falls at its end by more than this part of that; no step is where not given.
    is_enough : callable, optional
        Whether a point will do whatever the slope there is.
    """
    best: P | None = None
    low, low_slope = 0.0, slope
    t, high, shrink = 1.0, math.inf, 1.0
    for _ in range(_MOST_TRIALS):
        point, end = at(t)
        if is_enough(point):
            return point, t
        if not end <= -overshoot * slope:  # too long, or not a number
            high = t
            zero = low_slope / (low_slope - end) if math.isfinite(end) else _BLIND_SHARE  # of the secant
            share = min(max(zero, _LEAST_SHARE), _MOST_SHARE)
            if undershoot is None:
                t = zero * high
            elif low == 0.0:
                t = min(share, shrink) * high
                shrink = max(min(_SHRINK, shrink * shrink), _FASTEST_SHRINK)
            else:
                t = _between(low, high, share)
        elif undershoot is not None and end < undershoot * slope:
            best, low, low_slope = point, t, end
            t = 2.0 * t if math.isinf(high) else _between(low, high, 0.5)
        else:
            return point, t
    return best, low


def _between(low: float, high: float, share: float) -> float:
    return low + share * (high - low) if high <= _WIDE * low else math.sqrt(low) * math.sqrt(high)
