"""Products with sparse matrices: in pieces of rows, so that several threads can share the work, and Gram matrices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from itertools import pairwise
from operator import matmul
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array

Matrix = np.ndarray[Any, Any]

_NUMBERS_PER_PIECE, _MOST_PIECES = 500_000, 8
"""A piece has at least this many numbers, so that handing it to another thread takes little of its time; there are at
most ``_MOST_PIECES``. Measured: docs/benchmarks/tuning.md."""
_LEAST_NUMBERS_PER_COLUMN = 8
"""Every piece of a product with Aᵀ is a whole vector, so a piece must have this many numbers per column. The vectors
then take less than a tenth of the time."""
_CODES_PER_PIECE = 400_000
"""All pieces of codes share the ones of one piece. Measured: docs/benchmarks/tuning.md."""
_MOST_GROUPS = 8
"""Pieces of Aᵀ·r with codes are added up in at most this many groups, each by one thread."""
MOST_PAIRS = 4
"""There may be this many products for every entry of the matrix, since each takes as much memory.
Measured: docs/benchmarks/tuning.md."""

T = TypeVar("T")


class RowPieces:
    """A sparse matrix A in pieces of rows, with products A·v and Aᵀ·r.

    How it is cut depends on A alone, and pieces are added in their order. So results are the same, to the last bit, for
    every number of threads.

    Parameters
    ----------
    pieces : sequence of CSR arrays
        A is these, one above the other.
    groups : sequence of sequences of (slice, CSC array)
        Rows of A, and their transpose. Every group is added up by one thread.
    whole : CSR array, optional
        A, for a single thread.
    """

    def __init__(self, pieces: Sequence[Any], groups: Sequence[Sequence[tuple[slice, Any]]], whole: Any = None):
        self._pieces, self._groups, self._whole = pieces, groups, whole

    @classmethod
    def of_matrix(cls, matrix: Any) -> Self:
        """The pieces of a CSR array, which share its memory."""
        most = min(_MOST_PIECES, matrix.nnz // _NUMBERS_PER_PIECE)
        pieces = [piece for _, piece in _cut(matrix, most)]
        most = min(most, matrix.nnz // (_LEAST_NUMBERS_PER_COLUMN * matrix.shape[1]))
        return cls(pieces, [[(rows, transpose(piece))] for rows, piece in _cut(matrix, most)], matrix)

    @classmethod
    def of_codes(cls, columns: Matrix, width: int, dtype: Any) -> Self:
        """The pieces of a matrix that has a one in every column that a row names.

        Parameters
        ----------
        columns : contiguous array of shape (n, q), int32 or int64
            The numbers of q columns for every row.
        width : int
            The number of columns of A.
        dtype : float32 or float64
        """
        rows, per_row = columns.shape
        at_once = count_rows_at_once(per_row, width)
        ones = np.ones(min(rows, at_once) * per_row, dtype=dtype)
        ends = np.arange(0, len(ones) + 1, per_row, dtype=columns.dtype) if per_row else np.zeros(rows + 1, np.int32)
        slices = [slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once)]
        pieces = []
        for some in slices:
            count = some.stop - some.start
            parts = ones[: count * per_row], columns[some].reshape(-1), ends[: count + 1]
            pieces.append(share(scipy.sparse.csr_array, (count, width), *parts))
        transposed = [(some, transpose(piece)) for some, piece in zip(slices, pieces, strict=True)]
        groups = min(_MOST_GROUPS, len(pieces))
        cuts = [len(pieces) * i // groups for i in range(groups + 1)]
        return cls(pieces, [transposed[first:last] for first, last in pairwise(cuts)])

    def image(self, v: Array) -> Array:
        """A·v."""
        if len(self._pieces) == 1:
            return self._pieces[0] @ v
        if self._whole is not None and _count_threads() == 1:
            return self._whole @ v  # every row on its own, so the bits are those of the pieces
        return np.concatenate(run_tasks([partial(matmul, piece, v) for piece in self._pieces]))

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""
        if len(self._groups) == 1:
            return _add_pieces(self._groups[0], r)
        return sum_tasks([partial(_add_pieces, group, r) for group in self._groups])


def count_rows_at_once(per_row: int, width: int) -> int:
    """How many rows a piece has, if every row names this many columns."""
    return max(_CODES_PER_PIECE, _LEAST_NUMBERS_PER_COLUMN * width) // max(per_row, 1) + 1


def _add_pieces(pieces: Sequence[tuple[slice, Any]], r: Array) -> Array:
    return reduce(_add, (piece @ r[rows] for rows, piece in pieces), None)


def _add(total: Any, more: Array) -> Array:
    """The sum in the memory of the total, if there is one."""
    if total is None:
        return more
    total += more
    return total


def _cut(matrix: Any, most: int) -> list[tuple[slice, Any]]:
    """Up to ``most`` pieces with about as many numbers each, which share the memory of the matrix."""
    rows, ends = matrix.shape[0], matrix.indptr
    targets = np.linspace(0, ends[-1], most + 1)[1:-1].astype(ends.dtype)  # of another dtype, all ends are converted
    cuts = np.searchsorted(ends, targets)
    starts = np.unique(np.concatenate([[0], cuts, [rows]]))
    if len(starts) <= 2:
        return [(slice(0, rows), matrix)]
    pieces = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        numbers = slice(ends[start], ends[stop])
        parts = matrix.data[numbers], matrix.indices[numbers], ends[start : stop + 1] - ends[start]
        piece = share(scipy.sparse.csr_array, (stop - start, matrix.shape[1]), *parts)
        pieces.append((slice(start, stop), piece))
    return pieces


def transpose(csr: Any) -> Any:
    """Aᵀ of a CSR array A, which shares its memory."""
    return share(scipy.sparse.csc_array, csr.shape[::-1], csr.data, csr.indices, csr.indptr)


def share(kind: Any, shape: tuple[int, ...], data: Array, indices: Array, indptr: Array) -> Any:
    """A CSR or CSC array that shares its memory; its constructor would copy parts of larger arrays."""
    array = kind(shape, dtype=data.dtype)
    array.data, array.indices, array.indptr = data, indices, indptr
    return array


_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def run_tasks(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all tasks, shared by this thread and others."""
    threads = min(_count_threads(), len(tasks))
    shares = [tasks[len(tasks) * i // threads : len(tasks) * (i + 1) // threads] for i in range(threads)]
    others = [_start_pool().submit(_run_in_turn, share) for share in shares[1:]]
    results = _run_in_turn(shares[0])
    for other in others:
        results += other.result()
    return results


def sum_tasks(tasks: Sequence[Callable[[], Array]]) -> Array:
    """The sum of the results, added in their order; there are never more of them than threads."""
    threads = _count_threads()
    total: Any = None
    for start in range(0, len(tasks), threads):
        total = reduce(_add, run_tasks(tasks[start : start + threads]), total)
    return total


def _run_in_turn(tasks: Sequence[Callable[[], T]]) -> list[T]:
    return [task() for task in tasks]


def _start_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_count_threads(), thread_name_prefix="minmin")
    return _pool


def _count_threads() -> int:
    """The processors of this process, or fewer if OMP_NUM_THREADS says so, as for BLAS and scikit-learn."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, max(int(limit), 1)) if limit.isdecimal() else available


class RowPairs:
    """The products A_ij·A_ik of all pairs of entries in the same row, each pair once.

    Parameters
    ----------
    matrix : CSR array without duplicate entries
    """

    def __init__(self, matrix: Any):
        rows, self._columns = matrix.shape
        later = _count_later(matrix)
        ends = np.concatenate([[0], np.cumsum(later)])
        count = int(ends[-1])
        fits = max(self._columns**2, count, matrix.nnz) <= np.iinfo(np.int32).max
        index_dtype = np.int32 if fits else np.int64
        shifts = (np.arange(matrix.nnz) - ends[:-1]).astype(index_dtype)
        right = np.arange(count, dtype=index_dtype) + np.repeat(shifts, later)
        columns = matrix.indices.astype(index_dtype)
        places = np.repeat(self._columns * columns, later) + columns[right]
        values = np.repeat(matrix.data, later) * matrix.data[right]
        pointers = ends[matrix.indptr].astype(index_dtype)
        products = scipy.sparse.csr_array((values, places, pointers), shape=(rows, self._columns**2))
        self._transposed = products.T

    @staticmethod
    def are_few(matrix: Any) -> bool:
        """Whether there are so few pairs that it is worth keeping them."""
        return bool(_count_later(matrix).sum() <= MOST_PAIRS * matrix.nnz)

    def gram(self, weights: Matrix) -> Matrix:
        """Aᵀ diag(weights) A as a dense matrix."""
        return add_mirrored((self._transposed @ weights).reshape(self._columns, self._columns))


def add_mirrored(once: Matrix) -> Matrix:
    """The symmetric matrix of which every pair of entries was computed as a sum once, in either of the two places."""
    both: Matrix = once + once.T
    np.fill_diagonal(both, np.diagonal(once))
    return both


def _count_later(matrix: Any) -> Matrix:
    """For every stored entry, how many entries of its row are stored from there on, itself included."""
    row_ends: Matrix = np.repeat(matrix.indptr[1:], np.diff(matrix.indptr))
    return row_ends - np.arange(matrix.nnz)


def gram(matrix: Any, weights: Matrix, other: Any = None) -> Matrix:
    """Aᵀ diag(w) B as a dense matrix; by default B is A."""
    right = matrix if other is None else other
    weighted = right.multiply(weights[:, None]).tocsr() if scipy.sparse.issparse(right) else right * weights[:, None]
    product = matrix.T @ weighted
    return np.asarray(product.todense() if scipy.sparse.issparse(product) else product)
