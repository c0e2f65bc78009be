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
        self._pieces = _cut(matrix, most)
        most = min(most, matrix.nnz // (_LEAST_NUMBERS_PER_COLUMN * matrix.shape[1]))
        self._transposed = [(rows, piece.T) for rows, piece in _cut(matrix, most)]

    def image(self, v: Array) -> Array:
        """A·v."""
        if len(self._pieces) == 1:
            return self._pieces[0][1] @ v
        return np.concatenate(_run([partial(matmul, piece, v) for _, piece in self._pieces]))

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""
        if len(self._transposed) == 1:
            return self._transposed[0][1] @ r
        first, *others = _run([partial(matmul, piece, r[rows]) for rows, piece in self._transposed])
        for other in others:
            first += other
        return first


def _cut(matrix: Any, most: int) -> list[tuple[slice, Any]]:
    """Up to ``most`` pieces with about as many numbers each, which share the memory of the matrix."""
    rows, ends = matrix.shape[0], matrix.indptr
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], max(most, 1) + 1)[1:-1])
    starts = np.unique(np.concatenate([[0], cuts, [rows]]))
    if len(starts) <= 2:
        return [(slice(0, rows), matrix)]
    pieces = []
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        numbers = slice(ends[start], ends[stop])
        parts = matrix.data[numbers], matrix.indices[numbers], ends[start : stop + 1] - ends[start]
        pieces.append((slice(start, stop), scipy.sparse.csr_array(parts, shape=(stop - start, matrix.shape[1]))))
    return pieces


_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def _run(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all tasks, computed on as many threads as this process may use."""
    global _pool
    threads = _count_threads()
    if threads == 1:
        return [task() for task in tasks]
    if _pool is None:
        _pool = ThreadPoolExecutor(threads, thread_name_prefix="minmin")
    futures = [_pool.submit(task) for task in tasks]
    return [future.result() for future in futures]


def _count_threads() -> int:
    """The processors of this process, or fewer if OMP_NUM_THREADS says so, as for BLAS and scikit-learn."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, max(int(limit), 1)) if limit.isdecimal() else available
