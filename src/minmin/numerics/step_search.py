"""The length of a step along a direction of a convex function, chosen from slopes alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from minmin.core.arrays import Array
from minmin.core.bound import is_same_point
from minmin.core.term import Term
from minmin.core.vectors import Vector, dot, machine_eps

_MOST_TRIALS = 100
"""The most trials in one search for a step. Measured: docs/benchmarks/tuning.md."""
_WIDE_RATIO = 16.0
"""If the bracket [low, high] of a step is wider than this ratio, the geometric mean is tried.
Measured: docs/benchmarks/tuning.md."""
_LEAST_FRACTION, _MOST_FRACTION = 0.05, 0.95
"""The zero of a secant is kept within these fractions of its interval. Measured: docs/benchmarks/tuning.md."""
_FRACTION_WITHOUT_SLOPE = 0.1
"""The fraction of a step to try next if the slope at its end is not finite, so that there is no secant.
Measured: docs/benchmarks/tuning.md."""
_SHRINK, _FASTEST_SHRINK = 0.25, 1e-100
"""The factor by which a step shrinks when it is too long for the second time. It is squared each further time, down to
``_FASTEST_SHRINK``. Measured: docs/benchmarks/tuning.md."""
_LEAST_SHORTENING = 0.1
"""The least fraction of a step to try next in :class:`StepSearch`; it is squared, cubed and so on each further time. A
slope that explodes would shorten the step to nothing. Measured: docs/benchmarks/tuning.md."""

P = TypeVar("P")


class StepSearch:
    """A step along a direction of a convex function, which is shortened while it overshoots.

    The slope at a step's end tells whether the step was too long. The next step ends where the secant of the slopes is
    zero, but is at least a tenth as long, then a hundredth, and so on: a slope that explodes says little. Slopes of a
    convex function fall as the step shortens. Where they do not, or the first is not negative, they are rounding
    errors, or f is not convex, and no further step is tried.

    A ``term`` t that is added to the function counts with its mean slope over the step. By convexity, the sum falls by
    at least as much as the slope at the end plus that mean slope say, if these are negative.

    Parameters
    ----------
    start, gradient : vectors
        Where the step begins, and the function's gradient there.
    step : vector
        The first to try.
    term : Term or None
    units : array or float
        Those in which a step is so short that it is lost in rounding.
    overshoot : float
        A step is too long if f rises at its end more than this times as steeply as it falls at the start.

    Attributes
    ----------
    start, gradient : vectors
    slope : float
        At the start of the step, plus the mean slope of the term over the first step.
    v : vector
        Where to compute the gradient next.
    step, change : vectors
        The step to the point that was measured last, and the change of gradient over it.
    product : float
        Their inner product.
    """

    def __init__(
        self, start: Vector, gradient: Vector, step: Vector, term: Term | None, units: Array | float, overshoot: float
    ):
        self.start, self.gradient, self._direction, self._term, self._units = start, gradient, step, term, units
        self.step = step
        self.v = start + step if term is None else term.project(start + step)
        self._first_slope = self.slope = dot(gradient, step)
        if term is not None:
            self.slope += term.change(start, self.v).value
        self._most = -overshoot * self.slope
        self._t, self._least_fraction, self._last_end, self._trials = 1.0, _LEAST_SHORTENING, math.inf, 1

    def measure(self, gradient: Vector) -> bool:
        """Take the gradient at :attr:`v`; whether the step to there does not overshoot."""
        self.change = gradient - self.gradient
        self.product = dot(self.step, self.change)
        self._end = self._first_slope + (self.product if self._t == 1.0 else dot(self._direction, self.change))
        if self._term is not None:
            self._end += self._term.change(self.start, self.v).value / self._t
        return self._end <= self._most

    def shorten(self) -> bool:
        """Turn to a shorter step; False if there is none."""
        start, end, fraction = self.start, self._end, _FRACTION_WITHOUT_SLOPE
        if self._trials >= _MOST_TRIALS or is_same_point(self._units * start, self._units * self.v, machine_eps(start)):
            return False
        if 0.0 < end < math.inf:
            if end > self._last_end or self.slope >= 0.0:
                return False
            self._last_end = end
            fraction = max(self.slope / (self.slope - end), self._least_fraction)
        self._t *= fraction
        self._least_fraction *= _LEAST_SHORTENING
        self._trials += 1
        self.step = self._t * self._direction
        self.v = start + self.step if self._term is None else self._term.project(start + self.step)
        return True


def search_step(
    at: Callable[[float], tuple[P, float]], slope: float, *, overshoot: float, undershoot: float
) -> tuple[P | None, float]:
    """Find a step t that is neither too long nor too short. Returns the point at t, and t.

    The first step is t = 1. Steps double while they are too short. After one was too long, the next lies between the
    last two: at the zero of the secant of the slopes, kept away from both ends. Steps that are too long repeatedly
    shrink faster and faster.

    If no such t is found, the longest step that was too short is returned, since f falls along all of it; or None and
    zero if there was none.

    Parameters
    ----------
    at : callable
        ``at(t)`` returns the point at t and the slope there.
    slope : float
        The slope at zero.
    overshoot : float
        A step is too long if f rises at its end more than this times as steeply as it falls at zero.
    undershoot : float
        A step is too short if f still falls at its end more than this times as steeply as at zero.
    """
    best: P | None = None
    low, low_slope = 0.0, slope
    t, high, shrink = 1.0, math.inf, 1.0
    for _ in range(_MOST_TRIALS):
        point, end = at(t)
        if not end <= -overshoot * slope:  # too long, or NaN
            high = t
            zero = low_slope / (low_slope - end) if math.isfinite(end) else _FRACTION_WITHOUT_SLOPE  # of the secant
            fraction = min(max(zero, _LEAST_FRACTION), _MOST_FRACTION)
            if low == 0.0:
                t = min(fraction, shrink) * high
                shrink = max(min(_SHRINK, shrink * shrink), _FASTEST_SHRINK)
            else:
                t = _between(low, high, fraction)
        elif end < undershoot * slope:
            best, low, low_slope = point, t, end
            t = 2.0 * t if math.isinf(high) else _between(low, high, 0.5)
        else:
            return point, t
    return best, low


def _between(low: float, high: float, fraction: float) -> float:
    return low + fraction * (high - low) if high <= _WIDE_RATIO * low else math.sqrt(low) * math.sqrt(high)
