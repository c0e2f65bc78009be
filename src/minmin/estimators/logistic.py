"""Logistic regression with a penalty per block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from minmin.core.rows import map_rows, reduce_rows
from minmin.errors import InputError, as_number, show
from minmin.estimators.cluster import lazy
from minmin.estimators.docs import document
from minmin.estimators.inference import WithStandardErrors
from minmin.estimators.model import FixedPenalties, RowData, Vector
from minmin.estimators.path import CrossValidated
from minmin.problems.linear.losses import LOSSES, Loss
from minmin.problems.linear.softmax import SoftmaxLoss

_document = document(
    "Minimises the weighted mean of log(1 + exp(-margin)), or of the softmax loss for more than two classes, plus\n"
    "Σ_b alpha_b/2 |w_b|² over the blocks b. The intercept is not penalised.",
    scale="scikit-learn's C is 1/(n·alpha) for n samples.",
    coef="array of shape (1, n_features), or (n_classes, n_features) for more than two classes",
    intercept="array of shape (1,) or (n_classes,)",
    folds="five stratified folds",
)


@dataclass(eq=False, repr=False, kw_only=True)
class Logistic(ClassifierMixin, WithStandardErrors):
    """Predicts classes of any type with the logistic loss or, for more than two classes, the softmax loss."""

    class_weight: Any = None

    _why_unbounded = (
        "columns without a penalty separate the classes without error (separable data); give every block an alpha "
        "above 0"
    )
    _numeric_target = False

    @property
    def _loss(self) -> Loss:
        return SoftmaxLoss(*self._outputs) if self._outputs else LOSSES["logistic"]

    @property
    def _outputs(self) -> tuple[int, ...]:
        return (len(self.classes_),) if len(self.classes_) > 2 else ()

    def _check_target(self, y: Any, weights: Vector | None) -> RowData:
        self.classes_ = reduce_rows(_find_classes, y, combine="union")
        codes = map_rows(np.searchsorted, self.classes_, y)  # faster than np.unique(y, return_inverse=True)
        if self.class_weight is not None:
            of_sample = map_rows(np.take, self._weigh_classes(codes, weights), codes)
            weights = of_sample if weights is None else weights * of_sample
        counts = reduce_rows(np.bincount, codes, weights, len(self.classes_))
        if (counts > 0).sum() < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{show(self.classes_[counts.argmax()])}; add samples of another class"
            )
        self._require_classes(codes, weights, "the data")
        return RowData(map_rows(np.asarray, codes, np.min_scalar_type(len(self.classes_))), weights)

    def _weigh_classes(self, codes: Vector, weights: Vector | None) -> Vector:
        """The weight of every class; "balanced" classes have the same total weight, as in scikit-learn."""
        if not isinstance(self.class_weight, str):
            for label, weight in self.class_weight.items() if isinstance(self.class_weight, Mapping) else ():
                if not 0.0 <= as_number(weight, f"class_weight of class {show(label)}") < math.inf:
                    raise InputError(f"class_weight of class {show(label)} = {weight} must be finite and >= 0")
            return np.asarray(compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_))
        if self.class_weight != "balanced":
            raise InputError(f"class_weight must be a dict or 'balanced', got {self.class_weight!r}")
        totals = reduce_rows(np.bincount, codes, weights, len(self.classes_)).astype(np.float64)
        balanced: Vector = np.divide(totals.sum(), len(totals) * totals, out=np.ones_like(totals), where=totals > 0.0)
        return balanced

    def _require_classes(self, target: Vector, weights: Vector | None, where: str) -> None:
        counts = reduce_rows(np.bincount, target, weights, len(self.classes_))
        if not counts.all():
            missing = self.classes_[counts == 0][0]
            raise InputError(
                f"{where}: class {show(missing)} has no sample of positive weight; remove that class, or choose splits "
                "in which every training part contains it"
            )

    def _shape(self, coef: Vector, intercept: Any) -> tuple[Vector, Any]:
        return np.atleast_2d(coef), np.atleast_1d(intercept)

    def _unshape(self) -> tuple[Vector, Any]:
        return (self.coef_, self.intercept_) if len(self.coef_) > 1 else (self.coef_[0], self.intercept_[0])

    @lazy
    def decision_function(self, X: Any, offset: Any = None) -> Vector:
        """The margins of the samples: positive for the second of two classes; for more, one column per class.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        margins = self._margins(X, offset)
        return margins if margins.shape[1] > 1 else margins[:, 0]

    @lazy
    def predict(self, X: Any, offset: Any = None) -> Vector:
        """The most probable class of each sample."""
        margins = self.decision_function(X, offset)
        codes = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: Vector = self.classes_[codes]
        return predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """The share of samples whose class is predicted; for Dask collections not computed yet."""
        return self._score(X, y, sample_weight, offset, _count_errors, accuracy_score)

    @lazy
    def predict_proba(self, X: Any, offset: Any = None) -> Vector:
        """The probability of each class, in the order of ``classes_``."""
        return _by_class(self.decision_function(X, offset), expit, softmax)

    @lazy
    def predict_log_proba(self, X: Any, offset: Any = None) -> Vector:
        """The logarithms of the probabilities; accurate even if a probability underflows."""
        return _by_class(self.decision_function(X, offset), log_expit, log_softmax)


def _find_classes(y: Vector) -> Vector:
    try:
        check_classification_targets(y)
    except ValueError as error:
        reason = str(error).partition(".")[0]
        raise InputError(f"{reason}; this model predicts classes: for a regression use BlockRidge") from error
    return np.unique(y)


def _count_errors(y: Vector, predicted: Vector, weights: Vector, mean: float) -> tuple[float, float]:
    return float(weights @ (predicted != y)), float(weights.sum())


def _by_class(margins: Vector, of_two: Callable[[Vector], Vector], of_several: Callable[..., Vector]) -> Vector:
    """One column per class, from the margins of two classes or of several."""
    if margins.ndim == 1:
        return np.stack([of_two(-margins), of_two(margins)], axis=1)
    return of_several(margins, axis=1)


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockLogisticRegression(Logistic, FixedPenalties):
    """Logistic regression with a penalty per block of columns and a proved bound on the gap f - f*.

    Examples
    --------
    >>> import minmin
    >>> X, labels = minmin.datasets.load_a1a()
    >>> model = minmin.estimators.BlockLogisticRegression([slice(0, 100), slice(100, None)], alpha=(1e-2, 1e-4))
    >>> model.fit(X, labels).gap_bound_ <= model.tol
    True
    >>> model.coef_.shape
    (1, 119)
    """


@_document
@dataclass(eq=False, repr=False, kw_only=True)
class BlockLogisticRegressionCV(Logistic, CrossValidated):
    """Logistic regression with a penalty per block of columns, chosen by cross-validation.

    Examples
    --------
    >>> import minmin
    >>> X, labels = minmin.datasets.load_a1a()
    >>> blocks = {"many": slice(0, 100), "few": slice(100, None)}
    >>> grid = {"many": [1e-1, 1e-2, 1e-3], "few": [1e-3, 1e-4]}
    >>> model = minmin.estimators.BlockLogisticRegressionCV(blocks, alphas=grid).fit(X, labels)
    >>> sorted(model.alpha_)
    ['few', 'many']
    """
