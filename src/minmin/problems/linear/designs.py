"""Designs: the matrix of one block, with the products that a linear model needs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.linalg import get_blas_funcs

from minmin.core.arrays import Array, reshape, to_like, to_numpy, zeros
from minmin.errors import InputError
from minmin.numerics.row_pieces import Matrix, RowPairs, RowPieces, gram, share

_ROWS_AT_A_TIME = 2048
"""The number of rows of a dense design that are weighted at a time, so that they stay in the CPU cache.
Measured: docs/benchmarks/tuning.md."""

_NARROW = 24
"""Up to this many columns the whole of YᵀDY is computed, above it one triangle. Measured: docs/benchmarks/tuning.md."""
_FAR_LARGER = 1e3
"""Rows of weight 0 are replaced if they hold numbers so many times as large as all others, since those would spoil
bounds."""


_FEW = 2
"""Products use some columns alone if at most one in ``_FEW`` matters. Measured: docs/benchmarks/tuning.md."""


class Design(ABC):
    """The matrix A of one block, with n rows and d columns.

    If the loss has K > 1 outputs, coefficients v have the shape (d, K) and margins or residuals r the shape (n, K);
    otherwise (d,) and (n,).
    """

    shape: tuple[int, int]
    is_dense: bool = True
    """Whether zeros are stored, too."""
    is_in_memory: bool = False
    """Whether all numbers can be looked at in less time than a product takes."""
    proves_constants: bool = True
    """Whether the constants of a problem can be computed from its numbers."""

    @property
    def for_rows(self) -> Any:
        """What stands for this design in functions that ``minmin.core.rows`` calls."""
        return self

    @property
    @abstractmethod
    def prototype(self) -> Array:
        """An empty vector with the library, dtype and device of the design."""

    @abstractmethod
    def image(self, v: Array) -> Array:
        """A·v."""

    @abstractmethod
    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""

    @abstractmethod
    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        """Aᵀ diag(weights) A for weights >= 0, as a dense matrix.

        ``rows`` are the numbers of the rows to use, with one weight each; by default all rows.
        """

    @abstractmethod
    def column_squares(self, r: Array) -> Array:
        """(A∘A)ᵀ·r: for every column the weighted sum of its squares."""

    @abstractmethod
    def row_squares(self, v: Array) -> Array:
        """(A∘A)·v: for every row the weighted sum of its squares."""

    @cached_property
    def row_norms_squared(self) -> Array:
        """|a_i|² of every row, computed once."""
        return self.row_squares(zeros(self.shape[1], self.prototype) + 1.0)

    def zero_image(self, v: Array) -> Array:
        """A·v for v = 0, without a product."""
        return reshape(zeros(self.shape[0] * math.prod(v.shape[1:]), v), (self.shape[0], *v.shape[1:]))

    def ones(self) -> Array:
        """A one for every row."""
        return zeros(self.shape[0], self.prototype) + 1.0

    def __matmul__(self, v: Array) -> Array:
        return self.image(v)

    @abstractmethod
    def columns(self, chosen: Matrix) -> Design:
        """The design with only these columns."""

    def view_columns(self, chosen: Matrix) -> Design:
        """The design with only these columns, which ascend; a dense matrix is not copied if they are adjacent."""
        return self if len(chosen) == self.shape[1] else self.columns(chosen)

    def few_columns(self, chosen: Matrix) -> SomeColumns | None:
        """The products with these columns alone; None if they do not take clearly less time."""
        return None

    @abstractmethod
    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        """Yields a few rows at a time: their slice, and the rows as a dense matrix."""

    @property
    def stored(self) -> int:
        """How many numbers are stored."""
        return self.shape[0] * self.shape[1]

    @property
    def column_counts(self) -> Array:
        """How many numbers of every column are stored."""
        return np.full(self.shape[1], self.shape[0])

    def row_counts(self, wanted: Matrix) -> Array:
        """How many stored numbers every row has in some columns, given as a mask."""
        return np.full(self.shape[0], float(wanted.sum()))

    def count_pairs(self, wanted: Matrix, more: int = 0) -> float:
        """How many pairs of stored numbers in the same row some columns have, a number with itself included.

        ``wanted`` is a mask of columns. Every row has this many ``more`` numbers.
        """
        counts = self.row_counts(wanted) + more
        return 0.5 * float(counts @ (counts + 1.0))

    def with_ones(self, ones: int, pairs: float | None) -> Design:
        """The design of NumPy's numbers with this many columns of ones behind them, 0 or 1.

        ``pairs`` is what :meth:`count_pairs` tells of it; None if it takes less time to store zeros, too.
        """
        return DenseDesign(self.sample(np.arange(self.shape[0]))).with_ones(ones, pairs)

    def zero_column(self) -> Design:
        """A column of zeros for the same rows, sparse, so that no time is spent on it."""
        return SparseDesign(scipy.sparse.csr_array((self.shape[0], 1), dtype=self.prototype.dtype))

    def column_squares_in_double(self, r: Matrix) -> Matrix:
        """What :meth:`column_squares` gives in double precision."""
        return np.asarray(self.to_like(np.zeros(0), "the design").column_squares(r))

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        """Some rows of some columns, by default of all, as a dense matrix.

        The numbers of the rows ascend, and some may be repeated.
        """
        some = []
        for piece, dense in self.dense_pieces():
            here = rows[np.searchsorted(rows, piece.start) : np.searchsorted(rows, piece.stop)]
            if len(here):
                some.append(select(dense, here - piece.start, axis=0))
        chosen = array_namespace(some[0]).concat(some, axis=0)
        return chosen if columns is None else select(chosen, columns, axis=1)

    def blank_idle_rows(self, weights: Array) -> Design:
        """The design without the numbers in rows of weight 0, if they are far larger than the others and in memory."""
        return self

    def rows(self, chosen: Matrix) -> Design:
        """The design with only these rows, whose numbers ascend; some may be repeated."""
        return DenseDesign(self.sample(chosen))

    @abstractmethod
    def to_like(self, prototype: Array, name: str) -> Design:
        """The same design in the library, dtype and device of ``prototype``; ``name`` is for error messages."""

    @abstractmethod
    def to_float64(self) -> Any:
        """The matrix in float64, as scipy.sparse or NumPy, to compute constants from."""

    @abstractmethod
    def arrays(self) -> tuple[Array, ...]:
        """The arrays in the design, to distinguish it from others in checkpoints."""

    def place_rows(self, vector: Array) -> Array:
        """A vector with one entry per row, brought from a checkpoint to where the rows are."""
        return vector

    def make_metrics(self) -> Any:
        """What a run records of the work on these rows beside its calls; None for nothing."""
        return None


class DenseDesign(Design):
    """A matrix of any array library."""

    is_in_memory = True

    def __init__(self, matrix: Array):
        self.matrix = matrix
        self.shape = tuple(matrix.shape)

    @property
    def prototype(self) -> Array:
        return self.matrix[0, :0]

    def image(self, v: Array) -> Array:
        return self.matrix @ v

    def adjoint(self, r: Array) -> Array:
        return self.matrix.T @ r

    def blank_idle_rows(self, weights: Array) -> DenseDesign:
        blank = blank_idle_rows(self.matrix, weights)
        return self if blank is self.matrix else DenseDesign(blank)

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        if rows is not None:
            return DenseDesign(select(self.matrix, rows, axis=0)).gram(weights)
        if is_numpy_array(self.matrix) and (weights == weights[0]).all():  # as for least squares
            return weights[0] * (self.matrix.T @ self.matrix)
        if is_numpy_array(self.matrix) and self.shape[1] > _NARROW:
            return self._gram_by_blas(weights)
        return reduce(add, (some.T @ (weights[piece, None] * some) for piece, some in self.dense_pieces()), 0.0)

    def _gram_by_blas(self, weights: Array) -> Array:
        """The same with half the arithmetic: BLAS computes only one triangle."""
        (syrk,) = get_blas_funcs(("syrk",), (self.matrix,))
        roots = np.sqrt(weights)
        triangle = np.zeros((self.shape[1],) * 2, dtype=self.matrix.dtype, order="F")
        for piece, some in self.dense_pieces():
            triangle = syrk(1.0, (some * roots[piece, None]).T, beta=1.0, c=triangle, overwrite_c=1)
        return triangle + np.triu(triangle, 1).T

    def column_squares(self, r: Array) -> Array:
        return reduce(add, ((some * some).T @ r[piece, ...] for piece, some in self.dense_pieces()), 0.0)

    def row_squares(self, v: Array) -> Array:
        return array_namespace(self.matrix).concat([(some * some) @ v for _, some in self.dense_pieces()])

    @cached_property
    def row_norms_squared(self) -> Array:
        if is_numpy_array(self.matrix):
            return np.einsum("ij,ij->i", self.matrix, self.matrix)
        xp = array_namespace(self.matrix)
        return xp.concat([xp.sum(some * some, axis=1) for _, some in self.dense_pieces()])

    def columns(self, chosen: Matrix) -> DenseDesign:
        return DenseDesign(select(self.matrix, chosen, axis=1))

    def view_columns(self, chosen: Matrix) -> DenseDesign:
        return self if len(chosen) == self.shape[1] else DenseDesign(_cut_columns(self.matrix, chosen))

    def with_ones(self, ones: int, pairs: float | None) -> DenseDesign:
        if not ones:
            return self
        whole = np.ones((self.shape[0], self.shape[1] + ones), dtype=self.matrix.dtype)
        whole[:, :-1] = self.matrix
        return DenseDesign(whole)

    def column_squares_in_double(self, r: Matrix) -> Matrix:
        return np.asarray(np.einsum("ij,ij,i->j", self.matrix, self.matrix, r, dtype=np.float64))

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        for piece in piece_rows(self.shape[0]):
            yield piece, self.matrix[piece, :]

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        some = select(self.matrix, rows, axis=0)
        return some if columns is None else select(some, columns, axis=1)

    def to_like(self, prototype: Array, name: str) -> DenseDesign:
        return DenseDesign(to_like(self.matrix, prototype))

    def to_float64(self) -> Matrix:
        return to_numpy(self.matrix).astype(np.float64)

    def arrays(self) -> tuple[Array, ...]:
        return (self.matrix,)


class NumpyDesign(Design):
    """A design that works only with vectors of NumPy.

    Attributes
    ----------
    dtype : numpy.dtype
        float32 or float64, the precision of products.
    refusal : str
        What to say of the design where vectors are of another library.
    """

    dtype: np.dtype[Any]
    refusal: str

    @property
    def prototype(self) -> Array:
        return np.zeros(0, dtype=self.dtype)

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        for piece in piece_rows(self.shape[0]):
            yield piece, self.sample(np.arange(piece.start, piece.stop))

    def to_like(self, prototype: Array, name: str) -> Design:
        if not is_numpy_array(prototype):
            raise InputError(f"{name} {self.refusal}")
        return self if prototype.dtype == self.dtype else self.with_dtype(prototype.dtype, name)

    @abstractmethod
    def with_dtype(self, dtype: Any, name: str) -> Design:
        """The same design with products in another precision; ``name`` is for error messages."""


class SparseDesign(NumpyDesign):
    """A scipy.sparse CSR array without duplicate entries."""

    is_dense = False
    is_in_memory = True
    refusal = "is scipy.sparse, which works only with NumPy vectors; give x0 and y0 as NumPy arrays"

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype

    @cached_property
    def _pieces(self) -> RowPieces:
        return RowPieces.of_matrix(self.matrix)

    def image(self, v: Array) -> Array:
        return self._pieces.image(v)

    def adjoint(self, r: Array) -> Array:
        return self._pieces.adjoint(r)

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        if rows is not None:
            return gram(self.matrix[rows], weights)
        return gram(self.matrix, weights) if self._pairs is None else self._pairs.gram(weights)

    @cached_property
    def _pairs(self) -> RowPairs | None:
        return RowPairs(self.matrix) if RowPairs.are_few(self.matrix) else None

    @cached_property
    def _squared(self) -> RowPieces:
        """A∘A, which shares its indices with A."""
        m = self.matrix
        return RowPieces.of_matrix(share(scipy.sparse.csr_array, m.shape, m.data * m.data, m.indices, m.indptr))

    def column_squares(self, r: Array) -> Array:
        return self._squared.adjoint(r)

    def row_squares(self, v: Array) -> Array:
        return self._squared.image(v)

    @cached_property
    def row_norms_squared(self) -> Array:
        return self._squared.image(np.ones(self.shape[1], dtype=self.dtype))

    def columns(self, chosen: Matrix) -> SparseDesign:
        return SparseDesign(_cut_columns(self.matrix, chosen))

    @property
    def column_counts(self) -> Array:
        return np.bincount(self.matrix.indices, minlength=self.shape[1])

    def row_counts(self, wanted: Matrix) -> Array:
        before = np.concatenate([[0], np.cumsum(wanted[self.matrix.indices])])
        return np.diff(before[self.matrix.indptr]).astype(np.float64)

    def with_ones(self, ones: int, pairs: float | None) -> Design:
        if pairs is None:
            return DenseDesign(self.matrix.toarray()).with_ones(ones, pairs)
        if not ones:
            return self
        rows = self.shape[0]
        of_ones = np.ones(rows, dtype=self.dtype), np.zeros(rows, dtype=np.int32), np.arange(rows + 1, dtype=np.int32)
        column = scipy.sparse.csr_array(of_ones, shape=(rows, 1))
        return SparseDesign(scipy.sparse.hstack([self.matrix, column], format="csr"))

    def column_squares_in_double(self, r: Matrix) -> Matrix:
        m = self.matrix
        squares = np.repeat(r, np.diff(m.indptr)) * np.square(m.data, dtype=np.float64)
        return np.bincount(m.indices, squares, m.shape[1])

    def few_columns(self, chosen: Matrix) -> SomeColumns | None:
        return SomeColumns(self._by_columns[:, chosen]) if _FEW * len(chosen) <= self.shape[1] else None

    @cached_property
    def _by_columns(self) -> Any:
        return self.matrix.tocsc()

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        for piece in piece_rows(self.shape[0]):
            yield piece, self.matrix[piece].toarray()

    @property
    def stored(self) -> int:
        return int(self.matrix.data.size)

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        some = self.matrix[rows]
        if columns is None or np.array_equal(columns, np.arange(self.shape[1])):
            return some.toarray()
        place = np.full(self.shape[1], -1)
        place[columns] = np.arange(len(columns))
        column = place[some.indices]
        kept = column >= 0
        row = np.repeat(np.arange(len(rows)), np.diff(some.indptr))
        dense = np.zeros((len(rows), len(columns)), dtype=self.matrix.dtype)
        dense[row[kept], column[kept]] = some.data[kept]
        return dense

    def blank_idle_rows(self, weights: Array) -> SparseDesign:
        blank = blank_idle_rows(self.matrix, weights)
        return self if blank is self.matrix else SparseDesign(blank)

    def rows(self, chosen: Matrix) -> SparseDesign:
        return SparseDesign(self.matrix[chosen])

    def with_dtype(self, dtype: Any, name: str) -> SparseDesign:
        return SparseDesign(self.matrix.astype(dtype))

    def to_float64(self) -> Any:
        return self.matrix.astype(np.float64)

    def arrays(self) -> tuple[Array, ...]:
        return self.matrix.data, self.matrix.indices, self.matrix.indptr


class SomeColumns:
    """Products with a few sparse columns, which are stored one after the other."""

    def __init__(self, matrix: Any):
        self.matrix = matrix

    def image(self, v: Array) -> Array:
        """A·v."""
        return self.matrix @ v

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""
        return self.matrix.T @ r

    def column_squares(self, r: Array) -> Array:
        """(A∘A)ᵀ·r."""
        return self.matrix.power(2).T @ r


def piece_rows(rows: int) -> Iterator[slice]:
    """Slices of a few rows each, so that no second design is held in memory."""
    for start in range(0, rows, _ROWS_AT_A_TIME):
        yield slice(start, min(start + _ROWS_AT_A_TIME, rows))


def select(matrix: Array, chosen: Matrix, axis: int = 0) -> Array:
    """Some rows, or some columns, of an array of any library."""
    if is_numpy_array(matrix):
        return matrix.take(chosen, axis=axis)
    xp = array_namespace(matrix)
    return xp.take(matrix, xp.asarray(chosen, device=device(matrix)), axis=axis)


def _cut_columns(matrix: Any, chosen: Matrix) -> Any:
    """Some columns of an array or a CSR array; a view of an array if they are adjacent."""
    is_run = len(chosen) > 0 and (np.diff(chosen) == 1).all()
    return matrix[:, chosen[0] : chosen[-1] + 1] if is_run else matrix[:, chosen]


def wrap_matrix(matrix: Any) -> Design:
    """The design of finite float32 or float64 numbers, dense or a tidy CSR array."""
    return SparseDesign(matrix) if scipy.sparse.issparse(matrix) else DenseDesign(matrix)


def blank_idle_rows(matrix: Any, weights: Any, fill: float = 0.0) -> Any:
    """The matrix, or vector, with ``fill`` in its rows of weight 0 if their numbers are far larger than the others.

    Anything but arrays of NumPy and CSR stays as it is.
    """
    is_sparse = scipy.sparse.issparse(matrix)
    if not (is_sparse or isinstance(matrix, np.ndarray)) or np.all(weights):
        return matrix
    idle = np.asarray(weights) == 0.0
    values = matrix.data if is_sparse else matrix
    mask = np.repeat(idle, np.diff(matrix.indptr)) if is_sparse else idle.reshape(-1, *[1] * (matrix.ndim - 1))
    sizes, mask = np.abs(values), np.broadcast_to(mask, values.shape)
    if not sizes.max(where=mask, initial=0.0) > _FAR_LARGER * sizes.max(where=~mask, initial=0.0):
        return matrix
    blank = np.where(mask, values.dtype.type(fill), values)
    return scipy.sparse.csr_array((blank, matrix.indices, matrix.indptr), shape=matrix.shape) if is_sparse else blank
