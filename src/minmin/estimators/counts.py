"""Counts the numbers that a matrix stores, from which follows which columns are cheap."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.rows import reduce_rows
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.estimators.table import Mask, RowMatrix, Table, Vector


def is_sparse(matrix: Any) -> bool:
    if isinstance(matrix, PartitionedMatrix | RowMatrix):
        return matrix.is_sparse
    return bool(scipy.sparse.issparse(matrix))


def count_stored(matrix: Any) -> int:
    """How many numbers are stored."""
    if isinstance(matrix, RowMatrix):
        return int(reduce_rows(count_stored, matrix.value))
    if isinstance(matrix, PartitionedMatrix | Table):
        return matrix.stored
    return int(matrix.nnz) if scipy.sparse.issparse(matrix) else matrix.shape[0] * matrix.shape[1]


def count_by_column(matrix: Any) -> Vector:
    """How many numbers of every column of a sparse matrix are stored."""
    if isinstance(matrix, RowMatrix):
        return np.asarray(reduce_rows(count_by_column, matrix.value))
    if isinstance(matrix, PartitionedMatrix):
        return matrix.column_counts
    return np.bincount(matrix.indices, minlength=matrix.shape[1])


def count_pairs(matrix: Any, wanted: Mask, intercept: int = 0) -> float:
    """How many pairs of numbers in the same row the wanted columns have, a number with itself included.

    With ``intercept`` = 1 every row has one more number.
    """
    if isinstance(matrix, RowMatrix):
        return float(reduce_rows(count_pairs, matrix.value, wanted, intercept))
    pieces = [matrix]
    if isinstance(matrix, PartitionedMatrix):
        pieces = [csr for _, csr in matrix.cut()]
        if matrix.columns is not None:
            chosen, wanted = matrix.columns[wanted], np.zeros(matrix.width, dtype=bool)
            wanted[chosen] = True
    pairs = 0.0
    for csr in pieces:
        before = np.concatenate([[0], np.cumsum(wanted[csr.indices])])
        counts = np.diff(before[csr.indptr]).astype(np.float64) + intercept
        pairs += 0.5 * float(counts @ (counts + 1.0))
    return pairs
