"""PartitionedMatrix: a matrix whose rows are in partitions, each of them a mapped file or an array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from minmin.errors import InputError

Vector = np.ndarray[Any, Any]

_NUMBERS_AT_A_TIME = 1 << 20
"""How many numbers are looked at at once where work is done on copies: 16 MB or less."""


class PartitionedMatrix:
    """Partitions one above the other, or some of their columns. The numbers are not copied.

    ``matrix[:, columns]`` is the same matrix with only these columns, chosen by a slice, numbers or a mask.

    Parameters
    ----------
    partitions : sequence of CSR arrays, or of arrays
        All with the same columns, and all of one dtype, float32 or float64. Indices in a row of a CSR array ascend.
    names : sequence of str, optional
        The names of the columns.

    Attributes
    ----------
    partitions : list
        With all columns.
    columns : array or None
        The numbers of the columns that were chosen; None for all.
    names : list of str or None
        The names of the columns that were chosen.
    shape : pair of int
    dtype : numpy.dtype
    """

    ndim = 2

    def __init__(self, partitions: Sequence[Any], names: Sequence[str] | None = None):
        self.partitions = list(partitions)
        self.names = None if names is None else list(names)
        self.columns: Vector | None = None
        self._whole: PartitionedMatrix | None = None  # that of all columns, if this one has only some
        self.starts = np.concatenate([[0], np.cumsum([partition.shape[0] for partition in partitions])])
        self.width = partitions[0].shape[1]
        """The number of columns of the partitions."""
        self.shape = (int(self.starts[-1]), self.width)
        self.dtype = partitions[0].dtype

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        rows, columns = self.shape
        return f"<{rows} x {columns} {kind} matrix of dtype {self.dtype} in {len(self.partitions)} partitions>"

    def __getitem__(self, key: Any) -> PartitionedMatrix:
        if not (isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], slice) and key[0] == slice(None)):
            raise InputError("only columns of a partitioned matrix can be chosen, as in X[:, 10:20]")
        chosen = np.arange(self.shape[1])[key[1]]
        if chosen.ndim != 1:
            raise InputError("choose columns by a slice, numbers or a mask, as in X[:, 10:20]")
        view = PartitionedMatrix(self.partitions)
        view._whole = self if self._whole is None else self._whole
        view.columns = chosen if self.columns is None else self.columns[chosen]
        view.names = None if self.names is None else [self.names[column] for column in chosen]
        view.shape = (self.shape[0], len(chosen))
        return view

    def with_columns(self, count: int) -> PartitionedMatrix:
        """The first ``count`` columns of a sparse matrix; those beyond its last are zero."""
        if count <= self.shape[1]:
            return self[:, :count]
        if self.columns is not None or not self.is_sparse:
            raise InputError(f"columns cannot be added to {self}")
        return PartitionedMatrix([make_csr(part.data, part.indices, part.indptr, count) for part in self.partitions])

    @property
    def is_sparse(self) -> bool:
        return bool(scipy.sparse.issparse(self.partitions[0]))

    @property
    def nbytes(self) -> int:
        """The bytes of the partitions, with all their columns."""
        if not self.is_sparse:
            return sum(partition.nbytes for partition in self.partitions)
        return sum(part.data.nbytes + part.indices.nbytes + part.indptr.nbytes for part in self.partitions)

    @cached_property
    def column_counts(self) -> Vector:
        """How many numbers of every column are stored."""
        if self._whole is not None:
            return self._whole.column_counts[self.columns]
        if not self.is_sparse:
            return np.full(self.shape[1], self.shape[0])
        counts = np.zeros(self.width, dtype=np.int64)
        for partition in self.partitions:
            for start in range(0, len(partition.indices), _NUMBERS_AT_A_TIME):
                counts += np.bincount(partition.indices[start : start + _NUMBERS_AT_A_TIME], minlength=self.width)
        return counts

    @property
    def stored(self) -> int:
        """How many numbers of the chosen columns are stored."""
        if self.columns is None and self.is_sparse:
            return sum(len(partition.data) for partition in self.partitions)
        return int(self.column_counts.sum())

    def cut(self, numbers: int | None = None) -> list[tuple[slice, Any]]:
        """Pieces of rows with about this many numbers, by default so few that copies of one piece are small.

        Each comes with the slice of its rows. It has all columns, and is no copy.

        The pieces of a partition have about as many numbers each. How it is cut depends on nothing but the partitions.
        """
        pieces = []
        numbers = numbers or _NUMBERS_AT_A_TIME
        for first, partition in zip(self.starts.tolist(), self.partitions, strict=False):
            size = len(partition.data) if self.is_sparse else partition.size
            count = min(max(round(size / numbers), 1), partition.shape[0])
            for start, stop in _cut_rows(partition, count):
                piece = take_rows(partition, start, stop)
                pieces.append((slice(first + start, first + stop), piece))
        return pieces


def _cut_rows(partition: Any, count: int) -> list[tuple[int, int]]:
    rows = partition.shape[0]
    if not scipy.sparse.issparse(partition):
        cuts = np.linspace(0, rows, count + 1).astype(int)
    else:
        ends = partition.indptr
        targets = np.linspace(0, ends[-1], count + 1)[1:-1].astype(ends.dtype)  # of another dtype, ends are converted
        cuts = np.concatenate([[0], np.searchsorted(ends, targets), [rows]])
    return list(pairwise(np.unique(cuts).tolist()))


def take_rows(matrix: Any, start: int, stop: int) -> Any:
    """Rows of an array or a CSR array, which share its memory."""
    if not scipy.sparse.issparse(matrix):
        return matrix[start:stop]
    ends = matrix.indptr[start : stop + 1]
    numbers = slice(ends[0], ends[-1])
    return make_csr(matrix.data[numbers], matrix.indices[numbers], ends - ends[0], matrix.shape[1])


def make_csr(data: Vector, indices: Vector, ends: Vector, columns: int) -> scipy.sparse.csr_array:
    """A CSR array of these three; its constructor would copy parts of larger arrays. Indices in a row must ascend."""
    csr = scipy.sparse.csr_array((len(ends) - 1, columns), dtype=data.dtype)
    csr.data, csr.indices, csr.indptr = data, indices, ends
    csr.has_sorted_indices = csr.has_canonical_format = True  # else SciPy looks at all of them to find out
    return csr
