"""The true gap of a fitted estimator: f at exactly the numbers that it has, minus the minimum of f, in 90 digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

Numbers = list[Decimal]


class Terms(NamedTuple):
    """A sample's loss at its margins, its slopes and its curvatures."""

    value: Decimal
    slope: Numbers
    curvature: list[Numbers]


def exact(number: Any) -> Decimal:
    return Decimal(float(number))


def _squared(margins: Numbers, target: Any, parameter: Any) -> Terms:
    residual = margins[0] - exact(target)
    return Terms(residual * residual / 2, [residual], [[Decimal(1)]])


def _huber(margins: Numbers, target: Any, parameter: Any) -> Terms:
    residual, delta = margins[0] - exact(target), exact(parameter)
    if abs(residual) <= delta:
        return _squared(margins, target, parameter)
    return Terms(delta * (abs(residual) - delta / 2), [delta.copy_sign(residual)], [[Decimal(0)]])


def _poisson(margins: Numbers, target: Any, parameter: Any) -> Terms:
    mean = margins[0].exp()
    return Terms(mean - exact(target) * margins[0], [mean - exact(target)], [[mean]])


def _gamma(margins: Numbers, target: Any, parameter: Any) -> Terms:
    ratio = exact(target) * (-margins[0]).exp()
    return Terms(ratio + margins[0], [1 - ratio], [[ratio]])


def _tweedie(margins: Numbers, target: Any, parameter: Any) -> Terms:
    p = exact(parameter)
    rising, falling = ((2 - p) * margins[0]).exp(), exact(target) * ((1 - p) * margins[0]).exp()
    value = rising / (2 - p) + falling / (p - 1)
    return Terms(value, [rising - falling], [[(2 - p) * rising + (p - 1) * falling]])


def _softmax(margins: Numbers, target: Any, parameter: Any) -> Terms:
    """With one margin, those of the two classes are 0 and that margin."""
    every = [Decimal(0), *margins] if len(margins) == 1 else margins
    first = len(every) - len(margins)
    top = max(every)
    powers = [(m - top).exp() for m in every]
    total = sum(powers)
    p = [power / total for power in powers]
    value = total.ln() + top - every[int(target)]
    slopes = [p_k - (k == int(target)) for k, p_k in enumerate(p)]
    curvature = [[p_k * ((k == j) - p_j) for j, p_j in enumerate(p)][first:] for k, p_k in enumerate(p)]
    return Terms(value, slopes[first:], curvature[first:])


LOSSES: dict[str, Callable[[Numbers, Any, Any], Terms]] = {
    "squared": _squared,
    "huber": _huber,
    "poisson": _poisson,
    "gamma": _gamma,
    "tweedie": _tweedie,
    "logistic": _softmax,
}


def find_gap(
    family: str,
    X: np.ndarray,
    y: np.ndarray,
    alpha: Sequence[float],
    coef: Any,
    intercept: Any,
    *,
    weights: Any = None,
    offset: Any = None,
    parameter: Any = None,
) -> float:
    """The gap of these coefficients; ``alpha`` has a penalty per column, ``y`` the number of the class, if any.

    Newton's method starts at the coefficients, which are so near the minimum that it needs few steps.
    """
    with localcontext() as context:
        context.prec = 90
        coef = np.atleast_2d(coef)
        outputs = len(coef)
        rows = [[*map(exact, row), Decimal(1)] for row in X]
        penalties = [*map(exact, alpha), Decimal(0)]
        weighted = [exact(w) for w in (np.ones(len(X)) if weights is None else weights)]
        shares = [w / sum(weighted) for w in weighted]
        offsets = [exact(o) for o in (np.zeros(len(X)) if offset is None else offset)]
        point = [exact(v) for v in np.vstack([coef.T, np.reshape(intercept, (1, -1))]).reshape(-1)]

        def evaluate(z: Numbers) -> tuple[Decimal, Numbers, list[Numbers]]:
            value, size = Decimal(0), range(len(z))
            slope, curvature = [Decimal(0) for _ in size], [[Decimal(0) for _ in size] for _ in size]
            for row, target, share, added in zip(rows, y, shares, offsets, strict=True):
                margins = [added + sum(a * z[j * outputs + k] for j, a in enumerate(row)) for k in range(outputs)]
                terms = LOSSES[family](margins, target, parameter)
                value += share * terms.value
                for a in size:
                    i, k = divmod(a, outputs)
                    slope[a] += share * row[i] * terms.slope[k]
                    for b in size:
                        j, other = divmod(b, outputs)
                        curvature[a][b] += share * row[i] * row[j] * terms.curvature[k][other]
            for a in size:
                penalty = penalties[a // outputs]
                value += penalty * z[a] ** 2 / 2
                slope[a] += penalty * z[a]
                curvature[a][a] += penalty
            if outputs > 1:  # one number added to the intercepts of all classes changes nothing
                for a in size[-outputs:]:
                    for b in size[-outputs:]:
                        curvature[a][b] += 1
            return value, slope, curvature

        first, slope, curvature = evaluate(point)
        value = first
        for _ in range(20):
            step = _solve(curvature, slope)
            point = [v - dv for v, dv in zip(point, step, strict=True)]
            before = value
            value, slope, curvature = evaluate(point)
            if abs(before - value) <= Decimal("1e-9") * (first - value):
                return float(first - value)
    raise AssertionError("Newton's method does not converge")


def _solve(matrix: list[Numbers], right: Numbers) -> Numbers:
    """Gaussian elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for i in range(column + 1, size):
            factor = rows[i][column] / rows[column][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    solution = [Decimal(0)] * size
    for i in reversed(range(size)):
        known = sum(rows[i][j] * solution[j] for j in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution
