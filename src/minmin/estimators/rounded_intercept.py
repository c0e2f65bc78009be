"""What it costs that an intercept is rounded after the run has proved its bound."""

from __future__ import annotations

import math
from dataclasses import replace

from minmin.core.vectors import square
from minmin.result import Result


def include_rounding(result: Result, shift: float, tolerance: float) -> Result:
    """The result with the bound on f - f* where the last entry of y is y + ``shift``, rounded to a float.

    Let δ be the rounding error, and g the slope of f in the intercept. Then f rises by at most gδ + ½δ², since no loss
    of a shifted target has a curvature above 1, and the weights sum to 1. For the same reason g² <= 2(f - f*). So a
    bound B becomes (√B + |δ|/√2)². A run that has converged has stalled if that is above ``tolerance``.
    """
    rounding = abs(_find_rounding(float(result.y[-1]), float(shift)))
    if rounding == 0.0:
        return result
    bound = result.bound._replace(value=square(math.sqrt(result.gap_bound) + rounding / math.sqrt(2.0)))
    shown, message = f"{bound.value:.3g}", result.message
    if result.success and bound.value > tolerance:
        result = replace(result, status="stalled")
        message = f"rounding of the intercept hides progress below a bound of {shown}; subtract a constant from y"
    elif shown != f"{result.gap_bound:.3g}":
        message = f"f - f* <= {shown} at the rounded intercept; before it was rounded, {message}"
    return replace(result, bound=bound, message=message)


def _find_rounding(a: float, b: float) -> float:
    """a + b minus its rounded value, exactly (Knuth)."""
    rounded = a + b
    of_b = rounded - a
    return (a - (rounded - of_b)) + (b - of_b)
