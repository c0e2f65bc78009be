"""The features of a user's samples: which of them are cheap, and the designs of some of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from minmin.estimators.blocks import Columns
from minmin.numerics.row_pieces import MOST_PAIRS
from minmin.problems.linear.designs import Design

Vector = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

MULTIPLICATIONS_PER_PAIR, _MULTIPLICATIONS_IF_MANY = 30, 100
"""If Y is sparse, YᵀY is computed from pairs of numbers in the same row, which takes as long as this many
multiplications per pair. The second number is for many pairs, which are found anew for every YᵀY.
Measured: docs/benchmarks/tuning.md."""
_FULL = 0.9
"""A column of a sparse matrix is full if at least this share of its entries is stored, as for numeric columns beside
categories. Measured: docs/benchmarks/tuning.md."""


class Features(ABC):
    """A user's columns, each of which has one feature or several, wherever the samples are.

    Attributes
    ----------
    shape : pair of int
        The numbers of samples and of features.
    is_sparse : bool
        Whether products take as long as those of a sparse matrix.
    stored : int
        How many numbers are stored.
    """

    shape: tuple[int, int]
    is_sparse: bool
    stored: int

    def find_features(self, columns: Columns) -> Columns:
        """The features of some columns."""
        return columns

    def find_columns(self, features: Mask) -> Mask:
        """The columns of some features."""
        return features

    def list_features(self, columns: Mask) -> Columns:
        """The features of some columns in the order of designs."""
        return np.flatnonzero(columns)

    @abstractmethod
    def blank_idle_rows(self, weights: Vector) -> Features:
        """The same without the numbers in rows of weight 0 that are far larger than the others, if in memory."""

    @abstractmethod
    def column_squares(self, weights: Vector) -> Vector:
        """The weighted sum of squares of every feature."""

    @abstractmethod
    def is_cheap(self, columns: Mask, width: int, intercept: int, most: float) -> bool:
        """Whether YᵀY takes at most this many multiplications with these columns in Y, which then has this width."""

    @abstractmethod
    def find_full_columns(self) -> Mask:
        """The full columns of sparse data: those of numbers beside categories."""

    @abstractmethod
    def take(self, columns: Mask) -> Design:
        """The design of some columns; a column of zeros if there is none."""

    @abstractmethod
    def take_cheap(self, columns: Mask, intercept: int) -> Design:
        """The same in the form in which YᵀY takes least time, with a last column of ones for an intercept of 1."""


class MatrixFeatures(Features):
    """The columns of a design; each is a feature."""

    def __init__(self, design: Design):
        self.design = design
        self.shape, self.is_sparse, self.stored = design.shape, not design.is_dense, design.stored

    def blank_idle_rows(self, weights: Vector) -> MatrixFeatures:
        return MatrixFeatures(self.design.blank_idle_rows(weights))

    def column_squares(self, weights: Vector) -> Vector:
        return self.design.column_squares_in_double(weights)

    def is_cheap(self, columns: Mask, width: int, intercept: int, most: float) -> bool:
        if self.is_sparse and self.shape[0] * width**2 > most:
            return MULTIPLICATIONS_PER_PAIR * self.design.count_pairs(columns) <= most
        return self.shape[0] * width**2 <= most

    def find_full_columns(self) -> Mask:
        if not self.is_sparse:
            return np.zeros(self.shape[1], dtype=bool)
        return np.asarray(self.design.column_counts >= _FULL * self.shape[0])

    def take(self, columns: Mask) -> Design:
        return self.design.view_columns(np.flatnonzero(columns)) if columns.any() else self.design.zero_column()

    def take_cheap(self, columns: Mask, intercept: int) -> Design:
        if not (columns.any() or intercept):
            return self.design.zero_column()
        part = self.design.view_columns(np.flatnonzero(columns))
        return part.with_ones(intercept, None if part.is_dense else _find_pairs(part, intercept))


def _find_pairs(part: Design, intercept: int) -> float | None:
    """The number of pairs in the rows of a sparse part; None if it takes less time to treat the part as dense."""
    rows, columns = part.shape
    width, stored = columns + intercept, part.stored + intercept * rows
    fewest_pairs = 0.5 * stored * (stored / rows + 1.0)  # with as many numbers in every row
    if MULTIPLICATIONS_PER_PAIR * fewest_pairs >= rows * width**2:
        return None
    pairs = part.count_pairs(np.ones(columns, dtype=bool), intercept)
    per_pair = MULTIPLICATIONS_PER_PAIR if pairs <= MOST_PAIRS * stored else _MULTIPLICATIONS_IF_MANY
    return pairs if per_pair * pairs < rows * width**2 else None
