"""Regressions of a positive mean exp(margin), with a penalty per block: Poisson, gamma and Tweedie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

from minmin.core.rows import reduce_rows
from minmin.estimators.cluster import lazy
from minmin.estimators.docs import document
from minmin.estimators.inference import WithStandardErrors
from minmin.estimators.model import FixedPenalties, RowData, Vector
from minmin.estimators.path import CrossValidated
from minmin.problems.linear.losses import LOSSES, Loss, Tweedie

_MEAN = "the expected target is exp(margin).\nThe intercept is not penalised."
_document_poisson = document(
    f"Minimises the weighted mean of exp(margin) - y·margin plus Σ_b alpha_b/2 |w_b|² over the blocks b; {_MEAN}",
    scale="scikit-learn's PoissonRegressor has the same scale.",
)
_document_gamma = document(
    f"Minimises the weighted mean of y·exp(-margin) + margin plus Σ_b alpha_b/2 |w_b|² over the blocks b; {_MEAN}",
    scale="scikit-learn's GammaRegressor has the same scale.",
)
_document_tweedie = document(
    "Minimises the weighted mean of exp((2-p)margin)/(2-p) + y·exp((1-p)margin)/(p-1) plus Σ_b alpha_b/2 |w_b|² over\n"
    f"the blocks b, where p is the power; {_MEAN}",
    scale="scikit-learn's TweedieRegressor has the same scale.",
)


class LogLink(RegressorMixin, WithStandardErrors):
    """Predicts positive numbers; the logarithm of the expected target is linear in the features."""

    _why_unbounded = (
        "columns without a penalty, or the intercept alone, select samples whose targets are all 0; give every block "
        "an alpha above 0, and data with some target above 0"
    )
    _variance_power: float
    """p if the variance of the target is proportional to its mean to the power of p."""

    def _check_target(self, y: Any, weights: Vector | None) -> RowData:
        low, sign = float(reduce_rows(np.min, y, combine="min")), "<=" if self._variance_power >= 2.0 else "<"
        if low < 0.0 or (low == 0.0 and sign == "<="):
            kind = type(self).__name__.removeprefix("Block").removesuffix("CV").removesuffix("Regressor")
            raise ValueError(f"Some value(s) of y are out of the valid range of a {kind} target: {low:g} {sign} 0.")
        return RowData(y, weights)

    @lazy
    def predict(self, X: Any, offset: Any = None) -> Vector:
        """The expected target of each sample."""
        return np.exp(self._margins(X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """D², the share of the deviance that is explained: 1 is perfect, a constant prediction has 0.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight, offset : arrays of shape (n_samples,), optional

        Returns
        -------
        float
            For Dask collections it is not computed yet.
        """
        power = self._variance_power
        lazily, measure = partial(_add_deviances, power=power), partial(d2_tweedie_score, power=power)
        return self._score(X, y, sample_weight, offset, lazily, measure)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _add_deviances(y: Vector, predicted: Vector, weights: Vector, mean: float, power: float) -> tuple[float, float]:
    total = float(weights.sum())
    of_model, of_mean = (
        total * float(mean_tweedie_deviance(y, means, sample_weight=weights, power=power))
        for means in (predicted, np.full(len(y), mean))
    )
    return of_model, of_mean


class PoissonModel(LogLink):
    """Predicts counts, or any numbers >= 0."""

    _loss = LOSSES["poisson"]
    _variance_power = 1.0


@_document_poisson
@dataclass(eq=False, repr=False, kw_only=True)
class BlockPoissonRegressor(PoissonModel, FixedPenalties):
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


@_document_poisson
@dataclass(eq=False, repr=False, kw_only=True)
class BlockPoissonRegressorCV(PoissonModel, CrossValidated):
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


class GammaModel(LogLink):
    """Predicts positive sizes."""

    _loss = LOSSES["gamma"]
    _variance_power = 2.0


@_document_gamma
@dataclass(eq=False, repr=False, kw_only=True)
class BlockGammaRegressor(GammaModel, FixedPenalties):
    """Gamma regression with a penalty per block of columns and a proved bound on the gap f - f*.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sizes = np.random.default_rng(1).gamma(2.0, np.exp(X[:, 0]))
    >>> minmin.estimators.BlockGammaRegressor(alpha=1e-2).fit(X, sizes).result_.certified
    True
    """


@_document_gamma
@dataclass(eq=False, repr=False, kw_only=True)
class BlockGammaRegressorCV(GammaModel, CrossValidated):
    """Gamma regression with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> sizes = np.random.default_rng(1).gamma(2.0, np.exp(X[:, 0]))
    >>> minmin.estimators.BlockGammaRegressorCV(alphas=[1e-2, 1e2]).fit(X, sizes).alpha_
    {'all': 0.01}
    """


class TweedieModel(LogLink):
    """Predicts sums of a random number of positive amounts, many of which are 0."""

    power: float

    @property
    def _loss(self) -> Loss:
        return Tweedie(self.power)

    @property
    def _variance_power(self) -> float:  # type: ignore[override]
        return self.power


@_document_tweedie
@dataclass(eq=False, repr=False, kw_only=True)
class BlockTweedieRegressor(TweedieModel, FixedPenalties):
    """Tweedie regression with a penalty per block of columns and a proved bound on the gap f - f*.

    It fits sums of a random number of positive amounts, such as the claims of a year, many of which are 0.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> claims = np.random.default_rng(1).poisson(1.0, 50) * np.exp(X[:, 0])
    >>> minmin.estimators.BlockTweedieRegressor(power=1.7, alpha=1e-2).fit(X, claims).result_.certified
    True
    """

    power: float = 1.5


@_document_tweedie
@dataclass(eq=False, repr=False, kw_only=True)
class BlockTweedieRegressorCV(TweedieModel, CrossValidated):
    """Tweedie regression with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> claims = np.random.default_rng(1).poisson(1.0, 50) * np.exp(X[:, 0])
    >>> minmin.estimators.BlockTweedieRegressorCV(power=1.7, alphas=[1e-2, 1e2]).fit(X, claims).alpha_
    {'all': 0.01}
    """

    power: float = 1.5
