"""Splits a user's columns into the two matrices of a GLM: the expensive X, and the cheap Y with the intercept."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minmin.errors import InputError, near_names
from minmin.estimators.blocks import ColumnBlocks, Columns
from minmin.estimators.features import Features, Mask, Vector
from minmin.estimators.penalties import Alphas
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.designs import Design

_MOST_COST_RATIO, _MOST_COST_RATIO_SPARSE = 128, 48
"""A block goes into Y if computing YᵀY takes at most this many multiplications per number in the data. A table with
text columns is treated as sparse. Measured: docs/benchmarks/tuning.md."""


@dataclass(frozen=True)
class ColumnSplit:
    """The features of the samples, split into an expensive and a cheap matrix.

    Attributes
    ----------
    X, Y : minmin.problems.Design
        The expensive and the cheap columns. With an intercept, Y ends with a column of ones. A matrix that gets none of
        the user's columns is one column of zeros, whose coefficient :meth:`penalties` keeps at zero.
    x_columns, y_columns : arrays
        The numbers of the user's columns in X and in Y.
    fit_intercept : bool
    blocks : dict
        The numbers of the user's columns by the name of the block.
    """

    X: Design
    Y: Design
    x_columns: Columns
    y_columns: Columns
    fit_intercept: bool
    blocks: ColumnBlocks

    @property
    def n_features(self) -> int:
        return len(self.x_columns) + len(self.y_columns)

    def select_rows(self, chosen: Any) -> ColumnSplit:
        """The features of some of the samples."""
        rows = np.arange(self.X.shape[0])[chosen]
        return replace(self, X=self.X.rows(rows), Y=self.Y.rows(rows))

    def in_double(self) -> ColumnSplit:
        """The same features in double precision."""
        prototype = np.zeros(0)
        return replace(self, X=self.X.to_like(prototype, "X"), Y=self.Y.to_like(prototype, "Y"))

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
        x = np.zeros((*coef.shape[:-1], self.X.shape[1]), dtype=self.X.prototype.dtype)
        y = np.zeros((*coef.shape[:-1], self.Y.shape[1]), dtype=self.Y.prototype.dtype)
        x[..., : len(self.x_columns)] = coef[..., self.x_columns]
        y[..., : len(self.y_columns)] = coef[..., self.y_columns]
        if self.fit_intercept:
            y[..., -1] = intercept
        return x, y


def split_columns(
    features: Features,
    blocks: ColumnBlocks,
    unpenalised: Collection[Hashable],
    cheap: Any,
    fit_intercept: bool,
    outputs: int = 1,
) -> ColumnSplit:
    """Split features into the two designs.

    Parameters
    ----------
    features : Features
    blocks : dict
        The numbers of the features by the name of the block.
    unpenalised : collection of names
        The blocks without a penalty.
    cheap : None, the name of a block, or a collection of names
        The blocks that go into Y; None for those that make the fit faster.
    fit_intercept : bool
    outputs : int
        The number of coefficients per column.
    """
    if cheap is None:
        in_y = _choose_columns(features, blocks, unpenalised, int(fit_intercept), outputs)
    else:
        names = [cheap] if isinstance(cheap, str) or not isinstance(cheap, Collection) else list(cheap)
        for name in names:
            if name not in blocks:
                raise InputError(f"cheap names {name!r}, which is not a block: {near_names(name, map(str, blocks))}")
        in_y = _find_columns(features, *(blocks[name] for name in names))
    x_columns, y_columns = features.list_features(~in_y), features.list_features(in_y)
    X, Y = features.take(~in_y), features.take_cheap(in_y, int(fit_intercept))
    return ColumnSplit(X, Y, x_columns, y_columns, fit_intercept, blocks)


def _choose_columns(
    features: Features, blocks: ColumnBlocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
) -> Mask:
    """Which columns go into Y: whole blocks, smallest first; if no block is cheap enough, full columns.

    Blocks without a penalty are taken first, at any cost, up to the largest size that the method factorises: only in Y,
    and factorised, a bound on their part of the gap can be proved.
    """
    ratio = _MOST_COST_RATIO_SPARSE if features.is_sparse else _MOST_COST_RATIO
    most = ratio * (features.stored + intercept * features.shape[0]) / outputs
    chosen = _find_columns(features)

    def take(columns: Mask, most: float) -> None:
        wanted = chosen | columns
        width = len(features.list_features(wanted)) + intercept
        if outputs * width <= DENSE_UP_TO and features.is_cheap(wanted, width, intercept, most):
            chosen[columns] = True

    by_size = sorted(blocks, key=lambda name: len(blocks[name]))
    for name in by_size:
        if name in unpenalised:
            take(_find_columns(features, blocks[name]), math.inf)
    for name in by_size:
        columns = _find_columns(features, blocks[name])
        if not chosen[columns].all():
            take(columns, most)
    if not chosen.any():
        take(features.find_full_columns(), most)
    return chosen


def _find_columns(features: Features, *numbers: Columns) -> Mask:
    """The columns of the features with these numbers."""
    found = np.zeros(features.shape[1], dtype=bool)
    for some in numbers:
        found[some] = True
    return features.find_columns(found)


def _or_one(penalties: Vector) -> float | Vector:
    """The penalties; if there is no column, 1, for the column of zeros that takes their place."""
    return penalties if len(penalties) else 1.0
