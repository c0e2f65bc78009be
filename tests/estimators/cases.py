"""Random samples for every family, and the objective written down once more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, BlockRidge

MODELS = {"logistic": BlockLogisticRegression, "squared": BlockRidge, "poisson": BlockPoissonRegressor}


class Case(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray


def case(family, n=120, d=6, seed=0, classes=2):
    """Columns of unlike scales, a shifted mean, and weights."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + 0.3) * np.geomspace(1.0, 0.1, d)
    truth = rng.standard_normal(d)
    margins = X @ truth + 0.5
    if family == "logistic" and classes > 2:
        several = X @ rng.standard_normal((d, classes)) + rng.gumbel(size=(n, classes))
        y = several.argmax(axis=1)
    elif family == "logistic":
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-margins))).astype(int)
    elif family == "poisson":
        y = rng.poisson(np.exp(np.minimum(margins, 3.0))).astype(float)
    elif family in ("gamma", "tweedie"):
        y = rng.gamma(2.0, np.exp(np.minimum(margins, 3.0))) * (1 if family == "gamma" else rng.integers(0, 2, n))
    else:
        y = margins + rng.standard_normal(n)
    return Case(X, y, rng.uniform(0.2, 2.0, n))


def objective(family, sample, coef, intercept, penalties):
    """Weighted mean loss plus ½ Σ penalty·coef²; coef has one row a class for more than two."""
    X, y, weights = sample
    margins = X @ np.asarray(coef).T + intercept
    if family == "logistic" and margins.ndim == 2 and margins.shape[1] > 1:
        losses = logsumexp(margins, axis=1) - margins[np.arange(len(y)), y]
    elif family == "logistic":
        losses = np.logaddexp(0.0, -(2.0 * y - 1.0) * margins.reshape(-1))
    elif family == "poisson":
        losses = np.exp(margins) - y * margins
    elif family == "gamma":
        losses = y * np.exp(-margins) + margins
    elif family == "tweedie":  # of power 1.5
        losses = 2.0 * np.exp(0.5 * margins) + 2.0 * y * np.exp(-0.5 * margins)
    elif family == "huber":
        size = np.abs(margins - y)
        losses = np.where(size > 1.0, size - 0.5, 0.5 * size**2)
    else:
        losses = 0.5 * (margins - y) ** 2
    return float(np.average(losses, weights=weights) + 0.5 * np.sum(penalties * np.square(coef)))
