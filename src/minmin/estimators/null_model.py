"""The null model: the intercept alone, beside offset and weights. A fit is measured by what it gains over it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import in_double, largest
from minmin.core.bound import rounding_error
from minmin.core.rows import reduce_rows
from minmin.errors import InputError
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
_LEAST_SCALE = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
"""A loss whose terms are smaller loses digits to underflow, and so do bounds on it."""
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
    sample = _Sample(problem.loss, problem.target, problem.weights, problem.offset)
    if problem.loss.outputs > 1:
        intercept: Any = _find_shares(sample) if fit_intercept else np.zeros(problem.loss.outputs)
    else:
        intercept = _find_intercept(sample) if fit_intercept else 0.0
    value, scale = sample.sum(_measure, intercept)
    size = largest(problem.target)
    if not math.isfinite(scale) or (size > 0.0 and scale < _LEAST_SCALE):
        which = "underflows" if math.isfinite(scale) else "overflows"
        offset = "" if problem.offset is None else ", or the offset,"
        raise InputError(f"the loss {which}: the targets are up to {size:.3g}; give y{offset} in other units")
    return NullModel(intercept, float(value), float(scale))


class _Sample(NamedTuple):
    loss: Loss
    target: Any
    weights: Any
    offset: Any

    def sum(self, function: Callable[..., Vector], *args: Any) -> Vector:
        """The sum over all rows of what a function of loss, target, weights and offset returns for some of them."""
        return np.asarray(reduce_rows(function, self.loss.for_rows, *self[1:], *args))

    def find_bracket(self) -> tuple[float, float]:
        """Two numbers between which the best intercept lies, whatever the units of the target and the offset."""
        low, high = (float(reduce_rows(find, self.target, combine=how)) for find, how in _ENDS)
        least, most = 0.0, 0.0
        if self.offset is not None:
            least, most = (float(reduce_rows(find, self.offset, combine=how)) for find, how in _ENDS)
        return min(low, 0.0) - most - _FARTHEST, max(high, 0.0) - least + _FARTHEST


_ENDS: tuple[tuple[Any, Any], ...] = ((np.min, "min"), (np.max, "max"))


def _find_intercept(sample: _Sample) -> float:
    """The intercept that minimises the mean loss, by Newton's method inside a bracket."""
    low, high = sample.find_bracket()
    intercept = min(max(_guess(sample), low), high)
    for _ in range(_MOST_STEPS):
        slope, curvature, enough = sample.sum(_differentiate, intercept).tolist()
        if abs(slope) <= enough < math.inf or high - low <= _ENOUGH * (abs(low) + abs(high)):
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
    target, offset = sample.sum(_average).tolist()
    try:
        return float(link(target) - offset)
    except ValueError:  # by a logarithm, if all targets are at the end of their range
        return 0.0


def _find_shares(sample: _Sample) -> Vector:
    """The intercepts of more than two classes: the logarithms of their shares."""
    intercept = np.log(np.maximum(sample.sum(_add_by_class), np.finfo(float).tiny))
    return np.asarray(intercept - intercept.mean())


def _differentiate(loss: Loss, target: Vector, weights: Vector, offset: Vector | None, intercept: float) -> Vector:
    """Slope and curvature of the mean loss in the intercept, and a slope that is small enough.

    A slope may be the difference of large numbers, so its rounding errors may be larger than itself. They are those of
    the margins, times the curvature.
    """
    target, weights = in_double(target), in_double(weights)
    margins = np.zeros_like(weights) + intercept if offset is None else in_double(offset) + intercept
    with np.errstate(over="ignore", invalid="ignore"):
        shared = loss.prepare(margins, target)
        slopes = weights * loss.slope(margins, target, shared)
        curvatures = weights * loss.curvature(margins, target, shared)
        rounding = rounding_error(float(np.finfo(np.float64).eps), curvatures @ (1.0 + np.abs(margins)))
    return np.array([slopes.sum(), curvatures.sum(), _ENOUGH * np.abs(slopes).sum() + rounding])


def _average(loss: Loss, target: Vector, weights: Vector, offset: Vector | None) -> Vector:
    """The mean target and the mean offset."""
    weights = in_double(weights)
    return np.array([weights @ in_double(target), 0.0 if offset is None else weights @ in_double(offset)])


def _add_by_class(loss: Loss, target: Vector, weights: Vector, offset: Vector | None) -> Vector:
    return np.bincount(target.astype(int), in_double(weights), minlength=loss.outputs)


def _measure(loss: Loss, target: Vector, weights: Vector, offset: Vector | None, intercept: Any) -> Vector:
    """The mean loss, and the size of the terms that are summed in it."""
    weights = in_double(weights)
    margins = np.zeros((len(weights), *np.shape(intercept))) + intercept
    if offset is not None:
        margins = margins + in_double(offset)
    with np.errstate(over="ignore", invalid="ignore"):
        shared = loss.prepare(margins, target)
        values = loss.value(margins, target, shared)
        at_zero = np.abs(loss.slope(margins, target, shared) * margins).reshape(len(weights), -1).sum(axis=1)
    return np.array([weights @ values, weights @ (np.abs(values) + at_zero)])
