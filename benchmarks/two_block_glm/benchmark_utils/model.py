"""The logistic model with two blocks: its value, and its minimum by an independent Newton method."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import expit

Vector = np.ndarray[Any, Any]


class Model(NamedTuple):
    """f(x, y) = mean log(1 + exp(-labels·(Xx + Yy))) + alpha_x/2 |x|² + alpha_y/2 |y|²; both penalties positive."""

    X: Any
    Y: Vector
    labels: Vector
    alpha_x: float
    alpha_y: float

    def value(self, x: Vector, y: Vector) -> float:
        margins = self.labels * (self.X @ x + self.Y @ y)
        penalty = 0.5 * self.alpha_x * (x @ x) + 0.5 * self.alpha_y * (y @ y)
        return float(np.logaddexp(0.0, -margins).mean() + penalty)

    def gradient(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        slope = -self.labels * expit(-self.labels * (self.X @ x + self.Y @ y)) / len(self.labels)
        return self.X.T @ slope + self.alpha_x * x, self.Y.T @ slope + self.alpha_y * y

    def relative_gap(self, x: Vector, y: Vector, minimum: float) -> float:
        """(f(x, y) - f*)/(f(0) - f*), but at least the rounding unit."""
        return max((self.value(x, y) - minimum) / (math.log(2.0) - minimum), float(np.finfo(np.float64).eps))


def minimum(model: Model, accuracy: float = 1e-13) -> float:
    """The minimum of f, at most accuracy·(f(0) - f*) too high: |∇ₓf|²/2alpha_x + |∇ᵧf|²/2alpha_y bounds the error."""
    x, y = np.zeros(model.X.shape[1]), np.zeros(model.Y.shape[1])
    value = model.value(x, y)
    for _ in range(200):
        g_x, g_y = model.gradient(x, y)
        error = 0.5 * (g_x @ g_x) / model.alpha_x + 0.5 * (g_y @ g_y) / model.alpha_y
        if error <= accuracy * max(math.log(2.0) - value, accuracy):
            return value
        p_x, p_y = _newton_step(model, x, y, g_x, g_y)
        step, slope = 1.0, g_x @ p_x + g_y @ p_y
        while model.value(x + step * p_x, y + step * p_y) > value + 1e-4 * step * slope + 1e-15 and step > 1e-10:
            step /= 2.0
        x, y = x + step * p_x, y + step * p_y
        value = model.value(x, y)
    raise RuntimeError(f"the Newton method for f* stopped with an error of up to {error:.1e}")


def _newton_step(model: Model, x: Vector, y: Vector, g_x: Vector, g_y: Vector) -> tuple[Vector, Vector]:
    """Solve the Newton system by CG, preconditioned by the diagonal of H_xx and the whole of H_yy."""
    X, Y, labels, alpha_x, alpha_y = model
    p = expit(X @ x + Y @ y)
    curvature = p * (1.0 - p) / len(labels)
    diagonal = X.multiply(X).T @ curvature + alpha_x
    factor = scipy.linalg.cho_factor(Y.T @ (curvature[:, None] * Y) + alpha_y * np.eye(Y.shape[1]))
    d_x = len(x)

    def times(v: Vector) -> Vector:
        weighted = curvature * (X @ v[:d_x] + Y @ v[d_x:])
        return np.concatenate([X.T @ weighted + alpha_x * v[:d_x], Y.T @ weighted + alpha_y * v[d_x:]])

    def precondition(v: Vector) -> Vector:
        return np.concatenate([v[:d_x] / diagonal, scipy.linalg.cho_solve(factor, v[d_x:])])

    residual = -np.concatenate([g_x, g_y])
    z = precondition(residual)
    direction, solution, rho = z, np.zeros_like(residual), residual @ z
    target = rho * min(0.01, rho)
    for _ in range(1000):
        image = times(direction)
        step = rho / (direction @ image)
        solution, residual = solution + step * direction, residual - step * image
        z = precondition(residual)
        rho, previous = residual @ z, rho
        if rho <= target:
            break
        direction = z + (rho / previous) * direction
    return solution[:d_x], solution[d_x:]
