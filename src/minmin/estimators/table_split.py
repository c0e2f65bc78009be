"""Splits a table into the two designs of a GLM, without a matrix of zeros and ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import scipy.sparse

from minmin.estimators.blocks import ColumnBlocks
from minmin.estimators.cheap_matrix import make_zero_column
from minmin.estimators.design import Design, check_names, split_design
from minmin.estimators.table import Mask, RowTable, Table
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.categories import CategoricalDesign
from minmin.problems.linear.designs import Design as LinearDesign
from minmin.problems.linear.designs import wrap_checked
from minmin.problems.linear.mixed import MixedDesign
from minmin.problems.linear.ones import OnesDesign
from minmin.problems.linear.rows.design import RowDesign

_MOST_COST_RATIO = 48
"""A block goes into Y if computing YᵀY takes at most this many multiplications per number in the data, as for a sparse
matrix."""
_MULTIPLICATIONS_PER_PAIR, _MULTIPLICATIONS_PER_SUM = 70, 30
"""Counting pairs of categories takes 5.5 ns per pair and row, and adding up a number by category 1.8 ns. That is as
much as this many multiplications in the product of dense matrices, which take 0.06 to 0.1 ns."""


def split_data(
    matrix: Any,
    blocks: ColumnBlocks,
    unpenalised: Collection[Hashable],
    cheap: Any,
    fit_intercept: bool,
    outputs: int = 1,
) -> Design:
    """Split a matrix or a table; see :func:`split_design`."""
    split = _split_table if isinstance(matrix, Table) else split_design
    return split(matrix, blocks, unpenalised, cheap, fit_intercept, outputs)


def _split_table(
    table: Table,
    blocks: ColumnBlocks,
    unpenalised: Collection[Hashable],
    cheap: Any,
    fit_intercept: bool,
    outputs: int,
) -> Design:
    """Both designs have the categories first, then the numbers."""
    if cheap is None:
        in_y = _choose_columns(table, blocks, unpenalised, int(fit_intercept), outputs)
    else:
        wanted = [blocks[name] for name in check_names(cheap, blocks)]
        in_y = table.find_columns(np.concatenate([np.zeros(0, dtype=np.intp), *wanted]))
    X, Y = take_design(table, ~in_y, False), take_design(table, in_y, fit_intercept)
    return Design(X, Y, table.list_features(~in_y), table.list_features(in_y), fit_intercept, blocks)


def take_design(table: Table, columns: Mask, intercept: bool) -> Any:
    """The design of some columns and perhaps an intercept; a column of zeros if there are none of these."""
    if isinstance(table, RowTable):
        return RowDesign(table.value.rows.apply(take_design, table.value, columns, intercept, example=object()))
    categories, numbers = table.take(columns)
    return _join(categories, numbers, intercept) or wrap_checked(make_zero_column(table))


def _choose_columns(
    table: Table, blocks: ColumnBlocks, unpenalised: Collection[Hashable], intercept: int, outputs: int
) -> Mask:
    """Which columns go into Y: whole blocks, smallest first; if no block is cheap enough, the numbers.

    Blocks without a penalty are taken first, at any cost, up to the largest size that the method factorises.
    """
    rows, dense = table.shape[0], table.is_dense
    stored = table.stored + intercept * rows
    chosen = np.zeros(len(table.sizes), dtype=bool)
    columns = {name: table.find_columns(features) for name, features in blocks.items()}

    def take(some: Mask, most_cost_ratio: float) -> None:
        wanted = chosen | some
        if outputs * (int(table.sizes[wanted].sum()) + intercept) > DENSE_UP_TO:
            return
        texts = int((wanted & table.is_text).sum())
        numbers = int((wanted & ~table.is_text).sum()) + intercept
        pairs, sums = texts * (texts + 1) / 2, texts * numbers
        cost = rows * (numbers**2 + _MULTIPLICATIONS_PER_PAIR * pairs + _MULTIPLICATIONS_PER_SUM * sums)
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
        take(~table.is_text, _MOST_COST_RATIO)
    return chosen


def _join(categories: CategoricalDesign | None, numbers: Any, intercept: bool) -> LinearDesign | None:
    """The design of categories, then numbers, then the intercept; None if there are none of these."""
    parts: list[LinearDesign] = [] if categories is None else [categories]
    rows, width = numbers.shape
    if intercept and width and not scipy.sparse.issparse(numbers):
        parts.append(wrap_checked(np.hstack([numbers, np.ones((rows, 1), dtype=numbers.dtype)])))
    else:
        parts += [wrap_checked(numbers)] if width else []
        parts += [OnesDesign(rows, numbers.dtype)] if intercept else []
    return MixedDesign(parts) if len(parts) > 1 else parts[0] if parts else None
