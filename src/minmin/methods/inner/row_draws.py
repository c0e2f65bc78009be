"""Random rows of a sum, with probabilities in proportion to their smoothness."""

from __future__ import annotations

from typing import Any

import numpy as np

_Vector = np.ndarray[Any, Any]


class RowDraws:
    """Draws of rows.

    A minibatch has one row from each of equal pieces of the running sum of the L_i. So its mean is that of independent
    draws, and its variance at most as large. Its rows ascend.

    Parameters
    ----------
    smoothness : array
        The L_i.

    Attributes
    ----------
    total : float
        L̄ = Σ L_i.
    count : int
        n.
    """

    def __init__(self, smoothness: _Vector):
        self._smoothness = smoothness
        self._running = np.cumsum(smoothness)
        self.total = float(self._running[-1])
        self.count = len(smoothness)
        self._last = int(np.flatnonzero(smoothness)[-1]) if self.total > 0.0 else 0

    def draw(self, generator: np.random.Generator, rows: int) -> tuple[_Vector, _Vector]:
        """Numbers of rows, and 1/(b q_i) for each. Rows with L_i = 0 are never drawn."""
        places = (np.arange(rows) + generator.random(rows)) * (self.total / rows)
        # Rounding may put the last place at the very end of the running sum.
        chosen = np.minimum(np.searchsorted(self._running, places, side="right"), self._last)
        return chosen, self.total / (rows * self._smoothness[chosen])
