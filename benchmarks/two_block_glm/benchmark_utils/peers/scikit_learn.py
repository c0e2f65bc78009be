"""scikit-learn's LogisticRegression on scaled columns, with C = 1/(n·alpha)."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression

from benchmark_utils.peers import Solve
from benchmark_utils.peers.scaled import Scaled


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, algorithm: str) -> Solve:
    scaled = Scaled(X, Y, alpha_x, alpha_y)
    C = 1.0 / (len(labels) * scaled.penalty)

    def solve(tol: float) -> tuple[Any, Any]:
        model = LogisticRegression(C=C, solver=algorithm, fit_intercept=False, tol=tol, max_iter=20_000)
        return scaled.blocks(model.fit(scaled.A, labels).coef_.ravel())

    return solve
