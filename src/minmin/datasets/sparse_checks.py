"""Sparse matrices of users: checked, and as CSR arrays that SciPy can work with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from minmin.errors import InputError


def require_indices(matrix: Any, name: str) -> None:
    """Raise if an index of a sparse matrix is out of range: SciPy would read outside of its arrays.

    Takes a few passes over the indices. ``name`` is what the user calls the matrix. Formats without arrays of indices
    are left to SciPy. Nothing is asked of what is not sparse.
    """
    if not scipy.sparse.issparse(matrix):
        return
    try:
        if matrix.format == "coo":
            type(matrix)((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)  # looks at the indices
        elif matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"{name} is not a valid {matrix.format} matrix: {error}; build it anew") from None


def read_csr(matrix: Any, name: str) -> Any:
    """A user's sparse matrix of any format as a tidy CSR array of float32 or float64."""
    require_indices(matrix, name)
    csr = scipy.sparse.csr_array(matrix)
    if csr.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {csr.dtype}; give real numbers (float32 or float64)")
    return tidy_csr(csr if csr.dtype in (np.float32, np.float64) else csr.astype(np.float64))


def tidy_csr(csr: Any) -> Any:
    """The same matrix as a CSR array without duplicate entries, and with 32-bit indices if these suffice.

    What is not sparse is returned unchanged.

    Duplicates are summed, since the squares of duplicates do not sum to the square of the entry. Products take
    up to 1.5 times as long with 64-bit indices.
    """
    if not scipy.sparse.issparse(csr):
        return csr
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    largest_index = max(csr.nnz, csr.shape[1])
    index_dtype = np.int32 if largest_index <= np.iinfo(np.int32).max else np.int64
    indices, pointers = (array.astype(index_dtype, copy=False) for array in (csr.indices, csr.indptr))
    return scipy.sparse.csr_array((csr.data, indices, pointers), shape=csr.shape)
