"""InnerGoal: the convex function of y that an inner solver minimises, and when a point is good enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Constants, rounding_error
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector, norm
from minmin.errors import NonFiniteError
from minmin.methods.secants import fits_y_secant, report_y_secant


class InnerPoint(NamedTuple):
    """A point where a gradient of the goal's function is known.

    Attributes
    ----------
    v : array
    evaluation : Evaluation
        f at (x, v).
    gradient : array
        The gradient of the function.
    residual : float
        The gradient's norm; with a target, L times the length of the proximal gradient step to it.
    distance : float
        How far the point, or its target, is from the goal's centre; zero if there is none.
    target : array or None
        With a term, for rules that ask for it: where a proximal gradient step of length 1/L ends.
    solved : bool
        Whether the point is good enough; with a target, whether that is.
    """

    v: Array
    evaluation: Evaluation
    gradient: Array
    residual: float
    distance: float = 0.0
    target: Array | None = None
    solved: bool = False


class Rule(ABC):
    """When a point of an :class:`InnerGoal` is good enough.

    Attributes
    ----------
    overshoot : float
        See :func:`minmin.numerics.step_search.search_step`.
    takes_target : bool
        Whether points have a target, if there is a term.
    place : str
        Where a gradient that is not finite was computed, before what :func:`explain_nonfinite` says.
    """

    overshoot: float = 0.5
    takes_target: bool = True
    place: str = ""

    @abstractmethod
    def is_met(self, goal: InnerGoal, point: InnerPoint) -> bool:
        """Whether a point is good enough."""

    @abstractmethod
    def most_gradients(self, goal: InnerGoal, first: InnerPoint) -> int:
        """How many gradients a solver may compute, if this is its first point."""

    def begin(self, first: InnerPoint) -> InnerPoint:
        """The first point of a solver. If its gradient is not finite: an error, or a point that counts as solved."""
        if not first.residual < math.inf:
            raise NonFiniteError(self.place + explain_nonfinite(first.evaluation))
        return first

    def noise(self, goal: InnerGoal, evaluation: Evaluation) -> float:
        """The expected rounding error in ∇ᵧf."""
        assert goal.constants is not None
        return goal.constants.gradient_noise(evaluation.rounding, goal.x_norm)[1]

    def is_worthwhile(self, slope: float, *, informed: bool) -> bool:
        """Whether to take a step with this slope; ``informed`` says that its length is based on known curvature."""
        return slope < 0.0

    def learn(self, goal: InnerGoal, new: InnerPoint, product: float, size: float) -> None:
        """Use a step that led to ``new``: its product with the change of ∇ᵧf, and its squared length."""
        return


class InnerGoal:
    """v ↦ f(x, v) + shift/2 |v - center|², and the rule by which a point is good enough.

    Parameters
    ----------
    slice_ : Slice
        v ↦ f(x, v).
    start : array
        Where a solver begins.
    rule : Rule
    constants : Constants or None
        Of f, if they are known; those of y are checked.
    center : array, optional
        If it is given, accelerated gradient from there succeeds within ``most_gradients``.
    shift : float
    largest_gradient : float
        The largest ∇ᵧf of the run so far.
    units : array or float
        In which steps are measured, see :attr:`minmin.core.problem.Slice.units_y`.
    checks_values : bool
        Whether a point where f is not finite counts as one without a gradient.
    nested : Problem, optional
        The slice as a problem of two blocks, if only the outer one of them is moved.

    Attributes
    ----------
    term : Term or None
        What is added to the function.
    smoothness, convexity : float
        Of the function; infinite and zero if they are not known.
    gradients, most_gradients : int
        How many gradients were computed so far, and how many a solver may compute.
    """

    def __init__(
        self,
        slice_: Slice,
        start: Array,
        rule: Rule,
        constants: Constants | None,
        *,
        center: Array | None = None,
        shift: float = 0.0,
        largest_gradient: float = 0.0,
        units: Array | float = 1.0,
        checks_values: bool = False,
        nested: Problem | None = None,
    ):
        self.slice, self.rule, self.constants = slice_, rule, constants
        self.term = slice_.term_y if nested is None else nested.term_x
        self.start = start if self.term is None else self.term.project(start)
        self.center, self.shift = center, shift
        self.largest_gradient = largest_gradient
        self.units, self.checks_values = units, checks_values
        self.smoothness: float = math.inf if constants is None else constants.L_y + shift
        self.convexity: float = 0.0 if constants is None else constants.mu_y + shift
        self.gradients = self.most_gradients = 0
        self._first: InnerPoint | None = None

    @cached_property
    def x_norm(self) -> float:
        """|x|."""
        return norm(self.slice.x)

    @cached_property
    def _center_norm(self) -> float:
        return 0.0 if self.center is None else norm(self.center)

    def begin(self) -> InnerPoint:
        """The point at the start."""
        self._first = first = self.rule.begin(self.at(self.start))
        if math.isfinite(first.residual):
            self.most_gradients = self.rule.most_gradients(self, first)
            if self.center is None:  # so that the residual is that of ∇ᵧf
                self.largest_gradient = max(self.largest_gradient, first.residual)
        return first

    def at(self, v: Array) -> InnerPoint:
        """Compute the gradient at v, and decide whether v is good enough."""
        self.gradients += 1
        return self.judge(self.slice.at(v))

    def judge(self, evaluation: Evaluation) -> InnerPoint:
        """Decide whether the point of an evaluation of the slice is good enough."""
        v, distance, target = evaluation.y, 0.0, None
        if self.checks_values and not math.isfinite(evaluation.value):
            return InnerPoint(v, evaluation, math.nan * v, math.nan)
        gradient = evaluation.grad_y
        if self.center is None:
            residual = evaluation.grad_y_norm
        else:
            away = v - self.center
            gradient = gradient + away * self.shift
            residual, distance = norm(gradient), norm(away)
        if self.term is not None and self.rule.takes_target:
            target = self.term.prox(v - gradient * (1.0 / self.smoothness), 1.0 / self.smoothness)
            residual = self.smoothness * norm(v - target)
            distance = 0.0 if self.center is None else norm(target - self.center)
        point = InnerPoint(v, evaluation, gradient, residual, distance, target)
        return point._replace(solved=True) if self.rule.is_met(self, point) else point

    def finish(self, point: InnerPoint) -> tuple[InnerPoint, Array]:
        """The point where a solve ends, and the (sub)gradient of f, with its term, in y there.

        With a target it is that, ȳ = prox_q(v - ∇A(v)/L, 1/L), A being the function and q the term. So L(v - ȳ) - ∇A(v)
        is a subgradient of q at ȳ. With it, the subgradient of A + q at ȳ is at most L|v - ȳ|, since v ↦ v - ∇A(v)/L
        does not increase distances. That is the residual.
        """
        if point.target is None or not math.isfinite(point.residual):
            return point, point.evaluation.grad_y
        end = self.at(point.target)
        return end, end.evaluation.grad_y + (self.smoothness * (point.v - point.target) - point.gradient)

    def noise(self, point: InnerPoint) -> float:
        """The expected rounding error in the gradient at a point."""
        of_shift = rounding_error(point.evaluation.rounding.eps, 2.0 * self._center_norm + point.distance) * self.shift
        return self.rule.noise(self, point.evaluation) + of_shift

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Use a step that led to ``new``: its product with the change of gradient, and its squared length.

        The gradient differs from ∇ᵧf by a known term, so the step shows whether L_y and mu_y hold.
        """
        seen, c = product - self.shift * size, self.constants
        if c is not None and not fits_y_secant(c, seen, size):
            largest = max(self.largest_gradient, new.evaluation.grad_y_norm)
            noise = max(map(self.noise, (new, self._first or new)))  # differences of large values have large errors
            report_y_secant(c, seen, size, largest, new.evaluation.rounding.eps, noise)
        self.rule.learn(self, new, seen, size)

    def limit_step(self, point: InnerPoint, step: Array, last: Array) -> Array:
        """The step from a point, shortened if it is too long after the step ``last``, as far as no constants tell."""
        if self.constants is not None or norm(step) <= MOST_GROWTH * norm(last):
            return step
        return limit_length(step, MOST_GROWTH * max(norm(last), first_length(point.v)))

    def is_too_far(self, distance: float) -> bool:
        """Whether a point at this distance from zero is so far away that the function appears to be unbounded below."""
        return not self.convexity and distance > FARTHEST and distance > FARTHEST * norm(self.start)


MOST_GROWTH = 1e3
"""A step is at most this many times as long as the one before. After nearly flat f it would be far too long; and where
a gradient explodes, as that of exp does, a step by the curvature elsewhere would end extremely far away.
Measured: docs/benchmarks/tuning.md."""
GROWTH_WHERE_FLAT = 10.0
"""A step is this many times as long as the one before if that showed no curvature. A choice: f that falls linearly is
followed to a distance of 10¹⁵ in 18 steps."""
FARTHEST = 1e15
"""f appears to be unbounded below if it still falls this many times the norm of the start (at least one) away."""
_FIRST_LENGTH = 1e-3
"""The length of a first step if L is unknown, as a fraction of max(1, norm of the point).
Measured: docs/benchmarks/tuning.md."""


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


def first_step(gradient: Array, at: Array, L: float) -> Array:
    """A step when no curvature is known yet: -gradient/L, or of :func:`first_length` if L is infinite or unknown."""
    if math.isfinite(L):
        return gradient * (-1.0 / L)
    return gradient * (-first_length(at) / norm(gradient))


def choose_better(first: InnerPoint, second: InnerPoint) -> InnerPoint:
    """The second point if it is good enough or has the smaller residual, else the first."""
    return second if second.solved or second.residual < first.residual else first
