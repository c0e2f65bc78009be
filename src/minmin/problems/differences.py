"""∇ᵧf by differences of values, for functions that have no gradient in y."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array, array_eps, to_like
from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice
from minmin.core.rounding import rounding_error
from minmin.core.vectors import largest_entry

Values = np.ndarray[Any, Any]


class Difference(NamedTuple):
    """A step of forward differences, and the error of the gradient that they give.

    Attributes
    ----------
    step : float
        h: every coordinate of y is moved by this.
    error : float
        A bound on the norm of the error; infinite without constants.
    """

    step: float
    error: float


def choose_difference(
    value: float, y: Array, constants: Constants | None, value_error: float | None, least_error: float
) -> Difference:
    """The best step for values with this error, by default that of rounding, but at least ``least_error``.

    (f(y + h e_i) - f(y))/h is off by at most L_y h/2 + 2ε/h if values are off by ε. That is least for h = 2√(ε/L_y),
    where it is 2√(ε L_y).
    """
    eps = array_eps(y)
    epsilon = max(rounding_error(eps, abs(value)), least_error) if value_error is None else value_error
    spacing = eps * max(1.0, largest_entry(y))
    if constants is None:
        return Difference(max(math.sqrt(epsilon), math.sqrt(eps) * max(1.0, largest_entry(y))), math.inf)
    L = constants.L_y
    step = max(2.0 * math.sqrt(epsilon / L), 2.0 * spacing)
    return Difference(step, math.sqrt(y.shape[0]) * (0.5 * L * step + 2.0 * epsilon / step))


def difference_values(at: Slice, here: Evaluation, step: float) -> tuple[Array, Values]:
    """∇ᵧf by d_y more values, each counted; and these values with the one here."""
    y, d = here.y, here.y.shape[0]
    values, steps = np.full(d + 1, here.value), np.zeros(d)
    for i in range(d):
        moved = y + to_like(step * np.eye(1, d, i)[0], y)
        values[i], steps[i] = at.at(moved).value, float((moved - y)[i])
    return to_like((values[:d] - here.value) / steps, y), values
