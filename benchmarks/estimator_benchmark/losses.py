"""The losses of the benchmark, written apart from those of minmin: they judge it.

Margins and slopes have the shape (n,), or (n, k) for the softmax loss of k classes. ``curve(margins, target)`` returns
the function that multiplies a change of the margins by the second derivative, and the diagonal of that derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

Vector = np.ndarray[Any, Any]
Curve = tuple[Callable[[Vector], Vector], Vector]


class Loss(NamedTuple):
    value: Callable[[Vector, Vector], Vector]
    slope: Callable[[Vector, Vector], Vector]
    curve: Callable[[Vector, Vector], Curve]


def _diagonal(curvature: Vector) -> Curve:
    return lambda change: curvature * change, curvature


def _curve_logistic(margins: Vector, target: Vector) -> Curve:
    p = expit(margins)
    return _diagonal(p * (1.0 - p))


def _value_softmax(margins: Vector, target: Vector) -> Vector:
    losses: Vector = logsumexp(margins, axis=1) - margins[np.arange(len(target)), target]
    return losses


def _slope_softmax(margins: Vector, target: Vector) -> Vector:
    slopes: Vector = softmax(margins, axis=1)
    slopes[np.arange(len(target)), target] -= 1.0
    return slopes


def _curve_softmax(margins: Vector, target: Vector) -> Curve:
    p = softmax(margins, axis=1)
    return lambda change: p * (change - (p * change).sum(axis=1, keepdims=True)), p * (1.0 - p)


LOSSES = {
    "logistic": Loss(
        lambda margins, target: np.logaddexp(0.0, -target * margins),
        lambda margins, target: -target * expit(-target * margins),
        _curve_logistic,
    ),
    "poisson": Loss(
        lambda margins, target: np.exp(margins) - target * margins,
        lambda margins, target: np.exp(margins) - target,
        lambda margins, target: _diagonal(np.exp(margins)),
    ),
    "squared": Loss(
        lambda margins, target: 0.5 * (margins - target) ** 2,
        lambda margins, target: margins - target,
        lambda margins, target: _diagonal(np.ones(len(margins))),
    ),
    "softmax": Loss(_value_softmax, _slope_softmax, _curve_softmax),
}
