"""Numbers and categories of a frame, and their split into the two designs of a GLM."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from minmin.estimators.blocks import ColumnBlocks, Columns
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.categories import CategoricalDesign
from minmin.problems.linear.designs import wrap_checked
from minmin.problems.linear.mixed import MixedDesign

_Vector = np.ndarray[Any, Any]
_Mask = np.ndarray[Any, np.dtype[np.bool_]]

_MOST_COST_RATIO = 48
"""A block goes into Y if computing YᵀY takes at most this many multiplications per number in the data, as for a sparse
matrix."""
_MULTIPLICATIONS_PER_PAIR = 30
"""Counting a pair of categories takes as long as this many multiplications in the product of dense matrices."""


@dataclass(frozen=True)
class Table:
    """A frame whose text columns are codes.

    A *feature* is a column of numbers, or a category of a text column. Features are in the order of the columns, and
    the categories of a column are next to each other.

    Attributes
    ----------
    numbers : array or CSR array of shape (n, p)
        The columns of numbers, finite, float32 or float64.
    places : array of shape (n, q)
        For every text column the number of the row's category among those of all text columns; their number if the
        category is missing or unknown.
    sizes : array
        How many features each column has; for text columns the number of categories.
    is_text : array
        Which columns are text.
    """

    numbers: Any
    places: _Vector
    sizes: _Vector
    is_text: _Mask

    @property
    def shape(self) -> tuple[int, int]:
        return self.places.shape[0], int(self.sizes.sum())

    @property
    def dtype(self) -> Any:
        return self.numbers.dtype

    @cached_property
    def _starts(self) -> _Vector:
        """The first feature of each column."""
        return np.cumsum(self.sizes) - self.sizes

    def find_features(self, columns: Columns) -> Columns:
        """The features of some columns."""
        wanted = np.zeros(len(self.sizes), dtype=bool)
        wanted[columns] = True
        return np.flatnonzero(np.repeat(wanted, self.sizes))

    @property
    def _number_features(self) -> Columns:
        return self._starts[~self.is_text]

    @property
    def _text_features(self) -> Columns:
        return np.flatnonzero(np.repeat(self.is_text, self.sizes))

    @property
    def _categories(self) -> CategoricalDesign:
        return CategoricalDesign.from_places(self.places, int(self.sizes[self.is_text].sum()), self.dtype)

    def __matmul__(self, coef: _Vector) -> _Vector:
        product: _Vector = self.numbers @ coef[self._number_features] + self._categories.image(
            coef[self._text_features]
        )
        return product

    def column_squares(self, weights: _Vector) -> _Vector:
        """The weighted sum of squares of every feature."""
        squares = np.empty(self.shape[1])
        squares[self._number_features] = wrap_checked(self.numbers).column_squares(weights)
        squares[self._text_features] = self._categories.to_like(weights, "X").column_squares(weights)
        return squares

    def take(self, columns: _Mask) -> tuple[CategoricalDesign | None, Columns, Any, Columns]:
        """The categories and the numbers of some columns, and the features that they are.

        No categories are None. The codes of all text columns are not copied.
        """
        chosen, sizes = columns[self.is_text], self.sizes[self.is_text]
        design, width = None, int(sizes[chosen].sum())
        if chosen.all() and len(chosen):
            design = self._categories
        elif chosen.any():
            shifts = (np.cumsum(sizes) - sizes)[chosen] - (np.cumsum(sizes[chosen]) - sizes[chosen])
            places = self.places[:, chosen]
            missing = places == sizes.sum()
            places -= shifts.astype(places.dtype)
            places[missing] = width
            design = CategoricalDesign.from_places(places, width, self.dtype)
        is_number = columns & ~self.is_text
        of_numbers = columns[~self.is_text]
        numbers = self.numbers if of_numbers.all() else self.numbers[:, np.flatnonzero(of_numbers)]
        return design, self.find_features(np.flatnonzero(columns & self.is_text)), numbers, self._starts[is_number]

    def choose_columns(
        self, blocks: ColumnBlocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
    ) -> _Mask:
        """Which columns go into Y: whole blocks, smallest first; if no block is cheap enough, the numbers.

        Blocks without a penalty are taken first, at any cost, up to the largest size that the method factorises.
        """
        rows, dense = self.shape[0], not scipy.sparse.issparse(self.numbers)
        stored = rows * (self.places.shape[1] + intercept) + (self.numbers.size if dense else self.numbers.nnz)
        chosen = np.zeros(len(self.sizes), dtype=bool)
        columns = {name: self.find_columns(features) for name, features in blocks.items()}

        def take(some: _Mask, most_cost_ratio: float) -> None:
            wanted = chosen | some
            if outputs * (int(self.sizes[wanted].sum()) + intercept) > DENSE_UP_TO:
                return
            texts = int((wanted & self.is_text).sum())
            numbers = int((wanted & ~self.is_text).sum()) + intercept
            pairs = texts * (texts + 1) / 2 + texts * numbers
            cost = rows * (numbers**2 + _MULTIPLICATIONS_PER_PAIR * pairs)
            if cost <= most_cost_ratio * stored / outputs:
                chosen[some] = True

        by_size = sorted(blocks, key=lambda name: len(blocks[name]))
        for name in by_size:
            if name in unpenalised:
                take(columns[name], math.inf)
        for name in by_size:
            if not chosen[columns[name]].all():
                take(columns[name], _MOST_COST_RATIO)
        if dense and not chosen.any():
            take(~self.is_text, _MOST_COST_RATIO)
        return chosen

    def find_columns(self, features: Columns) -> _Mask:
        """The columns of some features."""
        wanted = np.zeros(len(self.sizes), dtype=bool)
        wanted[np.searchsorted(self._starts, features, side="right") - 1] = True
        return wanted


def spread_blocks(blocks: ColumnBlocks, matrix: Any) -> ColumnBlocks:
    """The features of each block from its columns; without text columns these are the same."""
    if not isinstance(matrix, Table):
        return blocks
    return {name: matrix.find_features(columns) for name, columns in blocks.items()}


def join_designs(categories: CategoricalDesign | None, numbers: Any) -> Any:
    """The design of categories and of numbers, which come last; a matrix if there are only numbers."""
    if categories is None:
        return numbers
    return categories if numbers.shape[1] == 0 else MixedDesign([categories, wrap_checked(numbers)])
