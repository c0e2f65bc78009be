"""Splits a user's columns into the two matrices of a GLM: the expensive X, and the cheap Y with the intercept."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, near_names
from minmin.estimators.blocks import ColumnBlocks, Columns
from minmin.estimators.cheap_matrix import MULTIPLICATIONS_PER_PAIR, build_cheap_matrix, make_zero_column, take_columns
from minmin.estimators.counts import count_by_column, count_pairs, count_stored, is_sparse
from minmin.estimators.penalties import Alphas
from minmin.estimators.table import Mask, RowMatrix, RowTable, Table, Vector
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.categories import CategoricalDesign, OnesDesign
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.designs import Design
from minmin.problems.linear.mixed import MixedDesign
from minmin.problems.linear.rows.parts import RowDesign

_MOST_COST_RATIO, _MOST_COST_RATIO_SPARSE = 128, 48
"""A block goes into Y if computing YᵀY takes at most this many multiplications per number in the data. A table with
text columns is treated as sparse. Measured: docs/benchmarks/tuning.md."""
_PER_PAIR_OF_CATEGORIES, _PER_SUM_BY_CATEGORY = 70, 30
"""Counting a pair of categories, and adding up a number by category, take as long as this many multiplications in the
product of dense matrices. Measured: docs/benchmarks/tuning.md."""
_FULL = 0.9
"""A column of a sparse matrix is full if at least this share of its entries is stored, as for numeric columns beside
categories. Measured: docs/benchmarks/tuning.md."""


@dataclass(frozen=True)
class ColumnSplit:
    """The features of the samples, split into an expensive and a cheap matrix.

    Attributes
    ----------
    X, Y : matrices or minmin.problems.Design
        The expensive and the cheap columns. With an intercept, Y ends with a column of ones. A matrix that gets none of
        the user's columns is one column of zeros, whose coefficient :meth:`penalties` keeps at zero.
    x_columns, y_columns : arrays
        The numbers of the user's columns in X and in Y.
    fit_intercept : bool
    blocks : dict
        The numbers of the user's columns by the name of the block.
    """

    X: Any
    Y: Any
    x_columns: Columns
    y_columns: Columns
    fit_intercept: bool
    blocks: ColumnBlocks

    @property
    def n_features(self) -> int:
        return len(self.x_columns) + len(self.y_columns)

    def select_rows(self, chosen: Any) -> ColumnSplit:
        """The features of some of the samples."""
        return replace(self, X=_select_rows(self.X, chosen), Y=_select_rows(self.Y, chosen))

    def in_double(self) -> ColumnSplit:
        """The same features in double precision."""
        return replace(self, X=_to_double(self.X), Y=_to_double(self.Y))

    def penalties(self, alphas: Alphas) -> dict[str, Any]:
        """The penalties of the columns of X and of Y; 0 for the intercept."""
        by_column = np.empty(self.n_features)
        for name, columns in self.blocks.items():
            by_column[columns] = alphas[name]
        in_y = by_column[self.y_columns]
        if self.fit_intercept:
            in_y = np.append(in_y, 0.0)
        return {"alpha_x": _or_one(by_column[self.x_columns]), "alpha_y": _or_one(in_y)}

    def coefficients(self, x: Vector, y: Vector) -> tuple[Vector, Any]:
        """The coefficients, with the user's columns along the last axis, and the intercept."""
        coef = np.zeros((*x.shape[:-1], self.n_features), dtype=x.dtype)
        coef[..., self.x_columns] = x[..., : len(self.x_columns)]
        coef[..., self.y_columns] = y[..., : len(self.y_columns)]
        return coef, y[..., -1] if self.fit_intercept else np.zeros(x.shape[:-1], dtype=x.dtype)[()]

    def split(self, coef: Vector, intercept: Any) -> tuple[Vector, Vector]:
        """The reverse of :meth:`coefficients`: x and y."""
        x = np.zeros((*coef.shape[:-1], self.X.shape[1]), dtype=_dtype(self.X))
        y = np.zeros((*coef.shape[:-1], self.Y.shape[1]), dtype=_dtype(self.Y))
        x[..., : len(self.x_columns)] = coef[..., self.x_columns]
        y[..., : len(self.y_columns)] = coef[..., self.y_columns]
        if self.fit_intercept:
            y[..., -1] = intercept
        return x, y


def split_columns(
    matrix: Any,
    blocks: ColumnBlocks,
    unpenalised: Collection[Hashable],
    cheap: Any,
    fit_intercept: bool,
    outputs: int = 1,
) -> ColumnSplit:
    """Split a matrix, or a table without a matrix of zeros and ones.

    Parameters
    ----------
    matrix : CSR, array, PartitionedMatrix, RowMatrix or Table, float32 or float64
        The designs of a table have the categories first, then the numbers.
    blocks : dict
        Column numbers by the name of the block; of a table, the numbers of its features.
    unpenalised : collection of names
        The blocks without a penalty.
    cheap : None, the name of a block, or a collection of names
        The blocks that go into Y; None for those that make the fit faster.
    fit_intercept : bool
    outputs : int
        The number of coefficients per column.
    """
    if cheap is None:
        in_y = _choose_columns(matrix, blocks, unpenalised, int(fit_intercept), outputs)
    else:
        names = [cheap] if isinstance(cheap, str) or not isinstance(cheap, Collection) else list(cheap)
        for name in names:
            if name not in blocks:
                raise InputError(f"cheap names {name!r}, which is not a block: {near_names(name, map(str, blocks))}")
        in_y = _find_columns(matrix, *(blocks[name] for name in names))
    x_columns, y_columns = _list_features(matrix, ~in_y), _list_features(matrix, in_y)
    if isinstance(matrix, Table):
        X, Y = _take_from_table(matrix, ~in_y, False), _take_from_table(matrix, in_y, fit_intercept)
    else:
        X = take_columns(matrix, x_columns) if len(x_columns) else make_zero_column(matrix)
        Y = build_cheap_matrix(matrix, y_columns, fit_intercept)
        if isinstance(X, RowMatrix):
            X = RowDesign(X.session.apply(as_design, X.value, example=object()))
        elif isinstance(matrix, PartitionedMatrix):
            X = as_design(X)
    return ColumnSplit(X, Y, x_columns, y_columns, fit_intercept, blocks)


def _choose_columns(
    matrix: Any, blocks: ColumnBlocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
) -> Mask:
    """Which columns go into Y: whole blocks, smallest first; if no block is cheap enough, full columns.

    Blocks without a penalty are taken first, at any cost, up to the largest size that the method factorises: only in Y,
    and factorised, a bound on their part of the gap can be proved.
    """
    ratio = _MOST_COST_RATIO_SPARSE if isinstance(matrix, Table) or is_sparse(matrix) else _MOST_COST_RATIO
    most = ratio * (count_stored(matrix) + intercept * matrix.shape[0]) / outputs
    chosen = _find_columns(matrix)

    def take(columns: Mask, most: float) -> None:
        wanted = chosen | columns
        width = len(_list_features(matrix, wanted)) + intercept
        if outputs * width <= DENSE_UP_TO and _is_cheap(matrix, wanted, width, intercept, most):
            chosen[columns] = True

    by_size = sorted(blocks, key=lambda name: len(blocks[name]))
    for name in by_size:
        if name in unpenalised:
            take(_find_columns(matrix, blocks[name]), math.inf)
    for name in by_size:
        columns = _find_columns(matrix, blocks[name])
        if not chosen[columns].all():
            take(columns, most)
    if not chosen.any():
        take(_find_full_columns(matrix), most)
    return chosen


def _is_cheap(matrix: Any, wanted: Mask, width: int, intercept: int, most: float) -> bool:
    """Whether YᵀY takes at most this many multiplications with the wanted columns in Y, which then has this width."""
    rows: int = matrix.shape[0]
    if isinstance(matrix, Table):
        texts = int((wanted & matrix.is_text).sum())
        numbers = int((wanted & ~matrix.is_text).sum()) + intercept
        pairs, sums = texts * (texts + 1) / 2, texts * numbers
        return rows * (numbers**2 + _PER_PAIR_OF_CATEGORIES * pairs + _PER_SUM_BY_CATEGORY * sums) <= most
    if is_sparse(matrix) and rows * width**2 > most:
        return MULTIPLICATIONS_PER_PAIR * count_pairs(matrix, wanted) <= most
    return rows * width**2 <= most


def _find_full_columns(matrix: Any) -> Mask:
    """The full columns of sparse data: those of numbers beside categories."""
    if isinstance(matrix, Table):
        return ~matrix.is_text & matrix.is_dense
    return count_by_column(matrix) >= _FULL * matrix.shape[0] if is_sparse(matrix) else _find_columns(matrix)


def _find_columns(matrix: Any, *features: Columns) -> Mask:
    """The columns of some features, which for all but tables are the columns themselves."""
    found = np.zeros(matrix.shape[1], dtype=bool)
    for some in features:
        found[some] = True
    return matrix.find_columns(np.flatnonzero(found)) if isinstance(matrix, Table) else found


def _list_features(matrix: Any, columns: Mask) -> Columns:
    """The features of some columns in the order of designs."""
    return matrix.list_features(columns) if isinstance(matrix, Table) else np.flatnonzero(columns)


def _take_from_table(table: Table, columns: Mask, intercept: bool) -> Any:
    """The design of some columns and perhaps an intercept; a column of zeros if there is none."""
    if isinstance(table, RowTable):
        return RowDesign(table.value.rows.apply(_take_from_table, table.value, columns, intercept, example=object()))
    categories, numbers = table.take(columns)
    return _join(categories, numbers, intercept) or as_design(make_zero_column(table))


def _join(categories: CategoricalDesign | None, numbers: Any, intercept: bool) -> Design | None:
    """The design of categories, then numbers, then the intercept; None if there is no column at all."""
    parts: list[Design] = [] if categories is None else [categories]
    rows, width = numbers.shape
    if intercept and width and not scipy.sparse.issparse(numbers):
        parts.append(as_design(np.hstack([numbers, np.ones((rows, 1), dtype=numbers.dtype)])))
    else:
        parts += [as_design(numbers)] if width else []
        parts += [OnesDesign(rows, numbers.dtype)] if intercept else []
    return MixedDesign(parts) if len(parts) > 1 else parts[0] if parts else None


def _select_rows(matrix: Any, chosen: Any) -> Any:
    return matrix.rows(chosen) if isinstance(matrix, Design) else matrix[chosen]


def _to_double(matrix: Any) -> Any:
    prototype = np.zeros(0)
    return matrix.to_like(prototype, "X") if isinstance(matrix, Design) else matrix.astype(prototype.dtype)


def _dtype(matrix: Any) -> Any:
    return matrix.prototype.dtype if isinstance(matrix, Design) else matrix.dtype


def _or_one(penalties: Vector) -> float | Vector:
    """The penalties; if there is no column, 1, for the column of zeros that takes their place."""
    return penalties if len(penalties) else 1.0
