"""Gradients of a problem with terms, mapped so that they are zero at a minimum."""

from __future__ import annotations

import math

from minmin.core.counting import UNCOUNTED
from minmin.core.evaluation import Evaluation
from minmin.core.rounding import RoundingScale
from minmin.core.term import Term
from minmin.core.vectors import Vector


class _MappedEvaluation(Evaluation):
    """An evaluation whose gradients are given."""

    __slots__ = ("_original",)

    def __init__(self, original: Evaluation, grad_x: Vector, grad_y: Vector):
        super().__init__(original.x, original.y, UNCOUNTED)
        self._original = original
        self._grad_x, self._grad_y = grad_x, grad_y

    @property
    def rounding(self) -> RoundingScale:
        return self._original.rounding

    def _compute_value(self) -> float:
        return self._original.value

    def _compute_grad_x(self) -> Vector:
        raise AssertionError("it is given")

    def _compute_grad_y(self) -> Vector:
        raise AssertionError("it is given")


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
