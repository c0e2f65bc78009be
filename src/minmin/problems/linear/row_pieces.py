"""Products with a sparse matrix in pieces of rows, so that several threads can share the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import matmul
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array

_NUMBERS_PER_PIECE, _MOST_PIECES = 500_000, 8
"""A product with this many numbers takes 0.4 ms, and to hand it to another thread 0.03 ms."""
_LEAST_NUMBERS_PER_COLUMN = 8
"""Every piece of a product with Aᵀ is a whole vector, so a piece must have this many numbers per column. The vectors
then take less than a tenth of the time."""

T = TypeVar("T")


class RowPieces:
    """A CSR array A with products A·v and Aᵀ·r.

    How it is cut depends on A alone, and pieces are added in their order. So results are the same, to the last bit, for
    every number of threads.
    """

    def __init__(self, matrix: Any):
        most = min(_MOST_PIECES, matrix.nnz // _NUMBERS_PER_PIECE)
        self._matrix, self._pieces = matrix, _cut(matrix, most)
        most = min(most, matrix.nnz // (_LEAST_NUMBERS_PER_COLUMN * matrix.shape[1]))
        self._transposed = [(rows, transpose(piece)) for rows, piece in _cut(matrix, most)]

    def image(self, v: Array) -> Array:
        """A·v."""
        if len(self._pieces) == 1 or _count_threads() == 1:
            return self._matrix @ v  # every row on its own, so the bits are those of the pieces
        return np.concatenate(run_tasks([partial(matmul, piece, v) for _, piece in self._pieces]))

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""
        if len(self._transposed) == 1:
            return self._transposed[0][1] @ r
        return sum_tasks([partial(matmul, piece, r[rows]) for rows, piece in self._transposed])


def _cut(matrix: Any, most: int) -> list[tuple[slice, Any]]:
    """Up to ``most`` pieces with about as many numbers each, which share the memory of the matrix."""
    rows, ends = matrix.shape[0], matrix.indptr
    if most <= 1:
        return [(slice(0, rows), matrix)]
    targets = np.linspace(0, ends[-1], most + 1)[1:-1].astype(ends.dtype)  # of another dtype, all ends are converted
    cuts = np.searchsorted(ends, targets)
    starts = np.unique(np.concatenate([[0], cuts, [rows]]))
    if len(starts) <= 2:
        return [(slice(0, rows), matrix)]
    pieces = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        piece = scipy.sparse.csr_array((stop - start, matrix.shape[1]), dtype=matrix.dtype)
        numbers = slice(ends[start], ends[stop])
        fill(piece, matrix.data[numbers], matrix.indices[numbers], ends[start : stop + 1] - ends[start])
        pieces.append((slice(start, stop), piece))
    return pieces


def transpose(csr: Any) -> Any:
    """Aᵀ of a CSR array A, which shares its memory."""
    csc = scipy.sparse.csc_array(csr.shape[::-1], dtype=csr.dtype)
    fill(csc, csr.data, csr.indices, csr.indptr)
    return csc


def fill(empty: Any, data: Array, indices: Array, indptr: Array) -> None:
    """Give an empty sparse array its content; its constructor would copy parts of larger arrays."""
    empty.data, empty.indices, empty.indptr = data, indices, indptr


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
        for result in run_tasks(tasks[start : start + threads]):
            if total is None:
                total = result
            else:
                total += result
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
