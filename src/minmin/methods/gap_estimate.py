"""An estimate of f - f* from the curvature that a run has seen, where no constants prove a bound."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.bound import UNKNOWN, Bound
from minmin.core.vectors import square
from minmin.numerics.lbfgs import Pairs, least_curvature

_LEAST_FACTOR, _FACTOR_OF_SLOWNESS = 1.5, 30.0
"""The bound is the estimate times 1.5·(1 + 30r²), where r is the ratio of the last two estimates: the more slowly they
fall, the less is known of the curvature where the rest of the gradient points. On 89 random functions with three
tolerances, runs take 9739 calls of ∇ₓ in total with 1 instead of 1.5, 9788 with 1.5, and 10170 with 4; and 9685 with 10
instead of 30, and 10096 with 100. One of 265 stops was too early with each of them, so both are margins for harder
functions."""
_MOST_BELOW_SECANTS = 100.0
"""The curvature is at least the least one between two points, divided by this: the one by the pairs may be anything.
The same runs take 9281 calls of ∇ₓ with 10, 9788 with 100, and 10971 with 10⁴, with one stop too early each."""


class GapEstimate(NamedTuple):
    """The estimates of f - f* at the two newest points."""

    newest: float = math.inf
    before: float = math.inf

    def add(self, gap: float) -> GapEstimate:
        return GapEstimate(gap, self.newest)

    def to_bound(self, exhausted: bool) -> Bound:
        """A bound from both estimates; unknown if they rise, since they may go on rising.

        If the newest is zero, or no further progress is possible, it alone counts.
        """
        if self.newest == 0.0 or exhausted:
            return Bound(_LEAST_FACTOR * self.newest)
        if not self.newest <= self.before < math.inf:
            return UNKNOWN
        slowness = square(self.newest / self.before)
        return Bound(_LEAST_FACTOR * (1.0 + _FACTOR_OF_SLOWNESS * slowness) * self.before)


def least_curvature_in_x(of_secants: float, pairs: Pairs) -> float:
    """The least curvature that the pairs show, also between their steps."""
    return min(max(least_curvature(pairs), of_secants / _MOST_BELOW_SECANTS), of_secants)
