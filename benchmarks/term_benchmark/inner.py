"""The minimum of f(x, y) + q(y) over y, as accurate as rounding allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.terms import Box, Simplex, Term
from term_benchmark.functions import Function

Array = np.ndarray[Any, Any]
_ACCURACY = 1e-13
"""The length of the last proximal gradient step, relative to y."""
_MOST_ROUNDS, _STEPS = 400, 30
"""The most rounds, and how many accelerated steps a round takes if a Newton step does not halve the residual."""


def minimise_in_y(f: Function, term: Term | None, x: Array, y: Array) -> Array:
    """The minimum of f(x, y) + q(y) over y: Newton steps on the face that accelerated proximal gradients find."""

    def at(y: Array) -> Array:
        return np.concatenate([x, y])

    def residual(y: Array) -> tuple[Array, float]:
        """y after a proximal gradient step, and the size of that step."""
        new = _project(term, y - f.gradient(at(y))[len(x) :] / L)
        return new, float(np.linalg.norm(new - y))

    L = f.largest_y_curvature
    accuracy = _ACCURACY * (float(np.linalg.norm(y)) + 1.0)
    best, size = residual(y)
    for _ in range(_MOST_ROUNDS):
        if size <= accuracy:
            return best
        newton, newton_size = residual(_newton_step(f, term, at(best), len(x)))
        if newton_size < 0.5 * size:
            best, size = newton, newton_size
            continue
        previous, ahead, momentum = best, best, 1.0
        for _ in range(_STEPS):
            new = _project(term, ahead - f.gradient(at(ahead))[len(x) :] / L)
            if (ahead - new) @ (new - previous) > 0.0:
                momentum = 1.0
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead, previous, momentum = new + ((momentum - 1.0) / following) * (new - previous), new, following
        best, size = residual(previous)
    raise RuntimeError(f"the minimum over y was not found: the last step was {size:g}")


def _project(term: Term | None, y: Array) -> Array:
    return y if term is None else term.prox(y, 1.0)


def _newton_step(f: Function, term: Term | None, z: Array, d_x: int) -> Array:
    """The minimum of the quadratic model over the face of y, moved back to where q is finite."""
    y, slope, H = z[d_x:], f.gradient(z)[d_x:], f.y_hessian(z)
    if term is None:
        return y - np.linalg.solve(H, slope)
    if isinstance(term, Box):
        free = (y > term.lower) & (y < term.upper)
        free |= ((y == term.lower) & (slope < 0.0)) | ((y == term.upper) & (slope > 0.0))
    else:
        assert isinstance(term, Simplex)
        free = y > 0.0
    if not free.any():
        return y
    count = int(free.sum())
    matrix, right = H[np.ix_(free, free)], -slope[free]
    if isinstance(term, Simplex):  # the steps add up to zero
        ones = np.ones((count, 1))
        matrix = np.block([[matrix, ones], [ones.T, np.zeros((1, 1))]])
        right = np.append(right, 0.0)
    new = y.copy()
    new[free] += np.linalg.solve(matrix, right)[:count]
    return _project(term, new)
