"""The cheap columns as a matrix of their own: dense or sparse, with the intercept."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.estimators.blocks import Columns
from minmin.estimators.counts import count_pairs, count_stored, is_sparse
from minmin.estimators.table import RowMatrix
from minmin.numerics.row_pieces import MOST_PAIRS
from minmin.problems.linear.categories import OnesDesign
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.designs import Design
from minmin.problems.linear.partitioned import PartitionedDesign
from minmin.problems.linear.rows.parts import RowDesign

MULTIPLICATIONS_PER_PAIR, _MULTIPLICATIONS_IF_MANY = 30, 100
"""If Y is sparse, YᵀY is computed from pairs of numbers in the same row, which takes as long as this many
multiplications per pair. The second number is for many pairs, which are found anew for every YᵀY.
Measured: docs/benchmarks/tuning.md."""
_MOST_COPIED = 0.1
"""Cheap columns of partitions are copied to memory if they take at most this share of the bytes of the partitions.
Otherwise every product with them reads all columns."""
_BYTES_PER_NUMBER = 12
"""Of a sparse matrix in double precision."""


def build_cheap_matrix(matrix: Any, columns: Columns, fit_intercept: bool) -> Any:
    """The chosen columns of a CSR array, an array, a PartitionedMatrix or a RowMatrix, and a last column of ones."""
    rows, intercept = matrix.shape[0], int(fit_intercept)
    width = len(columns) + intercept
    if width == 0:
        return make_zero_column(matrix)
    part = take_columns(matrix, columns)
    pairs = _find_pairs(part, intercept) if is_sparse(part) else None
    if isinstance(part, RowMatrix):
        value = part.session.apply(_build_for_group, part.value, fit_intercept, pairs is None, example=object())
        return RowDesign(value)
    if isinstance(part, PartitionedMatrix):
        return _take_from_partitions(part, fit_intercept, pairs)
    if pairs is not None:
        return _append_ones(part) if fit_intercept else part
    dense = part.toarray() if scipy.sparse.issparse(part) else part
    if not fit_intercept:
        return dense
    whole = np.ones((rows, width), dtype=matrix.dtype)
    whole[:, :-1] = dense
    return whole


def _build_for_group(part: PartitionedMatrix, fit_intercept: bool, as_dense: bool) -> Design:
    """The design of a group of rows; whether it is treated as dense was decided for all groups."""
    pairs = None if as_dense else count_pairs(part, np.ones(part.shape[1], dtype=bool), int(fit_intercept))
    return as_design(_take_from_partitions(part, fit_intercept, pairs))


def _find_pairs(part: Any, intercept: int) -> float | None:
    """The number of pairs in the rows of a sparse part; None if it takes less time to treat the part as dense."""
    rows, columns = part.shape
    width, stored = columns + intercept, count_stored(part) + intercept * part.shape[0]
    fewest_pairs = 0.5 * stored * (stored / rows + 1.0)  # with as many numbers in every row
    if MULTIPLICATIONS_PER_PAIR * fewest_pairs >= rows * width**2:
        return None
    pairs = count_pairs(part, np.ones(columns, dtype=bool), intercept)
    per_pair = MULTIPLICATIONS_PER_PAIR if pairs <= MOST_PAIRS * stored else _MULTIPLICATIONS_IF_MANY
    return pairs if per_pair * pairs < rows * width**2 else None


def _take_from_partitions(part: PartitionedMatrix, fit_intercept: bool, pairs: float | None) -> Any:
    """A copy in memory if that is small, and a view otherwise; ``pairs`` are those of :func:`_find_pairs`."""
    rows, columns = part.shape
    if columns == 0:
        return OnesDesign(rows, part.dtype)
    stored = part.stored + int(fit_intercept) * rows
    if pairs is None:
        size = rows * (columns + int(fit_intercept)) * part.dtype.itemsize
    else:
        size = _BYTES_PER_NUMBER * (stored + (int(pairs) if pairs <= MOST_PAIRS * stored else 0))
    if size > _MOST_COPIED * part.nbytes:
        return PartitionedDesign(part, ones=fit_intercept, as_dense=pairs is None)
    chosen = slice(None) if part.columns is None else part.columns
    if pairs is None:
        whole = np.ones((rows, columns + int(fit_intercept)), dtype=part.dtype)
        for here, piece in part.cut():
            some = piece[:, chosen]
            whole[here, :columns] = some.toarray() if part.is_sparse else some
        return whole
    csr = scipy.sparse.vstack([piece[:, chosen] for _, piece in part.cut()], format="csr")
    return _append_ones(csr) if fit_intercept else csr


def make_zero_column(matrix: Any) -> Any:
    """A column of zeros, sparse, so that no time is spent on it."""
    if isinstance(matrix, RowMatrix):
        return RowDesign(matrix.session.apply(_make_zero_design, matrix.value, example=object()))
    return scipy.sparse.csr_array((matrix.shape[0], 1), dtype=matrix.dtype)


def _make_zero_design(matrix: PartitionedMatrix) -> Design:
    return as_design(make_zero_column(matrix))


def _append_ones(csr: Any) -> Any:
    rows = csr.shape[0]
    of_ones = np.ones(rows, dtype=csr.dtype), np.zeros(rows, dtype=np.int32), np.arange(rows + 1, dtype=np.int32)
    return scipy.sparse.hstack([csr, scipy.sparse.csr_array(of_ones, shape=(rows, 1))], format="csr")


def take_columns(matrix: Any, columns: Columns) -> Any:
    """Some columns. All columns, and adjacent columns of a dense array, are taken without a copy."""
    if len(columns) == matrix.shape[1]:
        return matrix
    if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
        return matrix[:, columns[0] : columns[-1] + 1]
    return matrix[:, columns]
