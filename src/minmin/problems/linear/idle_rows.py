"""Rows of weight 0: numbers in them that are far larger than all others would spoil bounds, so they are replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

_FAR_LARGER = 1e3


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
