"""PartitionedDesign: rows in partitions, most of them in mapped files, worked on piece by piece by threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError
from minmin.numerics.row_pieces import MOST_PAIRS, Matrix, gram, run_tasks, share, sum_tasks, transpose
from minmin.problems.linear.categories import OnesDesign
from minmin.problems.linear.designs import DenseDesign, Design, NumpyDesign, SparseDesign, piece_rows, wrap_matrix

_NUMBERS_PER_PIECE, _LEAST_NUMBERS_PER_COLUMN = 1_000_000, 8
"""A piece has about this many numbers, so that handing it to another thread takes little of its time. Every piece of a
product with Aᵀ is a whole vector, so a piece has this many numbers per column, too, if its partition has.
Measured: docs/benchmarks/tuning.md."""
_MOST_COPIED = 0.1
"""Cheap columns are copied to memory if they take at most this share of the bytes of the partitions. Otherwise every
product with them reads all columns."""
_BYTES_PER_NUMBER = 12
"""Of a sparse matrix in double precision."""


class PartitionedDesign(NumpyDesign):
    """Some columns of a partitioned matrix, and perhaps a column of ones behind them.

    Products use the partitions as they are: coefficients are padded with zeros for the columns that were not chosen. So
    a product with few columns takes as long as one with all, but no number is copied. Pieces are added in a fixed
    order. So results are the same, to the last bit, for every number of threads.

    Parameters
    ----------
    matrix : PartitionedMatrix
        Its numbers are not checked.
    ones : bool
        Whether there is a last column of ones.
    as_dense : bool, optional
        Whether the chosen columns are full enough to treat rows of them as dense; by default if they are stored so.
    dtype : numpy.dtype, optional
        The dtype to compute in; by default that of the matrix. Pieces of another one are converted in every product.
    """

    refusal = "is partitioned, which works only with NumPy vectors; give x0 and y0 as such"

    def __init__(
        self, matrix: PartitionedMatrix, *, ones: bool = False, as_dense: bool | None = None, dtype: Any = None
    ):
        self._source, self._ones = matrix, ones
        self.is_dense = not matrix.is_sparse if as_dense is None else as_dense
        self.dtype = np.dtype(matrix.dtype if dtype is None else dtype)
        self._width = matrix.shape[1]
        self.shape = (matrix.shape[0], self._width + int(ones))

    @cached_property
    def _pieces(self) -> list[tuple[slice, Any]]:
        return self._source.cut(max(_NUMBERS_PER_PIECE, _LEAST_NUMBERS_PER_COLUMN * self._source.width))

    def image(self, v: Array) -> Array:
        return self._fill_rows(lambda piece, padded: self._convert(piece) @ padded, v)

    def adjoint(self, r: Array) -> Array:
        return self._sum_columns(lambda piece, some: _transpose(self._convert(piece)) @ some, r)

    def row_squares(self, v: Array) -> Array:
        return self._fill_rows(lambda piece, padded: _square(self._convert(piece)) @ padded, v)

    def column_squares(self, r: Array) -> Array:
        return self._sum_columns(lambda piece, some: _transpose(_square(self._convert(piece))) @ some, r)

    def _convert(self, piece: Any) -> Any:
        return piece if piece.dtype == self.dtype else piece.astype(self.dtype)

    def _fill_rows(self, multiply: Any, v: Array) -> Array:
        """A vector with one entry per row, or a table, from what every piece gives for padded coefficients."""
        padded = v[: self._width]
        if self._source.columns is not None:
            padded = np.zeros((self._source.width, *v.shape[1:]), dtype=v.dtype)
            padded[self._source.columns] = v[: self._width]
        rows = np.empty((self.shape[0], *v.shape[1:]), dtype=np.result_type(self.dtype, v.dtype))

        def fill_piece(here: slice, piece: Any) -> None:
            rows[here] = multiply(piece, padded)

        run_tasks([partial(fill_piece, here, piece) for here, piece in self._pieces])
        if self._ones:
            rows += v[-1]
        return rows

    def _sum_columns(self, multiply: Any, r: Array) -> Array:
        """A vector with one entry per column, or a table, from what every piece gives for its rows, added."""
        total = sum_tasks([partial(multiply, piece, r[here]) for here, piece in self._pieces])
        if self._source.columns is not None:
            total = total[self._source.columns]
        return np.concatenate([total, r.sum(axis=0, keepdims=True)]) if self._ones else total

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        if rows is not None:
            return DenseDesign(self.sample(rows)).gram(weights)
        square = sum_tasks([partial(self._gram_of_piece, piece, weights[here]) for here, piece in self._pieces])
        if not self._ones:
            return square
        sums = self.adjoint(weights)
        whole = np.empty((self.shape[1],) * 2, dtype=square.dtype)
        whole[:-1, :-1], whole[-1, :], whole[:, -1] = square, sums, sums
        return whole

    def _gram_of_piece(self, piece: Any, weights: Array) -> Array:
        some = self._convert(piece if self._source.columns is None else piece[:, self._source.columns])
        if self.is_dense:
            pieces = ((here, some[here]) for here in piece_rows(some.shape[0]))
            dense = ((here, rows.toarray() if self._source.is_sparse else rows) for here, rows in pieces)
            return reduce(add, (DenseDesign(rows).gram(weights[here]) for here, rows in dense), 0.0)
        return gram(some, weights)

    @property
    def column_counts(self) -> Array:
        counts = self._source.column_counts
        return np.append(counts, self.shape[0]) if self._ones else counts

    def row_counts(self, wanted: Matrix) -> Array:
        padded, counts = wanted[: self._width], np.empty(self.shape[0])
        if self._source.columns is not None:
            padded = np.isin(np.arange(self._source.width), self._source.columns[padded])
        for here, piece in self._source.cut():
            counts[here] = wrap_matrix(piece).row_counts(padded)
        return counts + wanted[self._width :].sum()

    def with_ones(self, ones: int, pairs: float | None) -> Design:
        """A copy in memory if that is small, and a view otherwise."""
        source, (rows, columns) = self._source, self.shape
        if self._ones or self.dtype != source.dtype:
            return super().with_ones(ones, pairs)
        if columns == 0:
            return OnesDesign(rows, self.dtype)
        if pairs is None:
            size = rows * (columns + ones) * self.dtype.itemsize
        else:
            stored = source.stored + ones * rows
            size = _BYTES_PER_NUMBER * (stored + (int(pairs) if pairs <= MOST_PAIRS * stored else 0))
        if size > _MOST_COPIED * source.nbytes:
            return PartitionedDesign(source, ones=bool(ones), as_dense=pairs is None)
        chosen = slice(None) if source.columns is None else source.columns
        if pairs is None:
            whole = np.ones((rows, columns + ones), dtype=self.dtype)
            for here, piece in source.cut():
                some = piece[:, chosen]
                whole[here, :columns] = some.toarray() if source.is_sparse else some
            return DenseDesign(whole)
        csr = scipy.sparse.vstack([piece[:, chosen] for _, piece in source.cut()], format="csr")
        return SparseDesign(csr).with_ones(ones, pairs)

    def columns(self, chosen: Matrix) -> Design:
        chosen = np.asarray(chosen)
        is_one = chosen == self._width if self._ones else np.zeros(len(chosen), dtype=bool)
        if is_one[:-1].any():
            raise InputError("the column of ones must be the last")
        if len(chosen) and is_one.all():
            return OnesDesign(self.shape[0], self.dtype)
        view = self._source[:, chosen[~is_one]]
        return PartitionedDesign(view, ones=bool(is_one.any()), as_dense=self.is_dense, dtype=self.dtype)

    @cached_property
    def stored(self) -> int:
        if self.is_dense:
            return self.shape[0] * self.shape[1]
        return self._source.stored + int(self._ones) * self.shape[0]

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        wanted = np.arange(self.shape[1]) if columns is None else np.asarray(columns)
        is_one = wanted == self._width
        numbers = wanted[~is_one]
        if self._source.columns is not None:
            numbers = self._source.columns[numbers]
        dense = np.ones((len(rows), len(wanted)), dtype=self.dtype)
        for here, partition, local in self._locate(rows):
            dense[here, ~is_one] = wrap_matrix(partition).sample(local, numbers)
        return dense

    def rows(self, chosen: Matrix) -> Design:
        """Some rows as a design in memory."""
        if self.is_dense or self._ones:
            return DenseDesign(self.sample(chosen))
        taken = [partition[local] for _, partition, local in self._locate(chosen)]
        some = scipy.sparse.vstack(taken, format="csr")
        return SparseDesign(self._convert(some if self._source.columns is None else some[:, self._source.columns]))

    def _locate(self, rows: Matrix) -> Iterator[tuple[slice, Any, Matrix]]:
        """For every partition that has some of these rows: their places among them, and their numbers in it."""
        starts = self._source.starts
        places = np.searchsorted(rows, starts)
        for number, partition in enumerate(self._source.partitions):
            here = slice(int(places[number]), int(places[number + 1]))
            if here.start < here.stop:
                yield here, partition, rows[here] - starts[number]

    def with_dtype(self, dtype: Any, name: str) -> PartitionedDesign:
        return PartitionedDesign(self._source, ones=self._ones, as_dense=self.is_dense, dtype=dtype)

    def to_float64(self) -> Any:
        """A copy in memory, of all rows."""
        return self.rows(np.arange(self.shape[0])).to_float64()

    def arrays(self) -> tuple[Array, ...]:
        return tuple(array for arrays in self.arrays_by_partition() for array in arrays)

    def arrays_by_partition(self) -> Iterator[tuple[Array, ...]]:
        """The arrays of every partition, and what is common to all of them."""
        source = self._source
        chosen = np.arange(source.width) if source.columns is None else source.columns
        for partition in source.partitions:
            yield *wrap_matrix(partition).arrays(), chosen, np.array([self._ones])


def _square(piece: Any) -> Any:
    if not scipy.sparse.issparse(piece):
        return piece * piece
    return share(scipy.sparse.csr_array, piece.shape, piece.data * piece.data, piece.indices, piece.indptr)


def _transpose(piece: Any) -> Any:
    return transpose(piece) if scipy.sparse.issparse(piece) else piece.T
