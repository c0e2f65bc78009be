"""The function that all packages minimise: the weighted mean of a loss, plus a penalty per block of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from estimator_benchmark.losses import LOSSES, Vector


@dataclass(frozen=True)
class Data:
    """The data of a set.

    Attributes
    ----------
    matrix : csr_array or C-contiguous array
        In the form in which a user has it, which fit() of minmin gets.
    target : array
        -1 and 1 for the logistic loss, 0, 1, … for softmax, numbers otherwise.
    blocks : mapping
        The columns of each block: a slice or column numbers, by the name of the block.
    weights : array, optional
    one_hot : tuple of slices
        Columns that have one 1 in each row and otherwise zeros.
    """

    matrix: Any
    target: Vector
    blocks: Mapping[str, Any]
    weights: Vector | None = None
    one_hot: tuple[slice, ...] = ()

    @property
    def nnz(self) -> int:
        return int(self.matrix.nnz if scipy.sparse.issparse(self.matrix) else np.count_nonzero(self.matrix))

    @property
    def density(self) -> float:
        return float(self.nnz / math.prod(self.matrix.shape))

    def sizes(self) -> list[int]:
        """The number of columns of each block."""
        columns = np.arange(self.matrix.shape[1])
        return [len(columns[chosen]) for chosen in self.blocks.values()]


@dataclass(frozen=True)
class Objective:
    """f(w) = Σ weight·loss / Σ weight + Σ_b alpha_b/2 |w_b|², without an intercept; every alpha is positive.

    Coefficients have the shape (d,), or (k, d) for the softmax loss of k classes.
    """

    data: Data
    loss: str
    alphas: tuple[float, ...]

    @cached_property
    def penalties(self) -> Vector:
        """The penalty of each column."""
        by_column = np.full(self.data.matrix.shape[1], np.nan)
        for columns, alpha in zip(self.data.blocks.values(), self.alphas, strict=True):
            by_column[columns] = alpha
        assert (by_column > 0.0).all(), "every column must be in a block with a positive penalty"
        return by_column

    @cached_property
    def shares(self) -> Vector:
        """The weights, divided by their sum."""
        n = len(self.data.target)
        return np.full(n, 1.0 / n) if self.data.weights is None else self.data.weights / self.data.weights.sum()

    @property
    def total_weight(self) -> float:
        return float(len(self.data.target) if self.data.weights is None else self.data.weights.sum())

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients."""
        d = self.data.matrix.shape[1]
        return (int(self.data.target.max()) + 1, d) if self.loss == "softmax" else (d,)

    @cached_property
    def start_value(self) -> float:
        """f at zero."""
        return self.value(np.zeros(self.shape))

    def value(self, coef: Vector) -> float:
        losses = LOSSES[self.loss].value(self.data.matrix @ coef.T, self.data.target)
        return float(self.shares @ losses + 0.5 * (coef * coef @ self.penalties).sum())

    def gradient(self, coef: Vector) -> Vector:
        slopes = LOSSES[self.loss].slope(self.data.matrix @ coef.T, self.data.target)
        gradient: Vector = (self.data.matrix.T @ (self.shares * slopes.T).T).T + self.penalties * coef
        return gradient

    def relative_gap(self, coef: Vector, minimum: float) -> float:
        """(f(w) - f*)/(f(0) - f*); NaN if f is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return (self.value(coef) - minimum) / (self.start_value - minimum)
