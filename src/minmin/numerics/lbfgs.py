"""L-BFGS in compact form: curvature pairs of a quasi-Newton method, and the inverse Hessian they stand for."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from minmin.core.arrays import Array, namespace_of, to_like, to_numpy, zeros
from minmin.core.vectors import Vector, flatten, unflatten

_LEAST_COSINE = 1e-10
"""A pair whose step and change are nearer to orthogonal than this has no curvature beyond rounding. Nothing decides on
the value: 1e-14 to 1e-3 take the same calls on the paper's quadratics, a1a and a9a."""


class Pairs(NamedTuple):
    """The newest steps s and changes of gradient r, oldest first, with their inner products.

    Vectors are flattened (:func:`minmin.core.vectors.flatten`), so that everything is a matrix product: a direction
    takes two passes over the pairs, however many there are.

    Attributes
    ----------
    steps, changes : arrays of shape (m, d)
        A row per pair.
    step_change : array of shape (m, m)
        <s_i, r_j> for i <= j, else zero.
    change_change : array of shape (m, m)
        <r_i, r_j>.
    """

    steps: Array
    changes: Array
    step_change: Array
    change_change: Array

    @classmethod
    def none(cls, prototype: Vector) -> Pairs:
        """No pairs yet, for vectors like ``prototype``."""
        flat = flatten(prototype)
        empty = zeros(0, flat)
        xp = namespace_of(flat)
        rows, square = xp.reshape(empty, (0, flat.shape[0])), xp.reshape(empty, (0, 0))
        return cls(rows, rows, square, square)

    def __len__(self) -> int:
        """The number of pairs."""
        return int(self.steps.shape[0])


def remember(pairs: Pairs, step: Vector, change: Vector, most: int) -> Pairs:
    """Add a pair, forgetting the oldest beyond ``most``; one without clearly positive curvature is left out."""
    before, s, r = pairs, flatten(step), flatten(change)
    if len(pairs) >= most:
        pairs = Pairs(pairs.steps[1:, :], pairs.changes[1:, :], pairs.step_change[1:, 1:], pairs.change_change[1:, 1:])
    xp = namespace_of(s)
    steps, changes = xp.concat([pairs.steps, s[None, :]], axis=0), xp.concat([pairs.changes, r[None, :]], axis=0)
    of_steps, of_changes = steps @ r, changes @ r
    product, squares = float(of_steps[-1]), (float(s @ s), float(of_changes[-1]))
    finite = all(0.0 < number < math.inf for number in (*squares, product))
    if not finite or not product > _LEAST_COSINE * math.sqrt(squares[0]) * math.sqrt(squares[1]):
        return before
    return Pairs(
        steps,
        changes,
        _border(pairs.step_change, of_steps, zeros(len(pairs), s)),
        _border(pairs.change_change, of_changes, of_changes[:-1]),
    )


def _border(matrix: Array, column: Array, row: Array) -> Array:
    """The matrix with a further last column, and a last row but for its end."""
    xp = namespace_of(matrix)
    return xp.concat([xp.concat([matrix, row[None, :]], axis=0), column[:, None]], axis=1)


def inverse_times(pairs: Pairs, vector: Vector) -> Vector:
    """The L-BFGS inverse Hessian times a vector (Byrd, Nocedal and Schnabel 1994, Theorem 2.2).

    With S and R the pairs as columns, U the upper triangle of SᵀR, D its diagonal and γ = <s, r>/<r, r> of the newest
    pair: γv + S·U⁻ᵀ((D + γRᵀR)U⁻¹Sᵀv - γRᵀv) - γR·U⁻¹Sᵀv. There must be a pair.
    """
    v = flatten(vector)
    S, R = pairs.steps, pairs.changes
    upper, gram = _in_double(pairs.step_change), _in_double(pairs.change_change)
    along_steps, along_changes = _in_double(S @ v), _in_double(R @ v)
    gamma = float(upper[-1, -1] / gram[-1, -1])
    first, _ = dtrtrs(upper, along_steps)
    second, _ = dtrtrs(upper, np.diagonal(upper) * first + gamma * (gram @ first - along_changes), trans=1)
    flat = gamma * v + to_like(second, v) @ S - to_like(gamma * first, v) @ R
    return unflatten(flat, vector)


def _in_double(array: Array) -> np.ndarray[Any, Any]:
    return np.asarray(to_numpy(array), dtype=np.float64)
