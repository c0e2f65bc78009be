"""reduced-newton: Newton's method on F(x) = min_y f(x, y), with Hessian products instead of matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.bound import Bound, half_square_over, is_same_point, rounding_error
from minmin.core.problem import Problem
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderProblem
from minmin.core.vectors import Vector, dot, norm, square
from minmin.errors import InputError, NoMinimumError, NonFiniteError, as_count, as_number
from minmin.methods.base import NO_TARGET, Candidate, Method, Target
from minmin.methods.estimates import SAFETY_FACTOR, count_stuck, is_exhausted
from minmin.methods.needs import Feature, Need
from minmin.methods.newton_step import NewtonState, NewtonStep, solve_newton_system
from minmin.methods.term_step import TermModel
from minmin.methods.y_system import YStep, YSystem
from minmin.numerics.step_search import search_step

_LEAST_Y_GAIN = 0.01
"""At the start, steps in y alone are taken while their gain is more than this fraction of the first one's.
Measured: docs/benchmarks/tuning.md."""
_OVERSHOOT = _UNDERSHOOT = 0.3
"""See :func:`minmin.numerics.step_search.search_step`. Measured: docs/benchmarks/tuning.md."""
_NEAR, _NEAR_STEPS_NEEDED = 0.5, 2
"""A bound is estimated only after ``_NEAR_STEPS_NEEDED`` steps in a row of at most this length, in units of the region
where the quadratic model holds: there the second derivative changes by a factor √e at most.
Measured: docs/benchmarks/tuning.md."""
_PATIENCE = 100
"""The bound must halve within this many iterations. Measured: docs/benchmarks/tuning.md."""
_SHRINK_FACTOR, _MOST_CACHED_STEPS = 4.0, 30
"""The cache is computed again if |x| has shrunk below 1/``_SHRINK_FACTOR`` of its largest value, and after
``_MOST_CACHED_STEPS`` steps, since it contains the rounding errors of larger numbers.
Measured: docs/benchmarks/tuning.md."""
_OUT_OF_RANGE = 1e-6
"""If H_yy is singular, at most this fraction of ∇ᵧf may lie outside its range. Measured: docs/benchmarks/tuning.md."""
_ZERO_FACTOR = 10.0
"""A gradient of at most this times its rounding error may be zero. Measured: docs/benchmarks/tuning.md."""
_SHORT_STEP = 0.05
"""If less than this fraction of a Newton step can be taken, the curvature at the point is a bad guide, and the
surrogate curvature is tried. Measured: docs/benchmarks/tuning.md."""

_FORGET = 1e6
"""With terms, |∇F| at the first step counts as at most this times what it was at the last one: from a start where f
explodes, models would be solved far too exactly. Measured: docs/benchmarks/tuning.md."""
_ENOUGH = 0.9
"""Conjugate gradients may stop where the residual adds at most this times tol to the bound; the rest is for y and for
rounding. Measured: docs/benchmarks/tuning.md."""

_NO_MINIMUM = (
    "f has no minimum: along some direction it is unbounded below, or falls towards a limit that it never reaches (for "
    "a logistic regression this means that the data are separable); add a penalty above 0 on both blocks"
)


@dataclass(frozen=True)
class ReducedNewton(Method):
    """Newton's method on F(x) = min_y f(x, y); conjugate gradients solve its systems.

    Problem: min f(x, y), f convex, with products of its Hessian; constants are not needed. Terms may be added whose
    smooth pieces are known: L1, ElasticNet, GroupL2, Box and NonNegative.

    Algorithm: the joint Newton step in x and y with y eliminated: S dx = -∇F with S = H_xx - H_xy H_yy⁻¹ H_yx, the
    Hessian of F, and dy = -H_yy⁻¹(∇ᵧf + H_yx dx). Conjugate gradients with a preconditioner solve for dx, more exactly
    as the gradient gets smaller (Eisenstat and Walker's forcing), but not more exactly than tol needs. H_yy is
    factorised once per step, or once per run if it is constant; if y is large, conjugate gradients solve its systems,
    too. The image X·dx is kept, so for a GLM neither the line search nor the next point costs a product with X. A step
    costs two products for every step of conjugate gradients, one for ∇F, and one or two for the preconditioner. With
    terms, the step minimises the same model plus the terms (``methods/term_step.py``).

    Guarantee: superlinear convergence near a minimum with a positive definite Hessian. The bound of a GLM or a Softmax
    is the duality gap, which the data alone prove; otherwise it follows from strong convexity. If neither gives one, it
    is estimated. :class:`minmin.NoMinimumError` is raised if a step shows a direction in which f is unbounded. With
    terms f + p + q falls in every step, and converges as fast.

    References: Dembo, Eisenstat and Steihaug, "Inexact Newton methods" (1982); Lee, Sun and Saunders, "Proximal
    Newton-type methods for minimizing composite functions" (2014).

    Parameters
    ----------
    first_y_steps : int
        The most Newton steps in y alone before the first one in x. They cost no product with X. Without them, the
        easiest set of generated clicks takes two more steps.
    loosest : float
        The largest relative residual at which conjugate gradients may stop.
    forcing_power : float
        How fast that residual falls with the gradient, from 0 to 1. Conjugate gradients stop at min(loosest,
        (|∇F|/|∇F at the first step|)^forcing_power). With loosest = 0.5 instead of 0.2 the hardest clicks take 110 to
        126 products to a certificate instead of 98 to 104; with a power of ¾ or 1 they take up to 159.
    most_cg_steps : int
        The most steps of conjugate gradients in one Newton step. For comparison: a whole run on a9a takes 174.
    """

    name: ClassVar[str] = "reduced-newton"
    state_types: ClassVar[tuple[type, ...]] = (NewtonState, YStep)
    takes_target: ClassVar[bool] = True
    takes_terms: ClassVar[bool] = True
    first_y_steps: int = 3
    loosest: float = 0.2
    forcing_power: float = 0.5
    most_cg_steps: int = 1000

    def __post_init__(self) -> None:
        as_count(self.first_y_steps, "first_y_steps")
        if as_count(self.most_cg_steps, "most_cg_steps") == 0:
            raise InputError("most_cg_steps = 0: a Newton step takes at least one step of conjugate gradients")
        if not 0.0 < as_number(self.loosest, "loosest") < 1.0:
            raise InputError(f"loosest = {self.loosest} must lie between 0 and 1")
        if not 0.0 <= as_number(self.forcing_power, "forcing_power") <= 1.0:
            raise InputError(f"forcing_power = {self.forcing_power} must lie between 0 and 1")

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({Need.HESSIANS, Need.PIECES})

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {Feature.REMOTE: "clients send no products with Hessians"}

    def init(self, problem: SecondOrderProblem, x: Vector, y: Vector) -> NewtonState:
        return NewtonState(Candidate(x, y), largest_norm=norm(x))

    def step(self, problem: SecondOrderProblem, state: NewtonState, target: Target = NO_TARGET) -> NewtonState:
        if state.gradient is None or state.y_step is None:
            return self._begin(problem, state, target)
        here = state.candidate
        evaluation = problem.evaluate(here.x, here.y, here.cache)
        y_system = YSystem(evaluation, state.roots, state.y_step)
        enough = target.bound_at(here.value)
        trial = self._try_newton_step(problem, y_system, state, enough)
        end = trial.step.end
        state = state._replace(scale=trial.scale, refined=state.refined or end.refined)
        flat = end.flat and end.residual > _ZERO_FACTOR * state.noise
        if flat and problem.flat_gradient_proves_unbounded:
            raise NoMinimumError(_NO_MINIMUM)
        if end.flat or trial.t < _SHORT_STEP or state.stuck > 0:
            trial = _choose_lower(self._try_surrogate(problem, y_system, state, trial, enough), trial)
        new, step = trial.new, trial.step
        if new is None:
            return _stay(state, near_steps=0 if flat else state.near_steps + 1)
        _require_minimum(problem, new, (step.direction, step.dy))
        eps = evaluation.rounding.eps
        has_stopped = is_same_point(here.x, new.x, eps) and is_same_point(here.y, new.y, eps)
        largest_norm = max(state.largest_norm, norm(new.x), trial.t * norm(step.direction.dx))
        cached_steps = state.cached_steps + 1
        if largest_norm > _SHRINK_FACTOR * norm(new.x) or cached_steps > _MOST_CACHED_STEPS:
            new = problem.evaluate(new.x, new.y)
            largest_norm, cached_steps = norm(new.x), 0
        state = state._replace(
            stuck=count_stuck(state.stuck, has_stopped), largest_norm=largest_norm, cached_steps=cached_steps
        )
        evaluation.forget()
        y_system = YSystem(new, state.roots if problem.has_constant_hessian else ())
        return self._finish_step(problem, state, y_system, None if flat else trial, target)

    def _begin(self, problem: SecondOrderProblem, state: NewtonState, target: Target) -> NewtonState:
        """The state at the start, after a few Newton steps in y alone."""
        y_system = YSystem(problem.evaluate(state.candidate.x, state.candidate.y))
        gain, rounding = y_system.y_step.gain, y_system.evaluation.rounding
        enough = max(_LEAST_Y_GAIN * gain, square(_ZERO_FACTOR * rounding.eps * rounding.fixed_terms))
        for _ in range(self.first_y_steps):
            if not y_system.y_step.gain > enough:
                break
            y_system = YSystem(_move_y(y_system), y_system.roots if problem.has_constant_hessian else ())
        _require_minimum(problem, y_system.evaluation)
        return self._finish_step(problem, state, y_system, None, target)

    def _finish_step(
        self, problem: SecondOrderProblem, state: NewtonState, y_system: YSystem, trial: Trial | None, target: Target
    ) -> NewtonState:
        """The state at a new point, with its bound.

        ``trial`` is the step that led there; None if the estimate of the bound must not use it.
        """
        evaluation, y_step = y_system.evaluation, y_system.y_step
        after = evaluation.model_after(y_step.dy)
        if not norm(after.grad_x) + y_step.gain < math.inf:
            why = evaluation.cause_of_infinity or "is f finite around the start?"
            raise NonFiniteError(f"a gradient of f is NaN or infinite; {why}")
        value = evaluation.value if target.needs_value else None
        enough = target.bound_at(value)
        bound, noise = problem.bound_after(evaluation, after, y_system.full_rank_root, enough)
        near_steps, min_curvature, estimate = 0, math.inf, math.inf
        if math.isinf(bound.value) and trial is not None and trial.distance_from(evaluation) <= _NEAR:
            near_steps = state.near_steps + 1
            min_curvature = min(state.min_curvature_seen, trial.step.end.min_curvature_seen)
            if problem.has_terms:  # the model has promised half of that, and the step has left less
                estimate = SAFETY_FACTOR * (evaluation.value_noise() - 0.5 * trial.slope)
            else:
                estimate = _estimate_gap(problem, y_system, after.grad_x, min_curvature, noise)
            bound = Bound(estimate if near_steps >= _NEAR_STEPS_NEEDED else math.inf, bound.floor)
        # The size counts as measured before this point: ∇ₓf is that of the model after a step in y.
        size = evaluation.find_gradient_size(after.grad_x, evaluation.grad_y)
        x, y, cache, exhausted = evaluation.x, evaluation.y, evaluation.cache, is_exhausted(state.stuck)
        candidate = Candidate(
            x, y, bound, exhausted, cache=cache, gradient_size=size, measured_before=True, value=value
        )
        return state._replace(
            candidate=candidate,
            gradient=after.grad_x,
            y_step=y_step,
            roots=y_system.roots,
            noise=noise[0],
            near_steps=near_steps,
            min_curvature_seen=min_curvature,
            estimate=estimate,
        )

    def _try_newton_step(
        self, problem: SecondOrderProblem, y_system: YSystem, state: NewtonState, enough: float
    ) -> Trial:
        """Take the Newton step, or a fraction of it; the run ends at the bound ``enough``, as far as that is known."""
        evaluation, gradient, y_step = y_system.evaluation, state.gradient, y_system.y_step
        if problem.has_terms:
            return self._try_step_with_terms(problem, y_system, state)
        preconditioner = evaluation.x_preconditioner()
        size = math.sqrt(dot(gradient, preconditioner.solve(gradient)))
        scale = size if math.isinf(state.scale) else state.scale
        step = solve_newton_system(
            y_system,
            gradient,
            y_step.dy,
            (preconditioner.refine() if state.refined else None) or preconditioner,
            tolerance=self._find_tolerance(size, scale),
            most_steps=self.most_cg_steps,
            is_enough=problem.make_gradient_test(_ENOUGH * enough),
        )
        slope = dot(gradient, step.direction.dx) - y_step.gain
        if not slope < 0.0:
            return Trial(None, step, 0.0, scale, slope)

        def at(t: float) -> tuple[SecondOrderEvaluation, float]:
            new = evaluation.slice.moved(step.direction, t).at(evaluation.y + t * step.dy)
            return new, new.slope(step.direction, step.dy)

        new, t = search_step(at, slope, overshoot=_OVERSHOOT, undershoot=_UNDERSHOOT)
        return Trial(new, step, t, scale, slope)

    def _find_tolerance(self, size: float, scale: float) -> float:
        """The relative residual at which a system is solved; ``scale`` is the size of the first one's right side."""
        return min(self.loosest, (size / scale) ** self.forcing_power) if scale > 0.0 else self.loosest

    def _try_step_with_terms(self, problem: SecondOrderProblem, y_system: YSystem, state: NewtonState) -> Trial:
        """The same with terms. Along the step they count with their chord, and beyond its end with another one.

        A model that has hardly any curvature may promise far more than f can fall. Then a slope that is small beside
        that promise may still be uphill, so f itself must not rise, either.
        """
        evaluation, y_step = y_system.evaluation, y_system.y_step
        model = TermModel(evaluation, y_system, state.gradient, y_step.dy)
        scale = model.size if math.isinf(state.scale) else state.scale
        step = model.minimise(self._find_tolerance(model.size, scale), self.most_cg_steps)
        scale = min(scale, _FORGET * model.size)
        dx, dy, rise = step.direction.dx, step.dy, model.find_rise(step)
        slope = dot(state.gradient, dx) - y_step.gain + rise
        if evaluation.term_y is not None:
            slope += dot(evaluation.grad_y, dy)
        if not slope < 0.0:
            return Trial(None, step, 0.0, scale, slope)
        eps, exact = evaluation.rounding.eps, model.lead_to_end(step)

        def at(t: float) -> tuple[SecondOrderEvaluation, float]:
            y = evaluation.y + t * exact.dy
            y = y if evaluation.term_y is None else evaluation.term_y.project(y)
            new = evaluation.slice.moved(exact.direction, t).at(y)
            of_f = new.slope(step.direction, dy)
            end = of_f + (rise if t <= 1.0 else model.find_slope_beyond(step, t))
            if end > 0.0 and new.value > evaluation.value + rounding_error(eps, abs(evaluation.value)):
                end = max(end, -slope)  # too long
            elif t < 1.0:
                end = max(end, 0.0)  # long enough
            elif t == 1.0 and end < 0.0:
                end = min(of_f + model.find_slope_beyond(step, 2.0), 0.0)
            return new, end

        new, t = search_step(at, slope, overshoot=_OVERSHOOT, undershoot=_UNDERSHOOT)
        return Trial(new, step, t, scale, slope)

    def _try_surrogate(
        self, problem: SecondOrderProblem, y_system: YSystem, state: NewtonState, near: Trial, enough: float
    ) -> Trial | None:
        """The same with the surrogate curvature; None if there is no surrogate.

        ``near`` is the Newton step: only that has seen the curvature of f itself.
        """
        surrogate = y_system.evaluation.with_surrogate_curvature()
        if surrogate is None:
            return None
        y_system = YSystem(surrogate)
        gradient = surrogate.model_after(y_system.y_step.dy).grad_x
        state = state._replace(gradient=gradient, scale=math.inf, refined=False)
        trial = self._try_newton_step(problem, y_system, state, enough)
        end = trial.step.end._replace(min_curvature_seen=near.step.end.min_curvature_seen)
        return trial._replace(step=trial.step._replace(end=end))

    def patience(self, problem: Problem) -> int:
        return _PATIENCE


class Trial(NamedTuple):
    """A step that was tried.

    Attributes
    ----------
    new : SecondOrderEvaluation or None
        The evaluation at the new point; None if f does not fall along the step.
    step : NewtonStep
    t : float
        The fraction of the step that was taken.
    scale : float
        |∇F| at the first step of the run.
    slope : float
        That of the whole at the start of the step, for the whole step.
    """

    new: SecondOrderEvaluation | None
    step: NewtonStep
    t: float
    scale: float
    slope: float

    def distance_from(self, evaluation: SecondOrderEvaluation) -> float:
        """The length of what was taken of the step, see :meth:`SecondOrderEvaluation.model_distance`."""
        return evaluation.model_distance(self.step.direction.times(self.t), self.t * self.step.dy)


def _require_minimum(
    problem: Problem, evaluation: SecondOrderEvaluation, step: tuple[Direction, Vector] | None = None
) -> None:
    """Raise if the step here, or that from zero, proves that f has no minimum; where a block has a term, it may."""
    if problem.term_y is not None:
        return
    in_y_alone = problem.term_x is not None
    steps = (None,) if step is None or in_y_alone else (step, None)
    if any(evaluation.is_unbounded_along(each, in_y_alone=in_y_alone) for each in steps):
        raise NoMinimumError(_NO_MINIMUM)


def _choose_lower(one: Trial | None, other: Trial) -> Trial:
    """The trial with the lower f."""
    if one is None or one.new is None:
        return other
    return one if other.new is None or one.new.value <= other.new.value else other


def _move_y(y_system: YSystem) -> SecondOrderEvaluation:
    """The evaluation after a step in y alone."""
    evaluation, y_step = y_system.evaluation, y_system.y_step

    def at(t: float) -> tuple[SecondOrderEvaluation, float]:
        new = evaluation.slice.at(evaluation.y + t * y_step.dy)
        return new, dot(new.grad_y, y_step.dy)

    return search_step(at, -y_step.gain, overshoot=_OVERSHOOT, undershoot=_UNDERSHOOT)[0] or evaluation


def _stay(state: NewtonState, near_steps: int) -> NewtonState:
    """The state after a step along which f does not fall."""
    stuck = count_stuck(state.stuck, True)
    candidate = state.candidate._replace(exhausted=is_exhausted(stuck))
    if candidate.bound.basis == "estimate":
        value = state.estimate if near_steps >= _NEAR_STEPS_NEEDED else math.inf
        candidate = candidate._replace(bound=candidate.bound._replace(value=value))
    return state._replace(stuck=stuck, near_steps=near_steps, candidate=candidate)


def _estimate_gap(
    problem: SecondOrderProblem, y_system: YSystem, gradient: Vector, min_curvature: float, noise: tuple[float, float]
) -> float:
    """|∇F|²/2μ with the least curvature seen in place of μ, plus the gain in y, times a safety factor.

    It is meaningful only near a minimum: if f is unbounded, steps do not get shorter.
    """
    out_of_range = norm(y_system.gradient_left())
    if out_of_range > _OUT_OF_RANGE * norm(y_system.evaluation.grad_y) and out_of_range > _ZERO_FACTOR * noise[1]:
        if problem.flat_gradient_proves_unbounded:
            raise NoMinimumError(_NO_MINIMUM)
        return math.inf
    size = norm(gradient)
    in_x = half_square_over(size, min_curvature)
    if math.isinf(in_x) and size <= _ZERO_FACTOR * noise[0]:
        in_x = 0.0
    return SAFETY_FACTOR * (in_x + 0.5 * y_system.y_step.gain + y_system.evaluation.value_noise())
