"""The inner products in which methods of the lab treat both blocks as one vector.

The block rescaling is that of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from minmin.core.bound import Constants


class Metric(NamedTuple):
    """The constants in the inner product <x, x'> + w·<y, y'>.

    Attributes
    ----------
    weight_y : float
        w; the gradient in y, in this inner product, is ∇ᵧf/w.
    L_x, L_y : float
        Smoothness of the blocks: that of y is divided by w.
    mu : float
        Strong convexity of f as a whole.
    """

    weight_y: float
    L_x: float
    L_y: float
    mu: float

    @property
    def smoothness(self) -> float:
        """L of f as a whole."""
        return max(self.L_x, self.L_y)

    @property
    def root_sum(self) -> float:
        """S = √L_x + √L_y."""
        return math.sqrt(self.L_x) + math.sqrt(self.L_y)


@functools.lru_cache(maxsize=64)
def metric(constants: Constants, rescale: bool) -> Metric:
    """The plain inner product, w = 1, or that of the paper's block rescaling y' = √(μ_y/μ_x)·y, w = μ_y/μ_x."""
    weight = constants.mu_y / constants.mu_x if rescale else 1.0
    return Metric(weight, constants.L_x, constants.L_y / weight, min(constants.mu_x, constants.mu_y / weight))
