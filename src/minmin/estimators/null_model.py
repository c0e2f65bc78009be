"""The null model: the intercept alone, beside offset and weights. A fit is measured by what it gains over it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel

Vector = np.ndarray[Any, Any]

_LINKS: dict[str, Callable[[float], float]] = {
    "squared": lambda mean: mean,
    "logistic": lambda mean: math.log1p(mean) - math.log1p(-mean),  # of targets -1 and 1
    **dict.fromkeys(("poisson", "gamma", "tweedie", "negative-binomial"), math.log),
}
"""The best constant margin for a mean target, where there is a formula for it and no offset."""
_MOST_STEPS = 100
_ENOUGH = 1e-9
"""The search for the intercept ends where the slopes of all samples cancel up to this fraction: the null model needs
to be good, not exact."""
_FARTHEST = 700.0
"""The best intercept moves no margin farther than this beyond zero and the targets: exp overflows above 709."""


class NullModel(NamedTuple):
    """The null model.

    Attributes
    ----------
    intercept : float or array of shape (k,)
        Zero if the model has no intercept.
    value : float
        The mean loss.
    scale : float
        The size of the terms that are summed in ``value``, for its rounding errors.
    """

    intercept: Any
    value: float
    scale: float


def fit_null_model(problem: LinearModel, fit_intercept: bool) -> NullModel:
    """The null model of a problem."""
    target, weights = (np.asarray(a, dtype=np.float64) for a in (problem.target, problem.weights))
    offset = None if problem.offset is None else np.asarray(problem.offset, dtype=np.float64)
    loss = problem.loss
    if loss.outputs > 1:
        return _fit_classes(loss, problem.target, weights, fit_intercept)
    sample = _Sample(loss, target, weights, np.zeros_like(weights) if offset is None else offset)
    intercept = _find_intercept(sample) if fit_intercept else 0.0
    return _measure(loss, sample.offset + intercept, problem.target, weights, intercept)


class _Sample(NamedTuple):
    loss: Loss
    target: Vector
    weights: Vector
    offset: Vector

    @property
    def bracket(self) -> tuple[float, float]:
        """Two numbers between which the best intercept lies, whatever the units of the target and the offset."""
        low, high = min(float(self.target.min()), 0.0), max(float(self.target.max()), 0.0)
        return low - float(self.offset.max()) - _FARTHEST, high - float(self.offset.min()) + _FARTHEST

    def differentiate(self, intercept: float) -> tuple[float, float, float]:
        """Slope and curvature of the mean loss in the intercept, and the size of the slopes of all samples."""
        margins = self.offset + intercept
        with np.errstate(over="ignore", invalid="ignore"):
            shared = self.loss.prepare(margins, self.target)
            slopes = self.weights * self.loss.slope(margins, self.target, shared)
            curvature = float(self.weights @ self.loss.curvature(margins, self.target, shared))
        return float(slopes.sum()), curvature, float(np.abs(slopes).sum())


def _find_intercept(sample: _Sample) -> float:
    """The intercept that minimises the mean loss, by Newton's method inside a bracket."""
    low, high = sample.bracket
    intercept = min(max(_guess(sample), low), high)
    for _ in range(_MOST_STEPS):
        slope, curvature, size = sample.differentiate(intercept)
        if abs(slope) <= _ENOUGH * size or high - low <= _ENOUGH * (abs(low) + abs(high)):
            break
        if slope > 0.0 or math.isnan(slope):
            high = intercept
        else:
            low = intercept
        newton = intercept - slope / curvature if curvature > 0.0 else math.nan
        intercept = newton if low < newton < high else 0.5 * (low + high)
    return intercept


def _guess(sample: _Sample) -> float:
    link = _LINKS.get(sample.loss.name)
    if link is None:
        return 0.0
    try:
        return link(float(sample.weights @ sample.target)) - float(sample.weights @ sample.offset)
    except ValueError:  # by a logarithm, if all targets are at the end of their range
        return 0.0


def _fit_classes(loss: Loss, target: Any, weights: Vector, fit_intercept: bool) -> NullModel:
    """The null model of more than two classes: the logarithms of their shares."""
    classes = loss.outputs
    intercept = np.zeros(classes)
    if fit_intercept:
        shares = np.bincount(np.asarray(target).astype(int), weights, minlength=classes)
        intercept = np.log(np.maximum(shares, np.finfo(float).tiny))
        intercept = intercept - intercept.mean()
    return _measure(loss, np.tile(intercept, (len(weights), 1)), target, weights, intercept)


def _measure(loss: Loss, margins: Vector, target: Any, weights: Vector, intercept: Any) -> NullModel:
    shared = loss.prepare(margins, target)
    values = loss.value(margins, target, shared)
    terms = np.abs(values) + np.abs(loss.slope(margins, target, shared) * margins).reshape(len(weights), -1).sum(axis=1)
    return NullModel(intercept, float(weights @ values), float(weights @ terms))
