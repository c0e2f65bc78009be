"""A user's columns as the two designs of a GLM: the expensive X, and the cheap Y, which has the intercept."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from minmin.errors import InputError, near_names
from minmin.estimators.blocks import Blocks, Columns
from minmin.estimators.penalties import Alphas
from minmin.numerics.dense import DENSE_UP_TO

_Vector = np.ndarray[Any, Any]

_WORTH = 128
"""Columns are cheap where YᵀY has at most so many multiplications for every one in a product with the data. A Newton
step takes ten to thirty such products, and one multiplication takes 1.2 ns there and 0.04 ns in YᵀY. Beside 20,000
sparse columns, a block at 65 such multiplications took 0.10 s in Y as in X, and one at 143 took 0.26 s in Y and 0.17 s
in X."""
_FULL = 0.9
"""A column of a sparse matrix is full if so much of it is stored, as with numbers beside categories. In Y, columns that
are at least half full made fits 0.7 to 1.5 times as long, so only clear cases go there."""
_SPARSE_BELOW = 0.125
"""Y is kept sparse where less of it than this is stored. a9a with 24 such columns took 0.09 s, and 0.14 s where six
half-full ones beside them made Y dense."""


@dataclass(frozen=True)
class Design:
    """The samples' features, split into the two blocks that a method tells apart.

    Attributes
    ----------
    X, Y : matrices
        The expensive and the cheap columns; Y ends with a column of ones where there is an intercept. One without any
        column of the user's is a column of zeros, which :meth:`penalties` keeps at zero.
    x_columns, y_columns : arrays
        Which of the user's columns they are.
    fit_intercept : bool
    blocks : dict
        The user's columns by their block's name.
    """

    X: Any
    Y: Any
    x_columns: Columns
    y_columns: Columns
    fit_intercept: bool
    blocks: Blocks

    @property
    def n_features(self) -> int:
        return len(self.x_columns) + len(self.y_columns)

    def rows(self, chosen: Any) -> Design:
        """The same for some of the samples."""
        return replace(self, X=self.X[chosen], Y=self.Y[chosen])

    def in_double(self) -> Design:
        """The same in double precision."""
        return replace(self, X=self.X.astype(np.float64), Y=self.Y.astype(np.float64))

    def penalties(self, alphas: Alphas) -> dict[str, Any]:
        """The penalties of X's and of Y's columns; none for the intercept."""
        by_column = np.empty(self.n_features)
        for name, columns in self.blocks.items():
            by_column[columns] = alphas[name]
        in_y = by_column[self.y_columns]
        if self.fit_intercept:
            in_y = np.append(in_y, 0.0)
        return {"alpha_x": _or_stand_in(by_column[self.x_columns]), "alpha_y": _or_stand_in(in_y)}

    def coefficients(self, x: _Vector, y: _Vector) -> tuple[_Vector, Any]:
        """The coefficients, in the last axis in the user's order, and the intercept."""
        coef = np.zeros((*x.shape[:-1], self.n_features), dtype=x.dtype)
        coef[..., self.x_columns] = x[..., : len(self.x_columns)]
        coef[..., self.y_columns] = y[..., : len(self.y_columns)]
        return coef, y[..., -1] if self.fit_intercept else np.zeros(x.shape[:-1], dtype=x.dtype)[()]

    def split(self, coef: _Vector, intercept: Any) -> tuple[_Vector, _Vector]:
        """The reverse: x and y."""
        x = np.zeros((*coef.shape[:-1], self.X.shape[1]), dtype=self.X.dtype)
        y = np.zeros((*coef.shape[:-1], self.Y.shape[1]), dtype=self.Y.dtype)
        x[..., : len(self.x_columns)] = coef[..., self.x_columns]
        y[..., : len(self.y_columns)] = coef[..., self.y_columns]
        if self.fit_intercept:
            y[..., -1] = intercept
        return x, y


def split_design(
    matrix: Any, blocks: Blocks, unpenalised: Collection[Hashable], cheap: Any, fit_intercept: bool, outputs: int = 1
) -> Design:
    """The design of a CSR or dense matrix.

    Parameters
    ----------
    matrix : CSR or array, float32 or float64
    blocks : dict
        Columns by the block's name.
    unpenalised : collection of names
    cheap : None, a block's name, or a collection of them
        Which blocks go into Y; None: those for which that pays.
    fit_intercept : bool
    outputs : int
        The number of coefficients that a column has.
    """
    if cheap is None:
        in_y = _choose_columns(matrix, blocks, unpenalised, int(fit_intercept), outputs)
    else:
        in_y = np.zeros(matrix.shape[1], dtype=bool)
        for name in _check_names(cheap, blocks):
            in_y[blocks[name]] = True
    x_columns, y_columns = np.flatnonzero(~in_y), np.flatnonzero(in_y)
    X = _take(matrix, x_columns)
    if X.shape[1] == 0:
        X = scipy.sparse.csr_array((matrix.shape[0], 1), dtype=matrix.dtype)
    Y = _cheap_part(matrix, y_columns, fit_intercept)
    return Design(X, Y, x_columns, y_columns, fit_intercept, blocks)


def _check_names(cheap: Any, blocks: Blocks) -> Collection[Hashable]:
    names = [cheap] if isinstance(cheap, str) or not isinstance(cheap, Collection) else list(cheap)
    for name in names:
        if name not in blocks:
            raise InputError(f"cheap names {name!r}, which is no block: {near_names(name, map(str, blocks))}")
    return names


def _choose_columns(
    matrix: Any, blocks: Blocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whole blocks, smallest first; or, if none pays, full columns.

    Blocks without a penalty come before all others, up to as many coefficients as the method factorises, whatever that
    costs: only in Y, and factorised, their part of a bound is proved.
    """
    rows, features = matrix.shape
    sparse = scipy.sparse.issparse(matrix)
    stored = (matrix.nnz if sparse else rows * features) + intercept * rows
    chosen = np.zeros(features, dtype=bool)

    def take(columns: Columns, worth: float) -> None:
        width = int(chosen.sum()) + len(columns) + intercept
        if outputs * width <= DENSE_UP_TO and outputs * rows * width**2 <= worth * stored:
            chosen[columns] = True

    by_size = sorted(blocks, key=lambda name: len(blocks[name]))
    for name in by_size:
        if name in unpenalised:
            take(blocks[name], math.inf)
    for name in by_size:
        if not chosen[blocks[name][0]]:
            take(blocks[name], _WORTH)
    if sparse and not chosen.any():
        take(np.flatnonzero(np.bincount(matrix.indices, minlength=features) >= _FULL * rows), _WORTH)
    return chosen


def _cheap_part(matrix: Any, columns: Columns, fit_intercept: bool) -> Any:
    rows, width = matrix.shape[0], len(columns) + int(fit_intercept)
    if width == 0:
        return np.zeros((rows, 1), dtype=matrix.dtype)
    part = _take(matrix, columns)
    if scipy.sparse.issparse(part) and part.nnz + rows < _SPARSE_BELOW * rows * width:
        ones = [scipy.sparse.csr_array(np.ones((rows, 1), dtype=matrix.dtype))] if fit_intercept else []
        return scipy.sparse.hstack([part, *ones], format="csr")
    if scipy.sparse.issparse(part):
        part = part.toarray()
    if not fit_intercept:
        return part
    whole = np.ones((rows, width), dtype=matrix.dtype)
    whole[:, :-1] = part
    return whole


def _take(matrix: Any, columns: Columns) -> Any:
    """Those columns; all of them, and neighbours in a dense array, without a copy."""
    if len(columns) == matrix.shape[1]:
        return matrix
    if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
        return matrix[:, columns[0] : columns[-1] + 1]
    return matrix[:, columns]


def _or_stand_in(penalties: _Vector) -> float | _Vector:
    """The penalties, or, where there is no column, that of the column of zeros that stands in."""
    return penalties if len(penalties) else 1.0
