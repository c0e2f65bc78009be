"""The constants of a linear model, proved from its data."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

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


class _ValidPairs(NamedTuple):
    """Valid (L_x, L_y), valid (mu_x, mu_y), and how many products with X and with Y they took."""

    smoothness: list[tuple[float, float]]
    convexity: list[tuple[float, float]]
    passes: tuple[int, int]


class LinearConstants:
    """The constants of a linear model, computed when first needed.

    Copies of the model share them, also copies in another library or dtype.
    """

    def __init__(self, x_block: PenalizedDesign, y_block: PenalizedDesign, loss: Loss, weights: Array):
        self._x_block, self._y_block, self._loss, self._weights = x_block, y_block, loss, weights
        self._chosen: dict[float, Constants] = {}

    @property
    def passes(self) -> tuple[int, int]:
        """How many products with X and with Y they take; a Gram matrix takes one for each of its columns."""
        return (0, 0) if math.isinf(self._loss.max_curvature) else self._valid_pairs.passes

    def choose(self, cost_ratio: float) -> Constants:
        """The constants with the lowest expected cost if ∇ₓ costs ``cost_ratio`` times as much as ∇ᵧ."""
        if math.isinf(self._loss.max_curvature):
            return Constants(math.inf, math.inf, self._x_block.penalty.least, self._y_block.penalty.least, "proved")
        if cost_ratio not in self._chosen:
            valid = self._valid_pairs
            L_x, L_y, mu_x, mu_y = choose_cheapest(valid.smoothness, valid.convexity, cost_ratio)
            self._chosen[cost_ratio] = Constants(L_x, L_y, mu_x, mu_y, "proved")
        return self._chosen[cost_ratio]

    @cached_property
    def _valid_pairs(self) -> _ValidPairs:
        """Valid (L_x, L_y) and (mu_x, mu_y), and the products that they took.

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
            passes = G.shape[0], Y.shape[1]
            smoothness = smoothness_frontier(most * G, columns)
            if least > 0.0:
                convexity = [*convexity, *convexity_frontier(least * G, columns)]
        else:
            (norm_x, passes_x), (norm_y, passes_y) = bound_squared_norm(X, weights), bound_squared_norm(Y, weights)
            passes = passes_x, passes_y
            smoothness = norm_pairs(most * norm_x, most * norm_y)
        in_x, in_y = self._x_block.penalty, self._y_block.penalty
        tiny = float(np.finfo(np.float64).tiny)  # for data that are all zero, as L must be positive
        return _ValidPairs(
            smoothness=[(max(L_x, tiny) + in_x.most, max(L_y, tiny) + in_y.most) for L_x, L_y in smoothness],
            convexity=[(mu_x + in_x.least, mu_y + in_y.least) for mu_x, mu_y in convexity],
            passes=passes,
        )
