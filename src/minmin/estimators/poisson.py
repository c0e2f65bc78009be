"""Poisson regression with a penalty per block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from minmin.estimators.docs import document
from minmin.estimators.inference import Inference
from minmin.estimators.model import SingleFit, Vector
from minmin.estimators.path import PathFit
from minmin.problems.linear.losses import LOSSES

_document = document(
    "Minimises the weighted mean of exp(margin) - y·margin plus Σ_b alpha_b/2 |w_b|² over the blocks b; the expected\n"
    "count is exp(margin). The intercept is not penalised.",
    scale="scikit-learn's PoissonRegressor has the same scale.",
)


class Poisson(RegressorMixin, Inference):
    """Predicts counts, or any numbers >= 0; the logarithm of the expected count is linear in the features."""

    _loss = LOSSES["poisson"]
    _why_unbounded = (
        "columns without a penalty, or the intercept alone, select samples whose counts are all 0; give every block an "
        "alpha above 0, and data with some count above 0"
    )

    def _check_target(self, y: Any, weights: Vector | None) -> tuple[Vector, Vector | None]:
        if (y < 0).any():
            raise ValueError(f"Some value(s) of y are out of the valid range of a Poisson target: {y.min():g} < 0.")
        return y, weights

    def predict(self, X: Any) -> Vector:
        """The expected count of each sample."""
        return np.exp(self._margins(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D², the share of the deviance that is explained: 1 is perfect, a constant prediction has 0.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockPoissonRegressor(Poisson, SingleFit):
    """Poisson regression with a penalty per block of columns and a proved bound on the gap f - f*.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> counts = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    >>> model = minmin.estimators.BlockPoissonRegressor([[0]], alpha=(0.0, 1e-2)).fit(X, counts)
    >>> bool(model.predict(X).min() > 0.0)
    True
    """


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockPoissonRegressorCV(Poisson, PathFit):
    """Poisson regression with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> counts = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    >>> model = minmin.estimators.BlockPoissonRegressorCV([[0]], alphas=4).fit(X, counts)
    >>> len(model.cv_results_["params"])
    16
    """
