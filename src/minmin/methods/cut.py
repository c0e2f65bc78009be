"""A cut: a linear function below F(x) = min_y f(x, y), and how far an inexact y and rounding lower it."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.bound import half_square_over
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, norm, square
from minmin.methods.inner.partial_minimum import YMemory

_SAFETY_FACTOR = 4.0
"""An estimated δ is multiplied by this. On 60 random quadratics without constants, one bound was below the true gap
with 1, and none with 4; the calls of ∇ₓ are 1911 and 1914."""


class Cut(NamedTuple):
    """F(z) >= value - error + <gradient, z - x> - slope_error |z - x| for all z."""

    x: Vector
    gradient: Vector
    value: float
    error: float
    slope_error: float


def find_y_error(problem: Problem, evaluation: Evaluation, memories: tuple[YMemory, ...]) -> float:
    """δ, the most that f can still fall in y: proved by mu_y, or else estimated."""
    constants = problem.constants
    if constants is not None and constants.mu_y > 0.0:
        _, noise = problem.gradient_noise(evaluation)
        return half_square_over(evaluation.grad_y_norm + noise, constants.lower_mu(evaluation.rounding.eps)[1])
    by_curvature = half_square_over(evaluation.grad_y_norm, min(part.min_curvature_seen for part in memories))
    known = [gain for gain in (by_curvature, *(part.gain for part in memories)) if math.isfinite(gain)]
    return _SAFETY_FACTOR * max(known, default=0.0)


def find_value_size(problem: Problem, evaluation: Evaluation) -> float:
    """The size of the terms that are summed in f."""
    constants, e = problem.constants, evaluation
    if constants is None or math.isinf(constants.L_x + constants.L_y):
        return abs(e.value) + e.grad_x_norm * norm(e.x) + e.grad_y_norm * norm(e.y)
    in_x, in_y = math.sqrt(constants.L_x) * norm(e.x), math.sqrt(constants.L_y) * norm(e.y)
    return abs(e.value) + square(in_x + in_y + e.rounding.fixed_terms)
