"""Design matrices of a GLM, sparse or dense of any array library: checks, conversions, weighted Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.linalg import get_blas_funcs

from minmin.errors import InputError
from minmin.problems.spectrum import Matrix, gram
from minmin.space import Array, as_real, dtype_name, like, require_finite, to_numpy

_ROWS_AT_A_TIME = 2048
"""So many rows of a dense design, weighted, fit a cache."""


def checked_design(matrix: Any, name: str) -> Any:
    """A design as CSR or as a dense floating array."""
    if scipy.sparse.issparse(matrix):
        csr = scipy.sparse.csr_array(matrix)
        if csr.dtype.kind not in "fiub":
            raise InputError(f"{name} has dtype {csr.dtype}; give real numbers")
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        require_finite(csr.data, f"the stored values of {name}")
        design = without_duplicates(csr)
    else:
        design = as_real(matrix, name)
        if design.ndim != 2:
            raise InputError(f"{name} has shape {tuple(design.shape)}; it must be a matrix, one row a sample")
        require_finite(design, name)
    if 0 in design.shape:
        raise InputError(f"{name} has shape {tuple(design.shape)}; both blocks need a column, and a row")
    return design


def without_duplicates(csr: Any) -> Any:
    """The same matrix with every entry stored once, since squares of its parts do not sum to its square."""
    if csr.has_canonical_format:
        return csr
    csr = csr.copy()
    csr.sum_duplicates()
    return csr


def in_one_dtype(X: Any, Y: Any) -> tuple[Any, Any]:
    """Two designs in the wider of their dtypes; both dense ones must come from one library."""
    libraries = {np if scipy.sparse.issparse(A) else array_namespace(A) for A in (X, Y)}
    if len(libraries) > 1 and not all(scipy.sparse.issparse(A) or is_numpy_array(A) for A in (X, Y)):
        raise InputError("X and Y must be of one array library; scipy.sparse goes with NumPy")
    if dtype_name(X) == dtype_name(Y):
        return X, Y
    return _as_float64(X), _as_float64(Y)


def _as_float64(design: Any) -> Any:
    if scipy.sparse.issparse(design):
        return design.astype(np.float64)
    xp = array_namespace(design)
    return xp.astype(design, xp.float64, copy=False)


def vector_model(X: Any, Y: Any) -> Array:
    """An empty vector of the library, dtype and device that go with the designs."""
    dense = next((A for A in (X, Y) if not scipy.sparse.issparse(A)), None)
    return np.zeros(0, dtype=X.dtype) if dense is None else dense[0, :0]


def checked_column(values: Any, name: str, rows: int, model: Array) -> Array:
    column = as_real(values, name, model)
    if column.shape != (rows,):
        raise InputError(f"{name} has shape {tuple(column.shape)}; X has {rows} rows, so it must be ({rows},)")
    require_finite(column, name)
    return like(column, model)


def stored_arrays(design: Any) -> tuple[Any, ...]:
    return (design.data, design.indices, design.indptr) if scipy.sparse.issparse(design) else (design,)


def some_columns(design: Any, columns: Matrix) -> Any:
    """The design of these columns alone."""
    if scipy.sparse.issparse(design) or is_numpy_array(design):
        return design[:, columns]
    xp = array_namespace(design)
    return xp.take(design, xp.asarray(columns, device=device(design)), axis=1)


def design_like(design: Any, model: Array, name: str) -> Any:
    if not scipy.sparse.issparse(design):
        return like(design, model)
    if not is_numpy_array(model):
        raise InputError(f"{name} is scipy.sparse, which works with NumPy vectors only; start from NumPy arrays")
    return design.astype(model.dtype)


def plain(design: Any) -> Matrix | Any:
    """The design in float64, sparse or NumPy, to compute constants from."""
    return design.astype(np.float64) if scipy.sparse.issparse(design) else to_numpy(design).astype(np.float64)


def pieces(rows: int) -> list[slice]:
    """The rows, a few at a time, so that no second design is held."""
    return [slice(start, min(start + _ROWS_AT_A_TIME, rows)) for start in range(0, rows, _ROWS_AT_A_TIME)]


def weighted_gram(design: Any, weights: Array) -> Array:
    """Aᵀ diag(w) A for w >= 0, dense."""
    if scipy.sparse.issparse(design):
        return gram(design, weights)
    if is_numpy_array(design):
        return _weighted_gram_by_blas(design, weights)
    total: Any = 0.0
    for piece in pieces(design.shape[0]):
        rows = design[piece, :]
        total = rows.T @ (weights[piece, None] * rows) + total
    return total


def _weighted_gram_by_blas(design: Array, weights: Array) -> Array:
    """The same with half of the arithmetic: BLAS computes one triangle."""
    (syrk,) = get_blas_funcs(("syrk",), (design,))
    roots = np.sqrt(weights)
    triangle = np.zeros((design.shape[1],) * 2, dtype=design.dtype, order="F")
    for piece in pieces(design.shape[0]):
        rows = design[piece] * roots[piece, None]
        triangle = syrk(1.0, rows.T, beta=1.0, c=triangle, overwrite_c=1)
    return triangle + np.triu(triangle, 1).T


def squared_entries(design: Any) -> Any:
    """A∘A of a sparse A, which shares its indices; a dense A itself, whose entries are squared on the way."""
    if scipy.sparse.issparse(design):
        return scipy.sparse.csr_array((design.data * design.data, design.indices, design.indptr), shape=design.shape)
    return design


def column_squares(squared: Any, weights: Array) -> Array:
    """(A∘A)ᵀw, from :func:`squared_entries`."""
    if scipy.sparse.issparse(squared):
        return squared.T @ weights
    total: Any = 0.0
    for piece in pieces(squared.shape[0]):
        rows = squared[piece, :]
        total = (rows * rows).T @ weights[piece, ...] + total
    return total


def row_sums(squared: Any, weights: Array) -> Array:
    """(A∘A)w, from :func:`squared_entries`."""
    if scipy.sparse.issparse(squared):
        return squared @ weights
    rows = (squared[piece, :] for piece in pieces(squared.shape[0]))
    return array_namespace(squared).concat([(piece * piece) @ weights for piece in rows])


def row_squares(design: Any) -> Array:
    """|a_i|² of every row, from :func:`squared_entries`."""
    if scipy.sparse.issparse(design):
        return design @ np.ones(design.shape[1], dtype=design.dtype)
    if is_numpy_array(design):
        return np.einsum("ij,ij->i", design, design)
    xp = array_namespace(design)
    rows = (design[piece, :] for piece in pieces(design.shape[0]))
    return xp.concat([xp.sum(piece * piece, axis=1) for piece in rows])
