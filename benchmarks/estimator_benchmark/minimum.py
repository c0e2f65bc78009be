"""The minimum of an objective, with a proof: a Newton method that shares no code with minmin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from estimator_benchmark.losses import LOSSES, Vector
from estimator_benchmark.objective import Objective

ACCURACY = 1e-12
"""The largest error, as a share of f(0) - f*."""
_FACTORED_UP_TO = 1500
"""With this many columns the Hessian is factored; with more, conjugate gradients solve its systems."""
_FULL = 0.1
"""Columns with at least this share of non-zeros are full: their Hessian is computed from a dense matrix, and it
preconditions conjugate gradients."""
_MOST_FULL = 400

_Map = Callable[[Vector], Vector]


class Minimum(NamedTuple):
    value: float
    error: float
    """The value is at most this above the minimum: the objective is alpha-strongly convex along each column."""


def find_minimum(objective: Objective) -> Minimum:
    """Minimise until Σ_j |∂f/∂w_j|²/2alpha_j, which bounds f - f*, is at most ACCURACY·(f(0) - f*)."""
    coef = np.zeros(objective.shape)
    value, error = objective.start_value, np.inf
    for _ in range(200):
        gradient = objective.gradient(coef)
        error = float((0.5 * gradient**2 / objective.penalties).sum())
        if error <= ACCURACY * (objective.start_value - value):
            return Minimum(value, error)
        step = _newton_step(objective, coef, gradient)
        coef, value = _search(objective, coef, value, step, float((gradient * step).sum()))
    raise RuntimeError(f"the Newton method for f* stopped with an error of up to {error:.1e}")


def _search(objective: Objective, coef: Vector, value: float, step: Vector, slope: float) -> tuple[Vector, float]:
    """Halve the step until f falls; changes of f below its rounding errors count as a fall."""
    length, rounding = 1.0, 1e-14 * max(abs(value), 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        while not (new := objective.value(coef + length * step)) <= value + 1e-4 * length * slope + rounding:
            length /= 2.0
            if length < 1e-10:
                raise RuntimeError("the Newton method for f* found no descent")
    return coef + length * step, new


def _newton_step(objective: Objective, coef: Vector, gradient: Vector) -> Vector:
    matrix, penalties = objective.data.matrix, objective.penalties
    times_curvature, curvature = LOSSES[objective.loss].curve(matrix @ coef.T, objective.data.target)
    if coef.ndim == 1 and len(coef) <= _FACTORED_UP_TO:
        factor = scipy.linalg.cho_factor(_hessian(matrix, objective.shares * curvature, penalties))
        return _solve(factor, -gradient)

    def times(v: Vector) -> Vector:
        product: Vector = (matrix.T @ (objective.shares * times_curvature(matrix @ v.T).T).T).T + penalties * v
        return product

    weighted = (objective.shares * curvature.T).T
    squares = matrix.multiply(matrix) if scipy.sparse.issparse(matrix) else matrix**2
    diagonal = (squares.T @ weighted).T + penalties
    return _conjugate_gradients(times, _preconditioner(objective, weighted, diagonal), -gradient)


def _preconditioner(objective: Objective, weighted: Vector, diagonal: Vector) -> _Map:
    """Divide by the diagonal; for full columns, solve with their part of the Hessian, of each class alone."""
    matrix = objective.data.matrix
    entries = np.diff(scipy.sparse.csc_array(matrix).indptr)
    full = np.flatnonzero(entries >= _FULL * matrix.shape[0])[:_MOST_FULL]
    part, penalties = matrix[:, full], objective.penalties[full]
    factors = [scipy.linalg.cho_factor(_hessian(part, c, penalties)) for c in np.atleast_2d(weighted.T) if len(full)]

    def apply(v: Vector) -> Vector:
        result = v / diagonal
        rows, given = np.atleast_2d(result), np.atleast_2d(v)
        for row, vector, factor in zip(rows, given, factors, strict=False):
            row[full] = _solve(factor, vector[full])
        return result

    return apply


def _solve(factor: Any, v: Vector) -> Vector:
    solution: Vector = scipy.linalg.cho_solve(factor, v)
    return solution


def _hessian(matrix: Any, curvature: Vector, penalties: Vector) -> Vector:
    if scipy.sparse.issparse(matrix) and matrix.nnz >= _FULL * math.prod(matrix.shape):
        matrix = matrix.toarray()
    hessian: Vector = np.diag(penalties)
    if scipy.sparse.issparse(matrix):
        hessian += (matrix.T.multiply(curvature) @ matrix).toarray()
    else:
        hessian += matrix.T @ (curvature[:, None] * matrix)
    return hessian


def _conjugate_gradients(times: _Map, precondition: _Map, residual: Vector) -> Vector:
    z = precondition(residual)
    direction, solution, rho = z, np.zeros_like(residual), float((residual * z).sum())
    target = rho * min(0.01, rho)
    for _ in range(2000):
        image = times(direction)
        step = rho / float((direction * image).sum())
        solution, residual = solution + step * direction, residual - step * image
        z = precondition(residual)
        rho, previous = float((residual * z).sum()), rho
        if rho <= target:
            break
        direction = z + (rho / previous) * direction
    return solution
