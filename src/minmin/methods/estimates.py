"""What a run does without a proof: when it is stuck, and about how far f is above its minimum.

The estimate of a block is |∇f|²/2m, with the least curvature m that the run has seen in place of mu: see
:func:`minmin.core.bound.half_square_over`. It says nothing before the gradient has clearly fallen, and the bound is a
multiple of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.bound import UNKNOWN, Bound
from minmin.core.vectors import square

MOST_STUCK = 3
"""A run is exhausted after this many steps, solves or points in a row without progress, if it says nothing else.
Measured: docs/benchmarks/tuning.md."""
SAFETY_FACTOR = 4.0
"""Estimates are multiplied by this, if nothing tells how good they are. Measured: docs/benchmarks/tuning.md."""
_CLEAR_FALL = 0.02
"""A gradient has clearly fallen if it is at most this fraction of the largest one.
Measured: docs/benchmarks/tuning.md."""
_LEAST_FACTOR, _FACTOR_OF_SLOWNESS = 1.5, 30.0
"""The bound is the estimate times 1.5·(1 + 30r²), where r is the ratio of the last two estimates: the more slowly they
fall, the less is known of the curvature where the rest of the gradient points. Measured: docs/benchmarks/tuning.md."""


def count_stuck(before: int, is_stuck: bool) -> int:
    """How often in a row a run has made no progress."""
    return before + 1 if is_stuck else 0


def is_exhausted(stuck: int, most: int = MOST_STUCK) -> bool:
    """Whether a run has made no progress so often in a row that rounding errors must be the cause."""
    return stuck >= most


def has_clearly_fallen(size: float, largest: float) -> bool:
    """Whether a gradient is much smaller than before. Until then a run has seen the steepest directions alone."""
    return size <= _CLEAR_FALL * largest


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
