"""L-BFGS in compact form: curvature pairs, and products with the inverse Hessian that they define."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_jax_array
from scipy.linalg import eigh
from scipy.linalg.lapack import dtrtrs

from minmin.core.arrays import Array, dtype_name, in_double, namespace_of, reshape, to_like, to_numpy, zeros
from minmin.core.vectors import Vector, first_array, flatten, unflatten

_LEAST_COSINE = 1e-10
"""A pair is left out if the cosine between step and change is below this: its curvature is only rounding error. The
value does not matter: 1e-14 to 1e-3 take the same calls on the quadratics of Kovalev, Gasnikov and Malinovsky,
arXiv:2212.14439, on a1a and on a9a."""
KEPT_PAIRS = 30
"""The number of pairs that are kept. On two of the paper's quadratics with L_y = 50000 BAM takes 3442 calls of ∇ᵧ with
10 pairs, 2061 with 20, 1507 with 30, and 1137 with 60, which need twice the memory."""
_LONG_ROW = 4096
"""Rows with at least this many numbers are multiplied one by one, since stacking them would copy them. A direction
from 30 pairs of 1,000 numbers takes 0.15 ms row by row and 0.05 as a matrix; for 4,096 numbers it takes 0.3 and 1.2."""
_INDEPENDENT = 1e-10
"""Combinations of unit steps that are shorter than the root of this have lost many of their digits. The value does not
matter: 89 random functions with three tolerances take 9774 calls of ∇ₓ in total with 1e-6, and 9788 with 1e-13."""

_Matrix = np.ndarray[Any, Any]


class Pairs(NamedTuple):
    """The newest steps s and changes of gradient r, oldest first, with their inner products.

    Vectors are flattened (:func:`minmin.core.vectors.flatten`). States share them, since they never change. A direction
    takes two passes over the pairs. On an accelerator, each pass transfers one number per pair. The inner products are
    NumPy's, since their number grows and JAX would compile for every number again.

    Attributes
    ----------
    steps, changes : tuples of arrays
    step_change : array of shape (m, m)
        <s_i, r_j> for i <= j, else zero.
    change_change : array of shape (m, m)
        <r_i, r_j>.
    step_step : array of shape (m, m)
        <s_i, s_j>.
    """

    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    step_change: _Matrix
    change_change: _Matrix
    step_step: _Matrix

    @classmethod
    def none(cls, prototype: Vector) -> Pairs:
        """No pairs yet, for vectors like ``prototype``."""
        empty = np.zeros((0, 0), dtype=dtype_name(first_array(prototype)))
        return cls((), (), empty, empty, empty)


def remember(pairs: Pairs, step: Vector, change: Vector, kept: int | None = None) -> Pairs:
    """Add a pair, and drop the oldest if there are more than ``kept``, by default ``KEPT_PAIRS``.

    A pair without clearly positive curvature is not added.
    """
    s, r = flatten(step), flatten(change)
    numbers = float(s @ r), float(s @ s), float(r @ r)
    if not all(0.0 < number < math.inf for number in numbers):
        return pairs
    if not numbers[0] > _LEAST_COSINE * math.sqrt(numbers[1]) * math.sqrt(numbers[2]):
        return pairs
    oldest = 1 if len(pairs.steps) >= (KEPT_PAIRS if kept is None else kept) else 0
    steps, changes = (*pairs.steps[oldest:], s), (*pairs.changes[oldest:], r)
    step_change, change_change, step_step = (to_numpy(gram)[oldest:, oldest:] for gram in pairs[2:])
    stacked, count = _stack(steps), len(steps)
    along_r, of_changes = _products(stacked, r, count), _products(_stack(changes), r, count)
    of_steps = _products(stacked, s, count)
    return Pairs(
        steps,
        changes,
        _border(step_change, along_r, np.zeros_like(along_r[:-1])),
        _border(change_change, of_changes, of_changes[:-1]),
        _border(step_step, of_steps, of_steps[:-1]),
    )


def _border(matrix: _Matrix, column: _Matrix, row: _Matrix) -> _Matrix:
    """Append a row, then a column that is one longer."""
    return np.concatenate([np.concatenate([matrix, row[None, :]], axis=0), column[:, None]], axis=1)


def _stack(rows: tuple[Array, ...]) -> Any:
    """The rows as one matrix, or unchanged if they are long.

    In JAX with rows of zeros at the end: it compiles every operation for each new number of rows, which took 0.4 s per
    iteration on an H200.
    """
    if type(rows[0]) is np.ndarray:
        return rows if rows[0].shape[0] >= _LONG_ROW else np.concatenate(rows).reshape(len(rows), -1)
    if is_jax_array(rows[0]):
        rows = (*rows, *[zeros(rows[0].shape[0], rows[0])] * (-len(rows) % KEPT_PAIRS))
    return reshape(namespace_of(rows[0]).concat(rows), (len(rows), -1))


def _products(stacked: Any, v: Array, count: int) -> _Matrix:
    """The inner products of v with the first rows."""
    if isinstance(stacked, tuple):
        return np.array([row @ v for row in stacked], dtype=v.dtype)
    return stacked @ v if type(v) is np.ndarray else to_numpy(stacked @ v)[:count]


def _add_rows(v: Array, weights: np.ndarray[Any, Any], stacked: Any) -> Array:
    """v plus the weighted sum of the rows."""
    if not isinstance(stacked, tuple):
        missing = stacked.shape[0] - len(weights)
        return v + to_like(np.pad(weights, (0, missing)) if missing else weights, v) @ stacked
    for weight, row in zip(weights.tolist(), stacked, strict=True):
        v = v + weight * row
    return v


def inverse_times(pairs: Pairs, vector: Vector) -> Vector:
    """The L-BFGS inverse Hessian times a vector (Byrd, Nocedal and Schnabel 1994, Theorem 2.2).

    With S and R the pairs as columns, U the upper triangle of SᵀR, D its diagonal and γ = <s, r>/<r, r> of the newest
    pair: γv + S·U⁻ᵀ((D + γRᵀR)U⁻¹Sᵀv - γRᵀv) - γR·U⁻¹Sᵀv. At least one pair is needed.
    """
    v, S, R = flatten(vector), _stack(pairs.steps), _stack(pairs.changes)
    upper, gram = in_double(pairs.step_change), in_double(pairs.change_change)
    along_steps, along_changes = (in_double(_products(rows, v, len(upper))) for rows in (S, R))
    gamma = float(upper[-1, -1] / gram[-1, -1])
    first, _ = dtrtrs(upper, along_steps)
    second, _ = dtrtrs(upper, np.diagonal(upper) * first + gamma * (gram @ first - along_changes), trans=1)
    return unflatten(_add_rows(_add_rows(gamma * v, second, S), -gamma * first, R), vector)


def least_curvature(pairs: Pairs) -> float:
    """The least curvature among all combinations of the steps: the smallest Ritz value of the pairs."""
    return float(find_ritz_vectors(pairs).values[0]) if pairs.steps else math.inf


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


def find_ritz_vectors(pairs: Pairs, independent: float = _INDEPENDENT) -> RitzVectors:
    """The Ritz vectors and values of the pairs; at least one pair is needed.

    The curvature along Sc is cᵀSᵀRc/cᵀSᵀSc, with SᵀR symmetric on a quadratic; below its diagonal it is taken to be.
    Where f is no quadratic the values may be anything, also negative. Combinations of unit steps whose square is below
    ``independent`` are left out.
    """
    upper, gram = in_double(pairs.step_change), in_double(pairs.step_step)
    lengths = np.sqrt(np.diagonal(gram))
    scale = np.outer(lengths, lengths)
    eigenvalues, basis = eigh(gram / scale)
    kept = eigenvalues > independent * eigenvalues[-1]
    root = basis[:, kept] / np.sqrt(eigenvalues[kept])
    symmetric = (upper + np.triu(upper, 1).T) / scale
    values, rotation = eigh(root.T @ symmetric @ root)
    return RitzVectors(values, (root @ rotation) / lengths[:, None])


def largest_curvature(pairs: Pairs) -> float:
    """The largest |change|/|step| of the pairs; zero without pairs."""
    changes, steps = (np.diagonal(in_double(gram)) for gram in (pairs.change_change, pairs.step_step))
    return math.sqrt(float(np.max(changes / steps))) if len(steps) else 0.0
