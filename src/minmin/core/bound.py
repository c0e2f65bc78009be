"""Bound: how far f is above its minimum, and whether that is proved or estimated."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from minmin.core.vectors import LEAST

Basis = Literal["data", "constants", "estimate"]


class Bound(NamedTuple):
    """f(x, y) - f* is at most ``value`` if that is proved; otherwise ``value`` is an estimate of it.

    Attributes
    ----------
    value : float
        Infinite if nothing is known.
    floor : float
        What ``value`` would be if both gradients were as small as their rounding errors.
    basis : {"data", "constants", "estimate"}
        What the bound is based on. "data": the problem's data prove it. "constants": it is proved if the problem's
        constants hold. "estimate": it is estimated from what the run has seen, if f is convex, and not proved.
    """

    value: float
    floor: float = 0.0
    basis: Basis = "estimate"

    @property
    def is_proved(self) -> bool:
        """Whether the bound is finite and based on data or constants."""
        return self.basis != "estimate" and math.isfinite(self.value)

    def describe(self) -> str:
        """How far f is above the minimum, in words."""
        if math.isinf(self.value):
            return "how far above the minimum is not known"
        if self.is_proved:
            return f"at most {self.value:.3g} above the minimum (certified)"
        return f"about {self.value:.3g} above the minimum, if f is convex (estimated)"

    def lower(self, decrease: float) -> Bound:
        """The bound at a point where f is lower by this much."""
        return Bound(self.value - decrease, self.floor, self.basis)


UNKNOWN = Bound(math.inf)


def half_square_over(norm: float, curvature: float) -> float:
    """norm²/2m for the curvature m; zero if the norm is, and infinite if no curvature is known."""
    if norm == 0.0:
        return 0.0
    return max(norm * norm, LEAST) / (2.0 * curvature) if 0.0 < curvature < math.inf else math.inf
