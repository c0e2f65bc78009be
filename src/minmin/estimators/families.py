"""The families of block models: what a target may be, and what is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from minmin.errors import InputError
from minmin.estimators.design import Design
from minmin.estimators.model import BlockModel, Sample
from minmin.problems import Softmax
from minmin.problems.linear.model import LinearModel

_Vector = np.ndarray[Any, Any]


class Logistic(ClassifierMixin, BlockModel):
    """Classes of any type, told apart by the logistic or, for more than two, the softmax loss."""

    _loss = "logistic"
    _why_endless = (
        "columns without a penalty tell the classes apart without error (separable data); give every block an alpha "
        "above 0"
    )
    _numeric_target = False

    def _checked_target(self, y: Any, weights: _Vector | None) -> tuple[_Vector, _Vector | None]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.class_weight is not None:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = of_class[codes] if weights is None else weights * of_class[codes]
        counts = np.bincount(codes, weights)
        if (counts > 0).sum() < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[counts.argmax()]!r}"
            )
        self._require_counts(counts, "the data")
        return codes if self._outputs else 2.0 * codes - 1.0, weights

    def _require_classes(self, sample: Sample, where: str) -> None:
        codes = sample.target if self._outputs else (sample.target > 0).astype(int)
        self._require_counts(np.bincount(codes, sample.weights, minlength=len(self.classes_)), where)

    def _require_counts(self, counts: _Vector, where: str) -> None:
        if not counts.all():
            missing = self.classes_[counts == 0].tolist()[0]
            raise InputError(
                f"{where}: class {missing!r} has no sample of positive weight; leave that class out, or split "
                "so that every part has it"
            )

    @property
    def _outputs(self) -> tuple[int, ...]:
        return (len(self.classes_),) if len(self.classes_) > 2 else ()

    def _problem(self, design: Design, sample: Sample, penalties: _Vector) -> LinearModel:
        if not self._outputs:
            return super()._problem(design, sample, penalties)
        alpha_x, alpha_y = design.penalties(penalties)
        return Softmax(
            design.X,
            design.Y,
            sample.target,
            *self._outputs,
            alpha_x=alpha_x,
            alpha_y=alpha_y,
            sample_weight=sample.weights,
        )

    def _shaped(self, coef: _Vector, intercept: Any) -> tuple[_Vector, Any]:
        return np.atleast_2d(coef), np.atleast_1d(intercept)

    def _unshaped(self) -> tuple[_Vector, Any]:
        return (self.coef_, self.intercept_) if len(self.coef_) > 1 else (self.coef_[0], self.intercept_[0])

    def decision_function(self, X: Any) -> _Vector:
        """The margins: for two classes how far a sample speaks for the second, else one column a class.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        margins = self._margins(X)
        return margins if margins.shape[1] > 1 else margins[:, 0]

    def predict(self, X: Any) -> _Vector:
        """The likeliest class of every sample."""
        margins = self.decision_function(X)
        codes = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: _Vector = self.classes_[codes]
        return predicted

    def predict_proba(self, X: Any) -> _Vector:
        """The probability of every class, in the order of ``classes_``."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            return np.stack([expit(-margins), expit(margins)], axis=1)
        probabilities: _Vector = softmax(margins, axis=1)
        return probabilities

    def predict_log_proba(self, X: Any) -> _Vector:
        """The logarithms of these, also where a probability underflows."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            return np.stack([log_expit(-margins), log_expit(margins)], axis=1)
        logarithms: _Vector = log_softmax(margins, axis=1)
        return logarithms


class Gaussian(RegressorMixin, BlockModel):
    """Real targets, half the squared error."""

    _loss = "squared"

    def _checked_target(self, y: Any, weights: _Vector | None) -> tuple[_Vector, _Vector | None]:
        """The target about its mean, where an intercept takes that up: moving both alike changes no f.

        Rounding errors are then those of y's spread, not of its size.
        """
        y = np.asarray(y, dtype=np.float64)
        mean = float(y.mean()) if self.fit_intercept else 0.0
        self._target_shift = mean if np.isfinite(mean) else 0.0
        return y - self._target_shift, weights

    def _shaped(self, coef: _Vector, intercept: Any) -> tuple[_Vector, Any]:
        return coef, float(intercept) + self._target_shift

    def _unshaped(self) -> tuple[_Vector, Any]:
        return self.coef_, self.intercept_ - self._target_shift

    def predict(self, X: Any) -> _Vector:
        """The expected target of every sample."""
        return self._margins(X)


class Poisson(RegressorMixin, BlockModel):
    """Counts, or any numbers >= 0; the logarithm of what is expected is linear."""

    _loss = "poisson"
    _why_endless = (
        "columns without a penalty, or the intercept alone, single out samples whose counts are all 0; give every "
        "block an alpha above 0, and some count above 0"
    )

    def _checked_target(self, y: Any, weights: _Vector | None) -> tuple[_Vector, _Vector | None]:
        if (y < 0).any():
            raise ValueError(f"Some value(s) of y are out of the valid range of a Poisson target: {y.min():g} < 0.")
        return y, weights

    def predict(self, X: Any) -> _Vector:
        """The expected count of every sample."""
        return np.exp(self._margins(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D², the part of the deviance that is explained: 1 is perfect, 0 what a constant reaches.

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
