"""InnerObjective: the convex function of y that an inner solver minimises, and when a point is good enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice
from minmin.core.vectors import Vector, norm


class InnerPoint(NamedTuple):
    """A point where a gradient of the objective is known.

    Attributes
    ----------
    v : array
    evaluation : Evaluation
        f at (x, v).
    gradient : array
        The gradient of the objective.
    residual : float
        The gradient's norm; with a term and a known L, L times the length of a proximal gradient step.
    solved : bool
        Whether the point is good enough; with a term, whether the target is.
    target : array or None
        With a term: where a proximal gradient step of length 1/L ends, L the objective's smoothness.
    """

    v: Array
    evaluation: Evaluation
    gradient: Array
    residual: float
    solved: bool
    target: Array | None = None


class InnerObjective(ABC):
    """A convex function of y for inner solvers.

    Attributes
    ----------
    slice : Slice
        y ↦ f(x, y).
    start : array
        Where a solver begins.
    restart : array or None
        A point from which accelerated gradient succeeds within ``most_gradients``; None if theory knows no such point.
    most_gradients : int
        How many gradients a solver may compute.
    smoothness, convexity : float or None
        Of the objective, if known.
    shift : float
        The objective's Hessian is f's y-Hessian plus this times the identity.
    overshoot : float
        See :func:`minmin.numerics.step_search.search_step`.
    gradients : int
        How many gradients were computed so far.
    term : Term or None
        What is added to the objective.
    units : array or float
        See :attr:`minmin.core.problem.Slice.units_y`.
    """

    restart: Array | None = None
    most_gradients: int
    smoothness: float | None
    convexity: float | None
    shift: float = 0.0
    units: Array | float = 1.0
    overshoot: float

    def __init__(self, slice_: Slice, start: Array):
        self.slice = slice_
        self.term = slice_.term_y
        self.start = start if self.term is None else self.term.project(start)
        self.gradients = 0

    @property
    def is_spent(self) -> bool:
        return self.gradients > self.most_gradients

    def at(self, v: Array) -> InnerPoint:
        """Compute the gradient at v, and decide whether v is good enough."""
        self.gradients += 1
        return self.judge(self.slice.at(v))

    @abstractmethod
    def judge(self, evaluation: Evaluation) -> InnerPoint:
        """Decide whether the point of an evaluation of the slice is good enough."""

    @abstractmethod
    def begin(self) -> InnerPoint:
        """The point at the start. If its gradient is not finite: an error, or a point that counts as solved."""

    def is_worthwhile(self, slope: float, *, informed: bool) -> bool:
        """Whether to take a step with this slope; ``informed`` says that its length is based on known curvature."""
        return slope < 0.0

    def advance(self, point: InnerPoint) -> Array:
        """Where a gradient step of length 1/L ends, a proximal one with a term."""
        assert self.smoothness is not None
        return point.v - point.gradient * (1.0 / self.smoothness) if point.target is None else point.target

    def _find_target(self, v: Array, gradient: Array) -> Array:
        assert self.term is not None
        assert self.smoothness is not None
        return self.term.prox(v - gradient * (1.0 / self.smoothness), 1.0 / self.smoothness)

    def limit_step(self, point: InnerPoint, step: Array, last: Array) -> Array:
        """The step from a point, shortened if it is too long after the step ``last``."""
        return step

    def is_too_far(self, point: InnerPoint) -> bool:
        """Whether a point is so far away that the objective appears to be unbounded below."""
        return False

    def first_step(self, point: InnerPoint) -> Array:
        """A step when no curvature is known yet."""
        return first_step(point.gradient, point.v, self.smoothness)

    @abstractmethod
    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Use a step that led to ``new``: its product with the change of gradient, and its squared length."""


MOST_GROWTH = 1e3
"""A step is at most this many times as long as the one before. After nearly flat f it would be far too long; and where
a gradient explodes, as that of exp does, a step by the curvature elsewhere would end extremely far away. 24 hard cases
of the tests take 546 steps in total with 10, and 432 to 434 with 10³ to 10³⁰."""
GROWTH_WHERE_FLAT = 10.0
"""A step is this many times as long as the one before if that showed no curvature. A choice: f that falls linearly is
followed to a distance of 10¹⁵ in 18 steps."""
FARTHEST = 1e15
"""f appears to be unbounded below if it still falls this many times the norm of the start (at least one) away."""
_FIRST_LENGTH = 1e-3
"""The length of a first step if L is unknown, as a fraction of max(1, norm of the point). Without constants, the
quadratics of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, and a1a take 439 calls of ∇ₓ with 1, 463 with 0.1, 445
with 1e-3, and 476 with 1e-6."""


def limit_length(step: Vector, longest: float) -> Vector:
    """The step, shortened to this length if it is longer."""
    length = norm(step)
    return step if length <= longest else (longest / length) * step


def grow_where_flat(step: Vector, flat_length: float) -> Vector:
    """The step, made longer than the one before if that had this length and showed no curvature."""
    return max(1.0, GROWTH_WHERE_FLAT * flat_length / norm(step)) * step


def first_length(at: Array) -> float:
    """The length of a first step from a point, if L is unknown."""
    return _FIRST_LENGTH * max(norm(at), 1.0)


def first_step(gradient: Array, at: Array, L: float | None) -> Array:
    """A step when no curvature is known yet: -gradient/L, or of :func:`first_length` if L is unknown."""
    if L is not None and math.isfinite(L):
        return gradient * (-1.0 / L)
    return gradient * (-first_length(at) / norm(gradient))


def choose_better(first: InnerPoint, second: InnerPoint) -> InnerPoint:
    """The second point if it is good enough or has the smaller residual, else the first."""
    return second if second.solved or second.residual < first.residual else first
