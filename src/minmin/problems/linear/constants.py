"""The constants of a linear model, proved from its data."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from minmin.core.arrays import Array, to_numpy
from minmin.core.constants import Constants
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.penalized_design import PenalizedDesign
from minmin.problems.spectrum import (
    EXACT_UP_TO,
    cheapest,
    convexity_frontier,
    gram,
    norm_pairs,
    smoothness_frontier,
    squared_norm,
)

_Pairs = list[tuple[float, float]]


class LinearConstants:
    """Computed when first asked for; copies of the model, also those in other libraries and dtypes, share them."""

    def __init__(self, x_part: PenalizedDesign, y_part: PenalizedDesign, loss: Loss, weights: Array):
        self._x_part, self._y_part, self._loss, self._weights = x_part, y_part, loss, weights
        self._chosen: dict[float, Constants] = {}

    def choose(self, cost_ratio: float) -> Constants:
        """Those that promise the lowest cost where ∇ₓ costs ``cost_ratio`` times what ∇ᵧ costs."""
        if cost_ratio not in self._chosen:
            self._chosen[cost_ratio] = self._choose(cost_ratio)
        return self._chosen[cost_ratio]

    def _choose(self, cost_ratio: float) -> Constants:
        if math.isinf(self._loss.max_curvature):
            least = self._x_part.penalty.least, self._y_part.penalty.least
            return Constants(math.inf, math.inf, *least, "proved")
        L_x, L_y, mu_x, mu_y = cheapest(*self._valid_pairs, cost_ratio)
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    @cached_property
    def _valid_pairs(self) -> tuple[_Pairs, _Pairs]:
        """Valid (L_x, L_y) and (mu_x, mu_y).

        inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y], or one such G for
        each of a sample's margins.
        """
        X, Y = self._x_part.design.to_float64(), self._y_part.design.to_float64()
        weights = to_numpy(self._weights).astype(np.float64)
        most, least = self._loss.max_curvature, self._loss.min_curvature
        columns = X.shape[1]
        convexity = [(0.0, 0.0)]
        if columns + Y.shape[1] <= EXACT_UP_TO:
            cross = gram(X, weights, Y)
            G = np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]])
            smoothness = smoothness_frontier(most * G, columns)
            if least > 0.0:
                convexity = [*convexity, *convexity_frontier(least * G, columns)]
        else:
            smoothness = norm_pairs(most * squared_norm(X, weights), most * squared_norm(Y, weights))
        in_x, in_y = self._x_part.penalty, self._y_part.penalty
        tiny = float(np.finfo(np.float64).tiny)  # data that are zero have no L > 0 of their own
        return (
            [(max(L_x, tiny) + in_x.most, max(L_y, tiny) + in_y.most) for L_x, L_y in smoothness],
            [(mu_x + in_x.least, mu_y + in_y.least) for mu_x, mu_y in convexity],
        )
