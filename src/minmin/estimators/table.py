"""Table: a frame as numbers and codes of categories; tables and matrices whose rows are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.rows import Reduction, RowValue, reduce_rows
from minmin.estimators.blocks import ColumnBlocks, Columns
from minmin.problems.linear.categories import CategoricalDesign
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.designs import blank_idle_rows
from minmin.problems.linear.rows.session import RowSession

Vector = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


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
    places: Vector
    sizes: Vector
    is_text: Mask

    @staticmethod
    def stack(tables: Sequence[Table]) -> Table:
        """Tables with the same columns and categories, one above the other."""
        stack = scipy.sparse.vstack if scipy.sparse.issparse(tables[0].numbers) else np.vstack
        numbers = stack([table.numbers for table in tables])
        return replace(tables[0], numbers=numbers, places=np.vstack([table.places for table in tables]))

    @property
    def shape(self) -> tuple[int, int]:
        return self.places.shape[0], int(self.sizes.sum())

    @property
    def is_dense(self) -> bool:
        """Whether zeros among the numbers are stored."""
        return not scipy.sparse.issparse(self.numbers)

    @property
    def stored(self) -> int:
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

    def __matmul__(self, coef: Vector) -> Vector:
        of_text = self._categories.image(coef[self._text_features])
        product: Vector = self.numbers @ coef[self._number_features] + of_text
        return product

    def column_squares(self, weights: Vector) -> Vector:
        """The weighted sum of squares of every feature."""
        squares = np.empty(self.shape[1])
        squares[self._number_features] = as_design(self.numbers).column_squares(weights)
        squares[self._text_features] = self._categories.to_like(weights, "X").column_squares(weights)
        return squares

    def list_features(self, columns: Mask) -> Columns:
        """The features of some columns in the order of designs: first categories, then numbers."""
        of_text = self.find_features(np.flatnonzero(columns & self.is_text))
        return np.concatenate([of_text, self._starts[columns & ~self.is_text]])

    def take(self, columns: Mask) -> tuple[CategoricalDesign | None, Any]:
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

    def find_columns(self, features: Columns) -> Mask:
        """The columns of some features."""
        wanted = np.zeros(len(self.sizes), dtype=bool)
        wanted[np.searchsorted(self._starts, features, side="right") - 1] = True
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
    def shape(self) -> tuple[int, int]:
        return self.value.rows.count, int(self.sizes.sum())

    @cached_property
    def stored(self) -> int:
        return int(reduce_rows(_count_stored, self.value))


def _count_stored(table: Table) -> int:
    return table.stored


def open_row_table(value: RowValue) -> RowTable:
    """The table whose groups of rows these are."""
    numbers, places, sizes, is_text = value.rows.fetch(Reduction(_describe, (value,), "list"))[0]
    return RowTable(numbers, places, sizes, is_text, value)


def _describe(table: Table) -> tuple[Any, ...]:
    return table.numbers[:0], table.places[:0], table.sizes, table.is_text


class RowMatrix:
    """The matrices of all groups of rows, one above the other.

    ``matrix[:, columns]`` is the same matrix with only these columns.

    Parameters
    ----------
    value : RowValue
        The PartitionedMatrix of every group.
    """

    ndim = 2

    def __init__(self, value: RowValue):
        self.value = value
        self.session: RowSession = value.rows  # type: ignore[assignment]
        describe = attrgetter("shape", "dtype", "is_sparse")
        shapes, dtypes, sparse = zip(*reduce_rows(describe, value, combine="list"), strict=True)
        self.shape = (self.session.count, shapes[0][1])
        self.dtype = dtypes[0]
        self.is_sparse = bool(sparse[0])

    def __getitem__(self, key: Any) -> RowMatrix:
        return RowMatrix(self.value.call("__getitem__", key, example=object()))


def spread_blocks(blocks: ColumnBlocks, matrix: Any) -> ColumnBlocks:
    """The features of each block from its columns; without text columns these are the same."""
    if not isinstance(matrix, Table):
        return blocks
    return {name: matrix.find_features(columns) for name, columns in blocks.items()}


def blank_table_rows(matrix: Any, weights: Vector) -> Any:
    """A matrix or a table without the numbers in rows of weight 0 that are far larger than the others."""
    if isinstance(matrix, Table):
        return replace(matrix, numbers=blank_idle_rows(matrix.numbers, weights))
    return blank_idle_rows(matrix, weights)
