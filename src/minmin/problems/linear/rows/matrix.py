"""RowMatrix: a matrix whose rows are in several groups, before its columns are split into designs."""

from __future__ import annotations

import operator
from typing import Any

from minmin.core.rows import Reduction, RowValue
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.problems.linear.rows.session import RowSession


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
        described = self.session.fetch(Reduction(_describe, (value,), "list"))
        columns, dtypes, sparse = zip(*described, strict=True)
        self.shape = (self.session.count, columns[0])
        self.dtype = dtypes[0]
        self.is_sparse = bool(sparse[0])

    def __getitem__(self, key: Any) -> RowMatrix:
        return RowMatrix(self.session.apply(operator.getitem, self.value, key, example=object()))


def _describe(matrix: PartitionedMatrix) -> tuple[int, Any, bool]:
    return matrix.shape[1], matrix.dtype, matrix.is_sparse
