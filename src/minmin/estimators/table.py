"""Table: a frame as numbers and codes of categories, here or where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.rows import Reduction, RowValue, reduce_rows
from minmin.estimators.blocks import Columns
from minmin.estimators.features import Features, Mask, Vector
from minmin.problems.linear.categories import CategoricalDesign, OnesDesign
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.designs import Design, blank_idle_rows
from minmin.problems.linear.mixed import MixedDesign
from minmin.problems.linear.rows.parts import RowDesign

_PER_PAIR_OF_CATEGORIES, _PER_SUM_BY_CATEGORY = 70, 30
"""Counting a pair of categories, and adding up a number by category, take as long as this many multiplications in the
product of dense matrices. Measured: docs/benchmarks/tuning.md."""


@dataclass(frozen=True)
class Table(Features):
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
    places: Vector
    sizes: Vector
    is_text: Mask

    is_sparse = True

    @staticmethod
    def stack(tables: Sequence[Table]) -> Table:
        """Tables with the same columns and categories, one above the other."""
        stack = np.vstack if tables[0].is_dense else scipy.sparse.vstack
        numbers = stack([table.numbers for table in tables])
        return replace(tables[0], numbers=numbers, places=np.vstack([table.places for table in tables]))

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.places.shape[0], int(self.sizes.sum())

    @property
    def is_dense(self) -> bool:
        """Whether zeros among the numbers are stored."""
        return as_design(self.numbers).is_dense

    @property
    def stored(self) -> int:  # type: ignore[override]
        """How many numbers and codes are stored."""
        return int(self.places.size + (self.numbers.size if self.is_dense else self.numbers.nnz))

    @property
    def dtype(self) -> Any:
        return self.numbers.dtype

    @cached_property
    def _starts(self) -> Vector:
        """The first feature of each column."""
        return np.cumsum(self.sizes) - self.sizes

    def find_features(self, columns: Columns) -> Columns:
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

    def __matmul__(self, coef: Vector) -> Vector:
        of_text = self._categories.image(coef[self._text_features])
        product: Vector = self.numbers @ coef[self._number_features] + of_text
        return product

    def blank_idle_rows(self, weights: Vector) -> Table:
        return replace(self, numbers=blank_idle_rows(self.numbers, weights))

    def column_squares(self, weights: Vector) -> Vector:
        squares = np.empty(self.shape[1])
        squares[self._number_features] = as_design(self.numbers).column_squares(weights)
        squares[self._text_features] = self._categories.to_like(weights, "X").column_squares(weights)
        return squares

    def list_features(self, columns: Mask) -> Columns:
        """First those of text columns, then numbers."""
        of_text = self.find_features(np.flatnonzero(columns & self.is_text))
        return np.concatenate([of_text, self._starts[columns & ~self.is_text]])

    def is_cheap(self, columns: Mask, width: int, intercept: int, most: float) -> bool:
        texts = int((columns & self.is_text).sum())
        numbers = int((columns & ~self.is_text).sum()) + intercept
        pairs, sums = texts * (texts + 1) / 2, texts * numbers
        per_row = numbers**2 + _PER_PAIR_OF_CATEGORIES * pairs + _PER_SUM_BY_CATEGORY * sums
        return bool(self.shape[0] * per_row <= most)

    def find_full_columns(self) -> Mask:
        return ~self.is_text & self.is_dense

    def take(self, columns: Mask) -> Design:
        return self.take_cheap(columns, 0)

    def take_cheap(self, columns: Mask, intercept: int) -> Design:
        categories, numbers = self._cut(columns)
        parts: list[Design] = [] if categories is None else [categories]
        rows, width = numbers.shape
        if intercept and width and self.is_dense:
            parts.append(as_design(np.hstack([numbers, np.ones((rows, 1), dtype=numbers.dtype)])))
        else:
            parts += [as_design(numbers)] if width else []
            parts += [OnesDesign(rows, numbers.dtype)] if intercept else []
        if not parts:
            return as_design(numbers).zero_column()
        return MixedDesign(parts) if len(parts) > 1 else parts[0]

    def _cut(self, columns: Mask) -> tuple[CategoricalDesign | None, Any]:
        """The categories and the numbers of some columns.

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
        of_numbers = columns[~self.is_text]
        return design, self.numbers if of_numbers.all() else self.numbers[:, np.flatnonzero(of_numbers)]

    def find_columns(self, features: Mask) -> Mask:
        wanted = np.zeros(len(self.sizes), dtype=bool)
        wanted[np.searchsorted(self._starts, np.flatnonzero(features), side="right") - 1] = True
        return wanted


@dataclass(frozen=True)
class RowTable(Table):
    """A table whose rows are elsewhere; its arrays have no rows.

    Attributes
    ----------
    value : RowValue
        The table of every group of rows.
    """

    value: RowValue

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.value.rows.count, int(self.sizes.sum())

    @cached_property
    def stored(self) -> int:  # type: ignore[override]
        return int(reduce_rows(getattr, self.value, "stored"))

    def take_cheap(self, columns: Mask, intercept: int) -> Design:
        return RowDesign(self.value.call("take_cheap", columns, intercept, example=object()))


def open_row_table(value: RowValue) -> RowTable:
    """The table whose groups of rows these are."""
    numbers, places, sizes, is_text = value.rows.fetch(Reduction(_describe, (value,), "list"))[0]
    return RowTable(numbers, places, sizes, is_text, value)


def _describe(table: Table) -> tuple[Any, ...]:
    return table.numbers[:0], table.places[:0], table.sizes, table.is_text
