"""Turns the columns of a data frame into a matrix: text columns become one column per category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from pandas.api.types import is_numeric_dtype

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Data
from minmin.errors import InputError

_SPARSE_BELOW = 0.3
"""The matrix is sparse if less than this share of its entries is not zero, as in scikit-learn's ColumnTransformer."""


def encode(
    frame: Any, blocks: Mapping[str, Sequence[str]], target: Vector, weights: Vector | None = None, *, ones: str | None
) -> Data:
    """The columns of each block, in order; the block ``ones`` ends with a column of ones, which is an intercept."""
    parts: list[Any] = []
    columns: dict[str, slice] = {}
    one_hot: list[slice] = []
    width = 0
    for block, names in blocks.items():
        first = width
        for name in names:
            part, is_text = _encode_column(frame[name], name)
            if is_text:
                one_hot.append(slice(width, width + part.shape[1]))
            parts.append(part)
            width += part.shape[1]
        if block == ones:
            parts.append(scipy.sparse.csr_array(np.ones((len(frame), 1))))
            width += 1
        columns[block] = slice(first, width)
    return Data(choose_form(scipy.sparse.hstack(parts, format="csr")), target, columns, weights, tuple(one_hot))


def choose_form(matrix: Any) -> Any:
    """A CSR matrix as it is, or as a dense array if that is the form in which users have such data."""
    density = matrix.nnz / (matrix.shape[0] * matrix.shape[1])
    return scipy.sparse.csr_array(matrix) if density < _SPARSE_BELOW else matrix.toarray()


def encode_codes(codes: Vector, count: int) -> scipy.sparse.csr_array:
    """One column per code."""
    n = len(codes)
    return scipy.sparse.csr_array((np.ones(n), codes.astype(np.int32), np.arange(n + 1)), shape=(n, count))


def _encode_column(column: Any, name: str) -> tuple[scipy.sparse.csr_array, bool]:
    if is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise InputError(f"column {name!r} has no finite number in row {row + 1}; fill it, or leave the column out")
        return scipy.sparse.csr_array(numbers[:, None]), False
    categories, codes = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)
    return encode_codes(codes, len(categories)), True
