"""scikit-learn's LogisticRegression, PoissonRegressor and Ridge on scaled columns."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Solve
from estimator_benchmark.peers.scaled import Scaled

_MOST_STEPS = 20_000


def prepare(objective: Objective, form: str, solver: str) -> Solve:
    scaled, data = Scaled(objective, form), objective.data
    total = objective.total_weight * scaled.penalty

    def model(tol: float) -> Any:
        options = {"solver": solver, "fit_intercept": False, "tol": tol, "max_iter": _MOST_STEPS}
        if objective.loss == "poisson":
            return PoissonRegressor(alpha=scaled.penalty, **options)
        if objective.loss == "squared":
            return Ridge(alpha=total, **options)
        return LogisticRegression(C=1.0 / total, **options)

    def solve(tol: float) -> Vector:
        coef = model(tol).fit(scaled.A, data.target, sample_weight=data.weights).coef_
        return scaled.coefficients(coef[0] if objective.loss == "logistic" else coef)

    return solve
