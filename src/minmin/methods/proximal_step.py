"""Steps and gradients with a term: the quasi-Newton step in x or in y, and the sizes of gradients."""

from __future__ import annotations

import math

import numpy as np

from minmin.core.arrays import Array
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import find_residual
from minmin.core.term import Term
from minmin.core.vectors import Vector, norm
from minmin.methods.inner.goal import GROWTH_WHERE_FLAT, first_length
from minmin.numerics.lbfgs import Pairs, largest_curvature
from minmin.numerics.prox_model import PairsHessian, minimise_model


def take_proximal_step(term: Term | None, v: Vector, gradient: Vector, length: float) -> Vector:
    """Where a proximal gradient step of this length ends; without a term a gradient step."""
    new = v - length * gradient
    return new if term is None else term.prox(new, length)


def find_proximal_step(
    term: Term, v: Vector, gradient: Vector, pairs: Pairs, L: float, flat_length: float, units: Array | float
) -> Vector:
    """The step from v to the minimum of the term plus the quadratic model that the pairs define.

    Without pairs it is a proximal gradient step of length 1/L, or of about :func:`first_length` if L is infinite. After
    a step that showed no curvature, which had ``flat_length``, it is a proximal gradient step that may be longer.

    The point, the gradient, the pairs and the step belong to f and the term as functions of v = units·x.
    """

    def prox(u: Vector, step: float) -> Vector:
        return units * term.prox(u * (1.0 / units), step / units**2)

    size = norm(gradient)
    length = first_length(v) / size if size > 0.0 else first_length(v)
    if flat_length > 0.0 and size > 0.0:
        length = GROWTH_WHERE_FLAT * flat_length / size
    elif pairs.number:
        try:
            return minimise_model(prox, v, gradient, PairsHessian(pairs)) - v
        except np.linalg.LinAlgError:  # rounding errors have left no matrix of the pairs
            length = 1.0 / largest_curvature(pairs)
    elif math.isfinite(L):
        length = 1.0 / L
    return prox(v - length * gradient, length) - v


def find_sizes(evaluation: Evaluation, curvatures: tuple[float, float]) -> tuple[float, float]:
    """|∇ₓf| and |∇ᵧf|; with a term the length of :func:`find_residual` instead, for these curvatures.

    That is zero at a minimum, where the gradient is not.
    """
    in_y = evaluation.residual_in_y(curvatures[1])
    if evaluation.term_x is None:
        return evaluation.grad_x_norm, in_y
    return norm(find_residual(evaluation.term_x, evaluation.x, evaluation.grad_x, curvatures[0])), in_y
