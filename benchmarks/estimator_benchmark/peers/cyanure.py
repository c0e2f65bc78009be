"""cyanure on scaled columns; it chooses the algorithm; tol is its relative duality gap."""

from __future__ import annotations

import logging

import cyanure.estimators

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Solve
from estimator_benchmark.peers.scaled import Scaled

_MOST_MULTIPLICATIONS = 2_000_000_000
"""About ten seconds, since its runs cannot be interrupted."""


def prepare(objective: Objective, form: str, solver: str) -> Solve:
    logging.getLogger("Cyanure").setLevel(logging.WARNING)  # it reports the loss of each fit with several classes
    scaled, target = Scaled(objective, form), objective.data.target
    work = objective.data.nnz * (objective.shape[0] if objective.loss == "softmax" else 1)
    most_epochs = max(100, min(10_000, _MOST_MULTIPLICATIONS // work))
    kind = cyanure.estimators.Regression if objective.loss == "squared" else cyanure.estimators.LogisticRegression

    def solve(tol: float) -> Vector:
        options = {"tol": tol, "max_iter": most_epochs, "n_threads": 1, "verbose": False}
        model = kind(lambda_1=scaled.penalty, fit_intercept=False, **options).fit(scaled.A, target)
        coef = model.coef_.T if objective.loss == "softmax" else model.coef_.ravel()
        return scaled.coefficients(coef)

    return solve
