"""The smooth functions f(x, y): values, gradients and curvature for the peers, and the same function for minmin."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

import minmin

Array = np.ndarray[Any, Any]


class Function(Protocol):
    """f of z = (x, y)."""

    d_x: int
    d_y: int
    problem: minmin.Problem

    def value(self, z: Array) -> float: ...

    def gradient(self, z: Array) -> Array: ...

    def y_hessian(self, z: Array) -> Array: ...

    @property
    def largest_curvature(self) -> float:
        """L of f."""

    @property
    def largest_y_curvature(self) -> float:
        """L of f as a function of y."""

    def largest_reduced_curvature(self, y_is_free: bool) -> float:
        """L of F(x) = min_y f(x, y) + q(y)."""


class QuadraticFunction:
    """½ zᵀHz + bᵀz."""

    def __init__(self, problem: minmin.problems.Quadratic):
        self.problem = problem
        self.H, self.b, self.d_x, self.d_y = problem.H, problem.b, problem.d_x, problem.d_y

    def value(self, z: Array) -> float:
        return float(0.5 * z @ (self.H @ z) + self.b @ z)

    def gradient(self, z: Array) -> Array:
        return self.H @ z + self.b

    def y_hessian(self, z: Array) -> Array:
        return self.H[self.d_x :, self.d_x :]

    @cached_property
    def largest_curvature(self) -> float:
        return float(np.linalg.eigvalsh(self.H)[-1])

    @cached_property
    def largest_y_curvature(self) -> float:
        return float(np.linalg.eigvalsh(self.H[self.d_x :, self.d_x :])[-1])

    def largest_reduced_curvature(self, y_is_free: bool) -> float:
        n, S = self.d_x, self.H[: self.d_x, : self.d_x]
        if y_is_free:
            S = S - self.H[:n, n:] @ np.linalg.solve(self.H[n:, n:], self.H[n:, :n])
        return float(np.linalg.eigvalsh(S)[-1])


class LogisticFunction:
    """The mean of log(1 + exp(-label·<row, z>)), plus ½ alpha_x |x|² + ½ alpha_y |y|²."""

    def __init__(self, X: Array, Y: Array, labels: Array, alpha_x: float, alpha_y: float):
        self.problem = minmin.problems.GLM(X, Y, labels, "logistic", alpha_x=alpha_x, alpha_y=alpha_y)
        self.A, self.labels, self.d_x, self.d_y = np.hstack([X, Y]), labels, X.shape[1], Y.shape[1]
        self.alpha = np.repeat([alpha_x, alpha_y], [self.d_x, self.d_y])

    def value(self, z: Array) -> float:
        return float(np.logaddexp(0.0, -self.labels * (self.A @ z)).mean() + 0.5 * z @ (self.alpha * z))

    def gradient(self, z: Array) -> Array:
        return self.A.T @ (-self.labels * self._probability_of_error(z)) / len(self.labels) + self.alpha * z

    def y_hessian(self, z: Array) -> Array:
        p, Y = self._probability_of_error(z), self.A[:, self.d_x :]
        return (Y.T * (p * (1.0 - p))) @ Y / len(self.labels) + np.diag(self.alpha[self.d_x :])

    def _probability_of_error(self, z: Array) -> Array:
        return np.exp(-np.logaddexp(0.0, self.labels * (self.A @ z)))

    @cached_property
    def largest_curvature(self) -> float:
        return self._bound(self.A, self.alpha)

    @cached_property
    def largest_y_curvature(self) -> float:
        return self._bound(self.A[:, self.d_x :], self.alpha[self.d_x :])

    def largest_reduced_curvature(self, y_is_free: bool) -> float:
        return self._bound(self.A[:, : self.d_x], self.alpha[: self.d_x])

    def _bound(self, A: Array, alpha: Array) -> float:
        return float(np.linalg.eigvalsh(A.T @ A / (4.0 * len(self.labels)) + np.diag(alpha))[-1])
