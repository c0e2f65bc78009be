"""What an inner solver minimises: a convex function of y alone, and when a point of it is good enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.problem import Evaluation, Slice
from minmin.core.vectors import dot, norm


class InnerPoint(NamedTuple):
    """A point where a gradient of the objective is known.

    Attributes
    ----------
    v : array
    evaluation : Evaluation
        f at (x, v).
    gradient : array
        Of the objective.
    residual : float
        The gradient's norm.
    solved : bool
        The point is good enough.
    """

    v: Array
    evaluation: Evaluation
    gradient: Array
    residual: float
    solved: bool


class InnerObjective(ABC):
    """A convex function of y, which every inner solver can minimise.

    Attributes
    ----------
    slice : Slice
        y ↦ f(x, y).
    start : array
        Where a solver begins.
    restart : array or None
        From where accelerated gradient is sure to succeed within ``most_gradients``, where theory knows such a point.
    most_gradients : int
        What a solver may spend.
    smoothness, convexity : float or None
        Of the objective, where known.
    shift : float
        The objective's Hessian is f's y-Hessian plus so many times the identity.
    overshoot : float
        See :func:`minmin.numerics.step_search.search_step`.
    gradients : int
        How many were computed so far.
    """

    restart: Array | None = None
    most_gradients: int
    smoothness: float | None
    convexity: float | None
    shift: float = 0.0
    overshoot: float

    def __init__(self, slice_: Slice, start: Array):
        self.slice = slice_
        self.start = start
        self.gradients = 0

    @property
    def is_spent(self) -> bool:
        return self.gradients > self.most_gradients

    def at(self, v: Array) -> InnerPoint:
        """Compute one gradient, and say whether the point is good enough."""
        self.gradients += 1
        return self._at(v)

    @abstractmethod
    def _at(self, v: Array) -> InnerPoint: ...

    @abstractmethod
    def begin(self) -> InnerPoint:
        """The point at the start; where its gradient is not finite, an error, or a point that counts as solved."""

    def is_worth(self, point: InnerPoint, step: Array, *, informed: bool) -> bool:
        """Whether to take a step from a point; ``informed`` where its length rests on curvature that was seen."""
        return dot(point.gradient, step) < 0.0

    def first_step(self, point: InnerPoint) -> Array:
        """A step for want of better knowledge."""
        return first_step(point.gradient, point.v, self.smoothness)

    @abstractmethod
    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Hear of a step that led to ``new``: its product with the change of gradient, and its squared length."""


_FIRST_LENGTH = 1e-3
"""The length of a first step where L is unknown, as a part of the point's norm, or of 1. With 1e-3 the paper's
quadratics and a1a take 445 calls of ∇ₓ without constants, with 1 439, with 0.1 463 and with 1e-6 476."""


def first_step(gradient: Array, at: Array, L: float | None) -> Array:
    """A step for want of better knowledge: down the gradient by 1/L, or by ``_FIRST_LENGTH`` of the point's size."""
    if L is not None and math.isfinite(L):
        return gradient * (-1.0 / L)
    return gradient * (-_FIRST_LENGTH * max(norm(at), 1.0) / norm(gradient))


def better(first: InnerPoint, second: InnerPoint) -> InnerPoint:
    """The point to keep where neither is good enough."""
    return second if second.solved or second.residual < first.residual else first
