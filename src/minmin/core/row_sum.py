"""RowSum: a slice that is a sum over rows, of which a solver may draw a few at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from minmin.core.arrays import Array


class RowSum(ABC):
    """y ↦ f(x, y) = Σ_i φ_i(y) + r(y) for a fixed x, with convex φ_i, and an r whose gradient is cheap.

    A base class for slices, beside :class:`minmin.extend.Slice`.
    """

    __slots__ = ()

    @abstractmethod
    def find_row_smoothness(self) -> np.ndarray[Any, Any]:
        """The L of every φ_i, in float64."""

    @abstractmethod
    def estimate_change(self, known: Any, y: Array, rows: np.ndarray[Any, Any], factors: np.ndarray[Any, Any]) -> Array:
        """Σ_j factors_j (∇φ_i(y) - ∇φ_i(ŷ)) + ∇r(y) - ∇r(ŷ), with i = rows_j.

        ``known`` is the evaluation at ŷ, where ∇ᵧf is known; so only the rows at y are computed and counted. The
        numbers of the rows ascend, and some may be repeated.
        """
