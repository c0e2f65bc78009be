"""The step of a proximal quasi-Newton method: the minimum of a quadratic model plus a term."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from minmin.core.arrays import Array, array_eps, in_double, namespace_of, reshape, to_like, to_numpy
from minmin.core.vectors import Vector, dot, flatten, norm, unflatten
from minmin.numerics.lbfgs import Pairs, find_ritz_vectors

_TOLERANCE = 1e-3
"""The model is minimised until its proximal gradient is at most this times that at the start.
Measured: docs/benchmarks/tuning.md."""
_MOST_STEPS = 2000
"""The most steps in one model. Measured: docs/benchmarks/tuning.md."""
_MOST_ASYMMETRY = 0.1
"""The pairs belong to one quadratic if |<s_i, r_j> - <s_j, r_i>| is at most this times √(<s_i, r_i><s_j, r_j>) for all
of them. Measured: docs/benchmarks/tuning.md."""
_INDEPENDENT = 1e-8
"""Combinations of unit steps that are shorter than the root of this are left out.
Measured: docs/benchmarks/tuning.md."""
_ROUNDING_ERRORS = 100.0
"""They are left out also if their square is below this times eps: in single precision, less than that is rounding."""
_DIVERGED = 1e3
"""A step of this many times the length of the first one shows that rounding errors have left the model no minimum."""

Prox = Callable[[Vector, float], Vector]
"""The proximal map of a term, from a point and a step."""

_Matrix = np.ndarray[Any, Any]


class DenseHessian:
    """A matrix B that is known.

    Attributes
    ----------
    largest : float
        The largest eigenvalue of B.
    """

    def __init__(self, matrix: Array):
        self._matrix = matrix
        self.largest = float(np.linalg.norm(in_double(matrix), 2))

    def times(self, vector: Array) -> Array:
        """B times a vector."""
        return self._matrix @ vector


class PairsHessian:
    """A matrix B that curvature pairs define in place of the Hessian: σI + WᵀMW, with few rows in W.

    S and R are steps and changes of gradient as rows. The newest pairs that belong to one quadratic, on a quadratic all
    of them, are used together, so that BSᵀ = Rᵀ holds for all: with their Ritz vectors Q, values t, and the same
    combinations HQ of the changes, B = B₀ - (QB₀)ᵀ(QB₀Qᵀ)⁻¹QB₀ + (HQ)ᵀ diag(1/t) HQ (Schnabel 1983). Quadratics with
    κ = 5000 and L1 take half the calls of ∇ₓ with it that they take with L-BFGS.

    B₀ is the matrix of L-BFGS of the older pairs: σI - WᵀN⁻¹W, W stacks σS and R, and N is [[σSSᵀ, L], [Lᵀ, -D]], where
    L is the part of SRᵀ below its diagonal D (Byrd, Nocedal and Schnabel 1994, Theorem 2.3).

    σ is the curvature in directions that no pair says anything about: <r, r>/<s, r> of the newest pair as in L-BFGS,
    or, if there are no older pairs, the geometric mean of t. On eight quadratics with κ = 50 and 500 the latter saves
    9 % of the calls; with it, some logistic regressions take three times as many.

    Attributes
    ----------
    largest : float
        The largest eigenvalue of B.
    """

    def __init__(self, pairs: Pairs):
        first = pairs.rows[0][0]
        xp, eps = namespace_of(first), array_eps(first)
        steps, changes = (reshape(xp.concat(list(rows)), (pairs.number, -1)) for rows in pairs.rows)
        of_both, of_changes, of_steps = to_numpy(pairs.products)
        products = in_double(steps @ changes.T)
        older = _count_older(products)
        newest, independent = (slice(older, None),) * 2, max(_INDEPENDENT, _ROUNDING_ERRORS * eps)
        ritz = find_ritz_vectors(of_both[newest], of_steps[newest], independent)
        curved = ritz.values > 0.0
        values, combine = ritz.values[curved], to_like(ritz.weights[:, curved].T, steps)
        Q, HQ = combine @ steps[older:, :], combine @ changes[older:, :]
        sigma = of_changes[-1, -1] / products[-1, -1]
        self._sigma = float(sigma if older else np.exp(np.mean(np.log(values))))
        self._rows = xp.concat([self._sigma * steps[:older, :], changes[:older, :]], axis=0)
        self._middle = _lbfgs_middle(products[:older, :older], of_steps[:older, :older], self._sigma)
        QB = self._sigma * Q + to_like(in_double(Q @ self._rows.T) @ self._middle, steps) @ self._rows
        self._rows = xp.concat([self._rows, QB, HQ], axis=0)
        self._middle = block_diag(self._middle, -np.linalg.inv(in_double(QB @ Q.T)), np.diag(1.0 / values))
        eigenvalues = np.linalg.eigvals(self._middle @ in_double(self._rows @ self._rows.T)).real
        self.largest = self._sigma + max(0.0, float(eigenvalues.max()))

    def times(self, vector: Vector) -> Vector:
        """B times a vector."""
        v = flatten(vector)
        along = self._middle @ in_double(self._rows @ v)
        return unflatten(self._sigma * v + to_like(along, v) @ self._rows, vector)


def _count_older(products: _Matrix) -> int:
    """How many of the oldest pairs do not belong to one quadratic with all newer ones; ``products`` is SRᵀ."""
    roots = np.sqrt(np.diagonal(products))
    fits = np.abs(products - products.T) <= _MOST_ASYMMETRY * np.outer(roots, roots)
    return next(older for older in range(len(roots)) if fits[older:, older:].all())


def _lbfgs_middle(products: _Matrix, of_steps: _Matrix, sigma: float) -> _Matrix:
    below, diagonal = np.tril(products, -1), np.diag(np.diagonal(products))
    return -np.linalg.inv(np.block([[sigma * of_steps, below], [below.T, -diagonal]]))


def minimise_model(prox: Prox, x: Vector, gradient: Vector, hessian: PairsHessian | DenseHessian) -> Vector:
    """About the u that minimises <gradient, u - x> + ½<u - x, B(u - x)> + t(u), for a term t with this proximal map.

    By the accelerated proximal gradient method, which starts its momentum again when a step turns back (O'Donoghue and
    Candès 2015). It computes no gradient of f. The result is a value of the proximal map, so its zeros are zeros. If
    rounding errors have left the model no minimum, it is the first proximal gradient step.
    """
    step = 1.0 / hessian.largest
    first_point = prox(x - step * gradient, step)
    first = norm(first_point - x)
    best, ahead, momentum = first_point, first_point, 0.5 * (1.0 + math.sqrt(5.0))
    for _ in range(_MOST_STEPS):
        new = prox(ahead - step * (gradient + hessian.times(ahead - x)), step)
        back = ahead - new
        size = norm(back)
        if not size <= _DIVERGED * first:
            return first_point
        if size <= _TOLERANCE * first:
            return new
        if dot(back, new - best) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / following) * (new - best)
        best, momentum = new, following
    return best
