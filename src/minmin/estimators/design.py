"""Splits a user's columns into the two matrices of a GLM: the expensive X, and the cheap Y with the intercept."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, near_names
from minmin.estimators.blocks import ColumnBlocks, Columns
from minmin.estimators.cheap_matrix import (
    MULTIPLICATIONS_PER_PAIR,
    build_cheap_matrix,
    make_zero_column,
    take_columns,
)
from minmin.estimators.counts import count_by_column, count_pairs, count_stored, is_sparse
from minmin.estimators.penalties import Alphas
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.designs import Design as LinearDesign
from minmin.problems.linear.designs import wrap_checked
from minmin.problems.linear.mixed import select_rows
from minmin.problems.linear.rows.design import RowDesign
from minmin.problems.linear.rows.matrix import RowMatrix

_Vector = np.ndarray[Any, Any]

_MOST_COST_RATIO, _MOST_COST_RATIO_SPARSE = 128, 48
"""A block goes into Y if computing YᵀY takes at most this many multiplications per number in the data. A multiplication
takes 0.06 to 0.1 ns there; a product with the data takes 0.25 ns per number of a dense matrix and 0.8 ns per number of
a sparse one, and Newton's method takes some ten products per YᵀY if the block is in X. 50,000 × 50 dense numbers take
95 ms in Y and 255 ms in X (ratio 50), 67,856 × 27 categories take 81 and 38 ms (ratio 121)."""
_FULL = 0.9
"""A column of a sparse matrix is full if at least this share of its entries is stored, as for numeric columns beside
categories. Fits with columns in Y that were at least half full took 0.7 to 1.5 times as long, so only clear cases go
into Y."""


@dataclass(frozen=True)
class Design:
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

    def select_rows(self, chosen: Any) -> Design:
        """The design of some of the samples."""
        return replace(self, X=_select_rows(self.X, chosen), Y=_select_rows(self.Y, chosen))

    def in_double(self) -> Design:
        """The design in double precision."""
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

    def coefficients(self, x: _Vector, y: _Vector) -> tuple[_Vector, Any]:
        """The coefficients, with the user's columns along the last axis, and the intercept."""
        coef = np.zeros((*x.shape[:-1], self.n_features), dtype=x.dtype)
        coef[..., self.x_columns] = x[..., : len(self.x_columns)]
        coef[..., self.y_columns] = y[..., : len(self.y_columns)]
        return coef, y[..., -1] if self.fit_intercept else np.zeros(x.shape[:-1], dtype=x.dtype)[()]

    def split(self, coef: _Vector, intercept: Any) -> tuple[_Vector, _Vector]:
        """The reverse of :meth:`coefficients`: x and y."""
        x = np.zeros((*coef.shape[:-1], self.X.shape[1]), dtype=_dtype(self.X))
        y = np.zeros((*coef.shape[:-1], self.Y.shape[1]), dtype=_dtype(self.Y))
        x[..., : len(self.x_columns)] = coef[..., self.x_columns]
        y[..., : len(self.y_columns)] = coef[..., self.y_columns]
        if self.fit_intercept:
            y[..., -1] = intercept
        return x, y


def split_design(
    matrix: Any,
    blocks: ColumnBlocks,
    unpenalised: Collection[Hashable],
    cheap: Any,
    fit_intercept: bool,
    outputs: int = 1,
) -> Design:
    """Split a matrix.

    Parameters
    ----------
    matrix : CSR, array, PartitionedMatrix or RowMatrix, float32 or float64
    blocks : dict
        Column numbers by the name of the block.
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
        in_y = np.zeros(matrix.shape[1], dtype=bool)
        for name in check_names(cheap, blocks):
            in_y[blocks[name]] = True
    x_columns, y_columns = np.flatnonzero(~in_y), np.flatnonzero(in_y)
    X = take_columns(matrix, x_columns) if len(x_columns) else make_zero_column(matrix)
    Y = build_cheap_matrix(matrix, y_columns, fit_intercept)
    if isinstance(X, RowMatrix):
        X = RowDesign(X.session.apply(wrap_checked, X.value, example=object()))
    elif isinstance(matrix, PartitionedMatrix):
        X = wrap_checked(X)
    return Design(X, Y, x_columns, y_columns, fit_intercept, blocks)


def check_names(cheap: Any, blocks: ColumnBlocks) -> Collection[Hashable]:
    names = [cheap] if isinstance(cheap, str) or not isinstance(cheap, Collection) else list(cheap)
    for name in names:
        if name not in blocks:
            raise InputError(f"cheap names {name!r}, which is not a block: {near_names(name, map(str, blocks))}")
    return names


def _choose_columns(
    matrix: Any, blocks: ColumnBlocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which columns go into Y: whole blocks, smallest first; if no block is cheap enough, full columns.

    Blocks without a penalty are taken first, at any cost, up to the largest size that the method factorises: only in Y,
    and factorised, a bound on their part of the gap can be proved.
    """
    rows, features = matrix.shape
    sparse = is_sparse(matrix)
    stored = count_stored(matrix) + intercept * rows
    most_cost_ratio = _MOST_COST_RATIO_SPARSE if sparse else _MOST_COST_RATIO
    chosen = np.zeros(features, dtype=bool)

    def take(columns: Columns, most_cost_ratio: float) -> None:
        wanted = chosen.copy()
        wanted[columns] = True
        width = int(wanted.sum()) + intercept
        if outputs * width > DENSE_UP_TO:
            return
        most = most_cost_ratio * stored / outputs
        if rows * width**2 <= most or (sparse and MULTIPLICATIONS_PER_PAIR * count_pairs(matrix, wanted) <= most):
            chosen[columns] = True

    by_size = sorted(blocks, key=lambda name: len(blocks[name]))
    for name in by_size:
        if name in unpenalised:
            take(blocks[name], math.inf)
    for name in by_size:
        if not chosen[blocks[name][0]]:
            take(blocks[name], most_cost_ratio)
    if sparse and not chosen.any():
        take(np.flatnonzero(count_by_column(matrix) >= _FULL * rows), most_cost_ratio)
    return chosen


def _select_rows(matrix: Any, chosen: Any) -> Any:
    return select_rows(matrix, chosen) if isinstance(matrix, LinearDesign) else matrix[chosen]


def _to_double(matrix: Any) -> Any:
    prototype = np.zeros(0)
    return matrix.to_like(prototype, "X") if isinstance(matrix, LinearDesign) else matrix.astype(prototype.dtype)


def _dtype(matrix: Any) -> Any:
    return matrix.prototype.dtype if isinstance(matrix, LinearDesign) else matrix.dtype


def _or_one(penalties: _Vector) -> float | _Vector:
    """The penalties; if there is no column, 1, for the column of zeros that takes their place."""
    return penalties if len(penalties) else 1.0
