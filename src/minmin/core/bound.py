"""Bound: how far above its minimum f can be, and what that rests on."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Basis = Literal["data", "constants", "estimate"]


class Bound(NamedTuple):
    """f(x, y) - f* is at most ``value``.

    Attributes
    ----------
    value : float
        Infinite where nothing is known.
    floor : float
        What ``value`` would be if both gradients were as small as their rounding errors.
    basis : {"data", "constants", "estimate"}
        What it rests on: the problem's data alone prove it; the problem's constants do, if they hold; or it is
        estimated from what a run has seen.
    """

    value: float
    floor: float = 0.0
    basis: Basis = "estimate"

    @property
    def is_proved(self) -> bool:
        """Whether there is a bound that rests on data or constants."""
        return self.basis != "estimate" and math.isfinite(self.value)

    def lower(self, decrease: float) -> Bound:
        """The bound at a point where f is lower by this much."""
        return self._replace(value=self.value - decrease)


UNKNOWN = Bound(math.inf)
