"""The step of a proximal quasi-Newton method: the minimum of a quadratic model plus a term."""

from __future__ import annotations

import math

import numpy as np

from minmin.core.arrays import namespace_of, reshape, to_like, to_numpy
from minmin.core.term import Term
from minmin.core.vectors import Vector, dot, flatten, norm, unflatten
from minmin.numerics.lbfgs import Pairs, find_ritz_values

_TOLERANCE = 1e-3
"""The model is minimised until its proximal gradient is at most this times that at the start. On twelve quadratics with
κ = 500 and 5000, L1 or a box, the calls of ∇ₓ are 1876 in total with 0.1, 1819 with 0.01, 1756 with 1e-3 and 1730 with
1e-6, which takes twice as many steps in the model as 1e-3."""
_MOST_STEPS = 2000
"""The most steps in one model. With κ = 5000 a model takes about 150."""


class PairsHessian:
    """The matrix B that L-BFGS has in place of the Hessian, in compact form: σI - WᵀM⁻¹W.

    With S and R the steps and changes as rows, σ the geometric mean of the pairs' Ritz values, L the part of SRᵀ below
    its diagonal D: W stacks σS and R, and M is [[σSSᵀ, L], [Lᵀ, -D]] (Byrd, Nocedal and Schnabel 1994, Theorem 2.3).

    Attributes
    ----------
    largest : float
        The largest eigenvalue of B.
    """

    def __init__(self, pairs: Pairs):
        xp = namespace_of(pairs.steps[0])
        count = len(pairs.steps)
        steps, changes = (reshape(xp.concat(rows), (count, -1)) for rows in (pairs.steps, pairs.changes))
        products, of_changes, of_steps = (
            np.asarray(to_numpy(table), dtype=np.float64)
            for table in (steps @ changes.T, pairs.change_change, pairs.step_step)
        )
        sigma = _find_scale(pairs)
        below, diagonal = np.tril(products, -1), np.diag(np.diagonal(products))
        middle = np.block([[sigma * of_steps, below], [below.T, -diagonal]])
        gram = np.block([[sigma * sigma * of_steps, sigma * products], [sigma * products.T, of_changes]])
        self._sigma = sigma
        self._rows = xp.concat([sigma * steps, changes], axis=0)
        self._inverse = np.linalg.inv(middle)
        eigenvalues = np.linalg.eigvals(-self._inverse @ gram).real
        self.largest = sigma + max(0.0, float(eigenvalues.max()))

    def times(self, vector: Vector) -> Vector:
        """B times a vector."""
        v = flatten(vector)
        along = np.asarray(to_numpy(self._rows @ v), dtype=np.float64)
        return unflatten(self._sigma * v - to_like(self._inverse @ along, v) @ self._rows, vector)


def _find_scale(pairs: Pairs) -> float:
    """The curvature in directions that the pairs say nothing about: the geometric mean of what they have seen.

    On eight quadratics with κ = 50 and 500, L1 or a box, it takes 312 calls of ∇ₓ in total, and the usual <r, r>/<s, r>
    of the newest pair takes 341.
    """
    seen = find_ritz_values(pairs)
    return float(np.exp(np.mean(np.log(seen[seen > 0.0]))))


def minimise_model(term: Term, x: Vector, gradient: Vector, hessian: PairsHessian) -> Vector:
    """About the u that minimises <gradient, u - x> + ½<u - x, B(u - x)> + t(u).

    By the accelerated proximal gradient method, which starts its momentum again when a step turns back (O'Donoghue and
    Candès 2015). It computes no gradient of f. The result is a value of the proximal map, so its zeros are zeros.
    """
    step = 1.0 / hessian.largest
    best, ahead, momentum, first = x, x, 1.0, math.inf
    for _ in range(_MOST_STEPS):
        new = term.prox(ahead - step * (gradient + hessian.times(ahead - x)), step)
        back = ahead - new
        size = norm(back)
        first = size if math.isinf(first) else first
        if not size > _TOLERANCE * first:
            return new
        if dot(back, new - best) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / following) * (new - best)
        best, momentum = new, following
    return best
