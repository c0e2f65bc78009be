"""L-BFGS in compact form: curvature pairs, and products with the inverse Hessian that they define."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_jax_array
from scipy.linalg.lapack import dsyevr, dtrtrs

from minmin.core.arrays import Array, namespace_of, reshape, to_like, to_numpy, zeros
from minmin.core.vectors import Vector, flatten, unflatten

_LEAST_COSINE = 1e-10
"""A pair is left out if the cosine between step and change is below this: its curvature is only rounding error.
Measured: docs/benchmarks/tuning.md."""
KEPT_PAIRS = 30
"""The number of pairs that are kept. Measured: docs/benchmarks/tuning.md."""
_LONG_ROW = 4096
"""Rows with at least this many numbers are multiplied one by one, since stacking them would copy them.
Measured: docs/benchmarks/tuning.md."""
_INDEPENDENT = 1e-10
"""Combinations of unit steps that are shorter than the root of this have lost many of their digits.
Measured: docs/benchmarks/tuning.md."""

_Matrix = np.ndarray[Any, Any]


class Pairs(NamedTuple):
    """The newest steps s and changes of gradient r, oldest first, with their inner products.

    Vectors are flattened (:func:`minmin.core.vectors.flatten`). A direction takes two passes over the pairs. On an
    accelerator, each pass transfers one number per pair. The inner products are NumPy's, since their number grows and
    JAX would compile for every number again.

    Attributes
    ----------
    number : int
        m: how many pairs there are.
    rows : array of shape (2, m, d), or two tuples of arrays
        The steps, and the changes. Tuples share long arrays with earlier pairs, and those of other libraries.
    products : array of shape (3, m, m), in double precision
        <s_i, r_j>, <r_i, r_j> and <s_i, s_j>. The first is symmetric on a quadratic, and below its diagonal it is taken
        to be.
    """

    number: int = 0
    rows: Any = ((), ())
    products: _Matrix = np.zeros((3, 0, 0))


def remember(pairs: Pairs, step: Vector, change: Vector, kept: int | None = None) -> Pairs:
    """Add a pair, and drop the oldest if there are more than ``kept``, by default ``KEPT_PAIRS``.

    A pair without clearly positive curvature is not added.
    """
    s, r = (step, change) if type(step) is np.ndarray else (flatten(step), flatten(change))
    product, of_s, of_r = float(s @ r), float(s @ s), float(r @ r)
    if not (0.0 < product < math.inf and 0.0 < of_s < math.inf and 0.0 < of_r < math.inf):
        return pairs
    if not product > _LEAST_COSINE * math.sqrt(of_s) * math.sqrt(of_r):
        return pairs
    oldest = 1 if pairs.number >= (KEPT_PAIRS if kept is None else kept) else 0
    number, (rows, stacked) = pairs.number + 1 - oldest, _append(pairs.rows, s, r, oldest)
    along_r, of_changes = _multiply(stacked, r, number)
    (of_steps,) = _multiply(stacked[:1], s, number)
    products = np.empty((3, number, number))
    products[:, :-1, :-1] = to_numpy(pairs.products)[:, oldest:, oldest:]
    products[:, -1, :] = products[:, :, -1] = along_r, of_changes, of_steps
    return Pairs(number, rows, products)


def _append(rows: Any, s: Array, r: Array, oldest: int) -> tuple[Any, Any]:
    """The rows from ``oldest`` on with one more step and change, and the same as two matrices."""
    steps, changes = rows
    if type(s) is not np.ndarray or len(s) >= _LONG_ROW:
        appended = (*steps[oldest:], s), (*changes[oldest:], r)
        return appended, _stack(appended)
    matrices = np.empty((2, len(steps) + 1 - oldest, len(s)), dtype=s.dtype)
    if len(steps) > oldest:
        matrices[:, :-1] = rows[:, oldest:]
    matrices[:, -1] = s, r
    return matrices, matrices


def _stack(rows: tuple[tuple[Array, ...], ...]) -> Any:
    """The rows as two matrices, or NumPy's unchanged, since they are long.

    In JAX with rows of zeros at the end: it compiles every operation for each new number of rows, which took 0.4 s per
    iteration on an H200.
    """
    first = rows[0][0]
    if type(first) is np.ndarray:
        return rows
    missing = [zeros(first.shape[0], first)] * (-len(rows[0]) % KEPT_PAIRS) if is_jax_array(first) else []
    xp, count = namespace_of(first), len(rows[0]) + len(missing)
    return [reshape(xp.concat([*matrix, *missing]), (count, -1)) for matrix in rows]


def _multiply(stacked: Any, v: Array, number: int) -> Any:
    """The inner products of v with the first rows of every matrix."""
    if type(stacked) is np.ndarray:
        return stacked @ v
    if type(v) is np.ndarray:
        return np.array([[row @ v for row in rows] for rows in stacked], dtype=v.dtype)
    return np.array([to_numpy(rows @ v)[:number] for rows in stacked])


def _add_rows(v: Array, weights: _Matrix, stacked: Any) -> Array:
    """v plus the weighted sums of the rows of both matrices."""
    if type(stacked) is np.ndarray:
        of_steps, of_changes = weights.astype(v.dtype, copy=False)
        return v + of_steps @ stacked[0] + of_changes @ stacked[1]
    for of_matrix, rows in zip(weights, stacked, strict=True):
        if isinstance(rows, tuple):
            for weight, row in zip(of_matrix.tolist(), rows, strict=True):
                v = v + weight * row
        else:
            v = v + to_like(np.pad(of_matrix, (0, rows.shape[0] - len(of_matrix))), v) @ rows
    return v


def _prepare(pairs: Pairs, vector: Vector) -> tuple[Array, Any, _Matrix]:
    """A flat vector, the rows as matrices, and their inner products; nothing is to be done if all are NumPy's."""
    if type(vector) is type(pairs.rows) is np.ndarray:
        return vector, pairs.rows, pairs.products
    return flatten(vector), _stack(pairs.rows), to_numpy(pairs.products)


def inverse_times(pairs: Pairs, vector: Vector) -> Vector:
    """The L-BFGS inverse Hessian times a vector (Byrd, Nocedal and Schnabel 1994, Theorem 2.2).

    With S and R the pairs as columns, U the upper triangle of SᵀR, D its diagonal and γ = <s, r>/<r, r> of the newest
    pair: γv + S·U⁻ᵀ((D + γRᵀR)U⁻¹Sᵀv - γRᵀv) - γR·U⁻¹Sᵀv. At least one pair is needed.
    """
    v, stacked, (of_both, of_changes, _) = _prepare(pairs, vector)
    along_steps, along_changes = _multiply(stacked, v, pairs.number)
    gamma = float(of_both[-1, -1] / of_changes[-1, -1])
    first, _ = dtrtrs(of_both, along_steps)
    second, _ = dtrtrs(of_both, of_both.diagonal() * first + gamma * (of_changes @ first - along_changes), trans=1)
    product = _add_rows(gamma * v, np.array([second, -gamma * first]), stacked)
    return product if v is vector else unflatten(product, vector)


def least_curvature(pairs: Pairs) -> float:
    """The least curvature among all combinations of the steps: the smallest Ritz value of the pairs."""
    if not pairs.number:
        return math.inf
    of_both, _, of_steps = to_numpy(pairs.products)
    return float(find_ritz_vectors(of_both, of_steps).values[0])


class RitzVectors(NamedTuple):
    """Combinations of the steps that are orthonormal, and conjugate on a quadratic.

    Attributes
    ----------
    values : array of r numbers
        The curvature along each, in ascending order.
    weights : array of shape (m, r)
        Each column has the weights of the m steps in one of them.
    """

    values: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]


def find_ritz_vectors(of_both: _Matrix, of_steps: _Matrix, independent: float = _INDEPENDENT) -> RitzVectors:
    """The Ritz vectors and values of pairs with the products <s_i, r_j> and <s_i, s_j>; at least one pair is needed.

    The curvature along Sc is cᵀSᵀRc/cᵀSᵀSc, with SᵀR symmetric on a quadratic. Where f is no quadratic the values may
    be anything, also negative. Combinations of unit steps whose square is below ``independent`` are left out.
    """
    lengths = np.sqrt(of_steps.diagonal())
    scale = lengths[:, None] * lengths
    eigenvalues, basis = _decompose(of_steps / scale)
    kept = eigenvalues > independent * eigenvalues[-1]
    root = basis[:, kept] / np.sqrt(eigenvalues[kept])
    values, rotation = _decompose(root.T @ (of_both / scale) @ root)
    return RitzVectors(values, (root @ rotation) / lengths[:, None])


def _decompose(matrix: _Matrix) -> tuple[_Matrix, _Matrix]:
    """The eigenvalues and eigenvectors of a symmetric matrix; for small ones SciPy's eigh takes twice as long."""
    values, vectors, _, _, failed = dsyevr(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the eigenvalues of the pairs have not converged")
    return values, vectors


def largest_curvature(pairs: Pairs) -> float:
    """The largest |change|/|step| of the pairs; zero without pairs."""
    if not pairs.number:
        return 0.0
    _, of_changes, of_steps = to_numpy(pairs.products)
    return math.sqrt(max((of_changes.diagonal() / of_steps.diagonal()).tolist()))
