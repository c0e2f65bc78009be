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
    bound_squared_norm,
    choose_cheapest,
    convexity_frontier,
    gram,
    norm_pairs,
    smoothness_frontier,
)

_Pairs = list[tuple[float, float]]


class LinearConstants:
    """The constants of a linear model, computed when first needed.

    Copies of the model share them, also copies in another library or dtype.
    """

    def __init__(self, x_block: PenalizedDesign, y_block: PenalizedDesign, loss: Loss, weights: Array):
        self._x_block, self._y_block, self._loss, self._weights = x_block, y_block, loss, weights
        self._chosen: dict[float, Constants] = {}

    def choose(self, cost_ratio: float) -> Constants:
        """The constants with the lowest expected cost if ∇ₓ costs ``cost_ratio`` times as much as ∇ᵧ."""
        if cost_ratio not in self._chosen:
            self._chosen[cost_ratio] = self._choose(cost_ratio)
        return self._chosen[cost_ratio]

    def _choose(self, cost_ratio: float) -> Constants:
        if math.isinf(self._loss.max_curvature):
            least = self._x_block.penalty.least, self._y_block.penalty.least
            return Constants(math.inf, math.inf, *least, "proved")
        L_x, L_y, mu_x, mu_y = choose_cheapest(*self._valid_pairs, cost_ratio)
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    @cached_property
    def _valid_pairs(self) -> tuple[_Pairs, _Pairs]:
        """Valid (L_x, L_y) and (mu_x, mu_y).

        inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y]. If a sample has
        several margins, there is one such G for each.
        """
        X, Y = self._x_block.design.to_float64(), self._y_block.design.to_float64()
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
            smoothness = norm_pairs(most * bound_squared_norm(X, weights), most * bound_squared_norm(Y, weights))
        in_x, in_y = self._x_block.penalty, self._y_block.penalty
        tiny = float(np.finfo(np.float64).tiny)  # for data that are all zero, as L must be positive
        return (
            [(max(L_x, tiny) + in_x.most, max(L_y, tiny) + in_y.most) for L_x, L_y in smoothness],
            [(mu_x + in_x.least, mu_y + in_y.least) for mu_x, mu_y in convexity],
        )
