"""The step of a proximal quasi-Newton method: the minimum of a quadratic model plus a term."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import array_eps, namespace_of, reshape, to_like, to_numpy
from minmin.core.term import Term
from minmin.core.vectors import Vector, dot, flatten, norm, unflatten
from minmin.numerics.lbfgs import Pairs, find_ritz_vectors

_TOLERANCE = 1e-3
"""The model is minimised until its proximal gradient is at most this times that at the start. On twelve quadratics with
κ = 500 and 5000, L1 or a box, the calls of ∇ₓ are 1876 in total with 0.1, 1819 with 0.01, 1756 with 1e-3 and 1730 with
1e-6, which takes twice as many steps in the model as 1e-3."""
_MOST_STEPS = 2000
"""The most steps in one model. With κ = 5000 a model takes about 150."""
_MOST_ASYMMETRY = 0.1
"""The pairs belong to one quadratic if |<s_i, r_j> - <s_j, r_i>| is at most this times √(<s_i, r_i><s_j, r_j>) for all
of them. On 24 quadratics, with y minimised inexactly, it was at most 0.06 in the median; on eleven of twelve logistic
regressions it was at least 0.2."""
_INDEPENDENT = 1e-8
"""Combinations of unit steps that are shorter than the root of this are left out. Values from 1e-10 to 1e-4 take the
same calls on quadratics."""
_ROUNDING_ERRORS = 100.0
"""They are left out also if their square is below this times eps: in single precision, less than that is rounding."""
_DIVERGED = 1e3
"""A step of this many times the length of the first one shows that rounding errors have left the model no minimum."""

_Matrix = np.ndarray[Any, Any]


class PairsHessian:
    """A matrix B that curvature pairs define in place of the Hessian: σI + WᵀMW, with few rows in W.

    S and R are the steps and the changes of gradient as rows. If they belong to one quadratic, BSᵀ = Rᵀ holds for all:
    with their Ritz vectors Q, values t, and the same combinations HQ of the changes,
    B = σ(I - QᵀQ) + (HQ)ᵀ diag(1/t) HQ, which is BFGS for all pairs together (Schnabel 1983). σ, the curvature in
    directions that the pairs say nothing about, is the geometric mean of t. Quadratics with κ = 5000 and L1 take half
    the calls of ∇ₓ with it.

    Otherwise B is that of L-BFGS, for which the newest pairs count most: W stacks σS and R, and M is minus the inverse
    of [[σSSᵀ, L], [Lᵀ, -D]], with L the part of SRᵀ below its diagonal D, and σ = <r, r>/<s, r> of the newest pair
    (Byrd, Nocedal and Schnabel 1994, Theorem 2.3). Eight logistic regressions take 157 calls with it; with the other B
    some take three times as many.

    Attributes
    ----------
    largest : float
        The largest eigenvalue of B.
    """

    def __init__(self, pairs: Pairs):
        ritz = find_ritz_vectors(pairs, max(_INDEPENDENT, _ROUNDING_ERRORS * array_eps(pairs.steps[0])))
        curved = ritz.values > 0.0
        values, weights = ritz.values[curved], ritz.weights[:, curved]
        self._sigma = float(np.exp(np.mean(np.log(values))))
        xp = namespace_of(pairs.steps[0])
        steps, changes = (reshape(xp.concat(rows), (len(rows), -1)) for rows in (pairs.steps, pairs.changes))
        products = _in_double(steps @ changes.T)
        if _asymmetry(products) <= _MOST_ASYMMETRY:
            combine = to_like(weights.T, pairs.steps[0])
            self._rows = xp.concat([combine @ steps, combine @ changes], axis=0)
            self._middle = np.diag(np.concatenate([np.full(len(values), -self._sigma), 1.0 / values]))
        else:
            self._sigma = float(_in_double(pairs.change_change)[-1, -1] / products[-1, -1])
            self._rows = xp.concat([self._sigma * steps, changes], axis=0)
            self._middle = _lbfgs_middle(products, _in_double(pairs.step_step), self._sigma)
        eigenvalues = np.linalg.eigvals(self._middle @ _in_double(self._rows @ self._rows.T)).real
        self.largest = self._sigma + max(0.0, float(eigenvalues.max()))

    def times(self, vector: Vector) -> Vector:
        """B times a vector."""
        v = flatten(vector)
        along = self._middle @ _in_double(self._rows @ v)
        return unflatten(self._sigma * v + to_like(along, v) @ self._rows, vector)


def _asymmetry(products: _Matrix) -> float:
    """The largest |<s_i, r_j> - <s_j, r_i>|, relative to the curvatures along both steps; zero for a quadratic."""
    roots = np.sqrt(np.diagonal(products))
    return float(np.max(np.abs(products - products.T) / np.outer(roots, roots)))


def _lbfgs_middle(products: _Matrix, of_steps: _Matrix, sigma: float) -> _Matrix:
    below, diagonal = np.tril(products, -1), np.diag(np.diagonal(products))
    return -np.linalg.inv(np.block([[sigma * of_steps, below], [below.T, -diagonal]]))


def _in_double(array: Any) -> _Matrix:
    return np.asarray(to_numpy(array), dtype=np.float64)


def minimise_model(term: Term, x: Vector, gradient: Vector, hessian: PairsHessian) -> Vector:
    """About the u that minimises <gradient, u - x> + ½<u - x, B(u - x)> + t(u).

    By the accelerated proximal gradient method, which starts its momentum again when a step turns back (O'Donoghue and
    Candès 2015). It computes no gradient of f. The result is a value of the proximal map, so its zeros are zeros. If
    rounding errors have left the model no minimum, it is the first proximal gradient step.
    """
    step = 1.0 / hessian.largest
    first_point = term.prox(x - step * gradient, step)
    first = norm(first_point - x)
    best, ahead, momentum = first_point, first_point, 0.5 * (1.0 + math.sqrt(5.0))
    for _ in range(_MOST_STEPS):
        new = term.prox(ahead - step * (gradient + hessian.times(ahead - x)), step)
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
