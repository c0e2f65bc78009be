"""minmin's estimators as users call them; all that fit() does is timed."""

from __future__ import annotations

from typing import Any

from estimator_benchmark.objective import Objective
from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, BlockRidge

ESTIMATORS: dict[str, Any] = {
    "logistic": BlockLogisticRegression,
    "softmax": BlockLogisticRegression,
    "poisson": BlockPoissonRegressor,
    "squared": BlockRidge,
}


def fit(objective: Objective, gap: float) -> Any:
    """The fitted estimator; (f - f*)/(f(0) - f*) <= gap is proved if all went well.

    Without an intercept, the null model, to which the tol of an estimator is relative, is zero.
    """
    data = objective.data
    alphas = dict(zip(data.blocks, objective.alphas, strict=True))
    model = ESTIMATORS[objective.loss](dict(data.blocks), alpha=alphas, fit_intercept=False, tol=gap)
    return model.fit(data.matrix, data.target, sample_weight=data.weights)


def why_not_certified(model: Any, tol: float) -> str | None:
    """Why the bound of a fitted estimator does not prove f - f* <= tol; None if it does."""
    if not model.result_.certified:
        return "the bound is not proved"
    if not model.gap_bound_ <= tol:
        return f"the bound is {model.gap_bound_ / tol:.2g} times the gap"
    return None
