"""Least squares and Huber regression with a penalty per block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from minmin.core.rows import map_rows, reduce_rows
from minmin.estimators.cluster import lazy
from minmin.estimators.docs import document
from minmin.estimators.inference import WithStandardErrors
from minmin.estimators.model import FixedPenalties, RowData, Vector
from minmin.estimators.path import CrossValidated
from minmin.problems.linear.losses import LOSSES, Huber, Loss

_document = document(
    "Minimises the weighted mean of ½(margin - y)² plus Σ_b alpha_b/2 |w_b|² over the blocks b. The intercept is not\n"
    "penalised.",
    scale="The alpha of scikit-learn's Ridge is n times this for n samples.",
)

_document_huber = document(
    "Minimises the weighted mean of ½r² plus Σ_b alpha_b/2 |w_b|² over the blocks b, where r = margin - y; beyond\n"
    "|r| = delta the loss of a sample is delta(|r| - delta/2). The intercept is not penalised.",
    scale="scikit-learn's HuberRegressor estimates delta and has another scale.",
)


class RealTarget(RegressorMixin, WithStandardErrors):
    """Predicts real numbers by the margin itself."""

    def _check_target(self, y: Any, weights: Vector | None) -> RowData:
        """Subtract the mean from the target if there is an intercept, which absorbs it; f stays the same.

        Rounding errors of a run then scale with the spread of y, not with its size.
        """
        y = map_rows(np.asarray, y, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = reduce_rows(np.sum, y, 0) / y.shape[0] if self.fit_intercept else np.zeros(y.shape[1:])
        shift = np.where(np.isfinite(mean), mean, 0.0)[()]
        return RowData(y - shift, weights, shift=shift)

    @lazy
    def predict(self, X: Any, offset: Any = None) -> Vector:
        """The expected target of each sample."""
        return self._margins(X, offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """R², the share of the variance that is explained: 1 is perfect, a constant prediction has 0.

        For Dask collections it is not computed yet.
        """
        return self._score(X, y, sample_weight, offset, _add_squares, r2_score)


def _add_squares(y: Vector, predicted: Vector, weights: Vector, mean: float) -> tuple[float, float]:
    return float(weights @ (y - predicted) ** 2), float(weights @ (y - mean) ** 2)


class Gaussian(RealTarget):
    """The loss is half the squared error."""

    _loss = LOSSES["squared"]


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockRidge(Gaussian, FixedPenalties):
    """Least squares with a penalty per block of columns and a proved bound on the gap f - f*.

    y may have several columns. Each is fitted by itself: ``coef_`` then has a row per target, ``intercept_`` a number,
    and ``result_`` is a list.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> model = minmin.estimators.BlockRidge({"free": [0, 1]}, alpha={"free": 0.0, "rest": 10.0})
    >>> np.round(model.fit(X, X @ [1.0, 2.0, 3.0, 4.0]).coef_, 1).shape
    (4,)
    >>> model.result_.certified
    True
    """

    _takes_several_targets = True


class HuberModel(RealTarget):
    """The loss is half the squared error up to ``delta``, and grows linearly beyond it."""

    delta: float

    @property
    def _loss(self) -> Loss:
        return Huber(self.delta)


@_document_huber
@dataclass(eq=False, repr=False, kw_only=True)
class BlockHuberRegressor(HuberModel, FixedPenalties):
    """Huber regression, which resists outliers, with a penalty per block of columns and a proved bound on the gap.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> y = X[:, 0] + np.where(np.arange(50) == 7, 1000.0, 0.0)
    >>> model = minmin.estimators.BlockHuberRegressor(alpha=1e-3).fit(X, y)
    >>> bool(abs(model.coef_[0] - 1.0) < 0.2)
    True
    """

    delta: float = 1.0


@_document_huber
@dataclass(eq=False, repr=False, kw_only=True)
class BlockHuberRegressorCV(HuberModel, CrossValidated):
    """Huber regression, which resists outliers, with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> y = X[:, 0] + np.where(np.arange(50) == 7, 1000.0, 0.0)
    >>> minmin.estimators.BlockHuberRegressorCV(alphas=[1e-3, 1e3]).fit(X, y).alpha_
    {'all': 0.001}
    """

    delta: float = 1.0


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockRidgeCV(Gaussian, CrossValidated):
    """Least squares with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> import minmin
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> model = minmin.estimators.BlockRidgeCV([[0, 1], [2, 3]], alphas=[(1e-3, 1.0), (1.0, 1e-3)])
    >>> model.fit(X, X @ [1.0, 2.0, 0.0, 0.0]).alpha_
    {'block0': 0.001, 'block1': 1.0}
    """
