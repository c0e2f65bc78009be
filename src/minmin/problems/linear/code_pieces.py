"""Products with a matrix of zeros and ones that is stored as column numbers alone, as many in every row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import matmul
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array
from minmin.problems.linear.row_pieces import fill, run_tasks, sum_tasks
from minmin.problems.spectrum import Matrix

_NUMBERS_PER_PIECE = 400_000
"""All pieces share the ones of one piece, 3.2 MB. For 10⁶ rows of 20 numbers out of 200,000, A·v takes 29 ms and Aᵀ·r
36 ms; with a one for every number, as in a CSR array, 34 and 35 ms and 160 MB more."""
_NUMBERS_PER_COLUMN = 8
"""Every piece of Aᵀ·r is a whole vector, so a piece has at least this many numbers per column."""
_MOST_GROUPS = 8
"""Pieces of Aᵀ·r are added up in at most this many groups, each by one thread."""


class CodePieces:
    """A matrix A with a one in every column that a row names; with products A·v and Aᵀ·r.

    How it is cut depends on A alone, and pieces are added in their order. So results are the same, to the last bit, for
    every number of threads.

    Parameters
    ----------
    columns : contiguous array of shape (n, q), int32 or int64
        The numbers of q columns for every row.
    width : int
        The number of columns of A.
    dtype : float32 or float64
    """

    def __init__(self, columns: Matrix, width: int, dtype: Any):
        rows, per_row = columns.shape
        at_once = count_rows_at_once(per_row, width)
        ones = np.ones(min(rows, at_once) * per_row, dtype=dtype)
        ends = np.arange(0, len(ones) + 1, per_row, dtype=columns.dtype) if per_row else np.zeros(rows + 1, np.int32)
        self._pieces, self._transposed = [], []
        for start in range(0, rows, at_once):
            piece = slice(start, min(start + at_once, rows))
            count = piece.stop - piece.start
            parts = ones[: count * per_row], columns[piece].reshape(-1), ends[: count + 1]
            forth = scipy.sparse.csr_array((count, width), dtype=dtype)
            back = scipy.sparse.csc_array((width, count), dtype=dtype)
            fill(forth, *parts)
            fill(back, *parts)
            self._pieces.append(forth)
            self._transposed.append((piece, back))
        groups = min(_MOST_GROUPS, len(self._pieces))
        cuts = [len(self._pieces) * i // groups for i in range(groups + 1)]
        self._groups = [self._transposed[first:last] for first, last in pairwise(cuts)]

    def image(self, v: Array) -> Array:
        """A·v."""
        if len(self._pieces) == 1:
            return self._pieces[0] @ v
        return np.concatenate(run_tasks([partial(matmul, piece, v) for piece in self._pieces]))

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r."""
        return sum_tasks([partial(_add_pieces, group, r) for group in self._groups])


def count_rows_at_once(per_row: int, width: int) -> int:
    """How many rows a piece has."""
    return max(_NUMBERS_PER_PIECE, _NUMBERS_PER_COLUMN * width) // max(per_row, 1) + 1


def _add_pieces(pieces: Sequence[tuple[slice, Any]], r: Array) -> Array:
    total: Any = None
    for piece, matrix in pieces:
        product = matrix @ r[piece]
        if total is None:
            total = product
        else:
            total += product
    return total
