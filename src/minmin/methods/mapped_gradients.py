"""Gradients of a problem with terms, mapped so that they are zero at a minimum."""

from __future__ import annotations

import math

from minmin.core.evaluation import Evaluation
from minmin.core.term import Term
from minmin.core.vectors import Vector
from minmin.core.wrapped import WrappedEvaluation


class _MappedEvaluation(WrappedEvaluation):
    """An evaluation whose gradients are given."""

    __slots__ = ()

    def __init__(self, original: Evaluation, grad_x: Vector, grad_y: Vector):
        super().__init__(original, None)
        self._grad_x, self._grad_y = grad_x, grad_y


def map_gradients(evaluation: Evaluation, curvatures: tuple[float, float]) -> Evaluation:
    """The same point with L(v - prox(v - ∇f/L, 1/L)) in place of each gradient, for these curvatures L.

    Without a term that is the gradient. With one it is zero at a minimum, where the gradient is not.
    """
    return _MappedEvaluation(
        evaluation,
        _map_gradient(evaluation.term_x, evaluation.x, evaluation.grad_x, curvatures[0]),
        _map_gradient(evaluation.term_y, evaluation.y, evaluation.grad_y, curvatures[1]),
    )


def _map_gradient(term: Term | None, v: Vector, gradient: Vector, curvature: float) -> Vector:
    if term is None:
        return gradient
    L = curvature if 0.0 < curvature < math.inf else 1.0
    return L * (v - term.prox(v - (1.0 / L) * gradient, 1.0 / L))
