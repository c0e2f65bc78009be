"""cyanure on scaled columns; by default it chooses the algorithm; tol is its relative duality gap."""

from __future__ import annotations

from typing import Any

import cyanure.estimators

from benchmark_utils.peers import Solve
from benchmark_utils.peers.scaled import Scaled


def prepare(
    X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, algorithm: str = "auto", threads: int = 1
) -> Solve:
    scaled = Scaled(X, Y, alpha_x, alpha_y)

    def solve(tol: float) -> tuple[Any, Any]:
        model = cyanure.estimators.LogisticRegression(
            solver=algorithm,
            lambda_1=scaled.penalty,
            fit_intercept=False,
            tol=tol,
            max_iter=10_000,
            n_threads=threads,
            verbose=False,
        )
        return scaled.blocks(model.fit(scaled.A, labels).coef_)

    return solve
