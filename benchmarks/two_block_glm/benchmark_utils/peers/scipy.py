"""scipy's L-BFGS-B on (x, y) jointly, with raw columns or columns scaled by 1/std; tol is gtol."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
from scipy.special import expit

from benchmark_utils.peers import Solve


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, scaling: str = "none") -> Solve:
    n, d_x = X.shape
    X_T, Y_T = X.T.tocsr(), Y.T
    scale = np.ones(d_x + Y.shape[1]) if scaling == "none" else _one_over_std(X, Y)
    penalties = np.repeat([alpha_x, alpha_y], [d_x, Y.shape[1]])

    def value_and_gradient(z: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        w = z * scale
        margins = labels * (X @ w[:d_x] + Y @ w[d_x:])
        slope = -labels * expit(-margins) / n
        value = np.logaddexp(0.0, -margins).mean() + 0.5 * (penalties @ (w * w))
        return value, (np.concatenate([X_T @ slope, Y_T @ slope]) + penalties * w) * scale

    def solve(tol: float) -> tuple[Any, Any]:
        options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 0.0, "gtol": tol}
        start = np.zeros(len(scale))
        w = scale * scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
        return w[:d_x], w[d_x:]

    return solve


def _one_over_std(X: Any, Y: Any) -> np.ndarray[Any, Any]:
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    std = np.concatenate([np.sqrt(np.maximum(variance, 0.0)), Y.std(axis=0)])
    return 1.0 / np.where(std > 1e-12, std, 1.0)
