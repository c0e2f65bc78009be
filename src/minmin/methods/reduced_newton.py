"""reduced-newton: Newton's method on F(x) = min_y f(x, y), with Hessian products only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Bound
from minmin.core.problem import Problem
from minmin.core.rounding import is_same_point
from minmin.core.second_order import SecondOrderEvaluation, SecondOrderProblem
from minmin.core.vectors import Vector, dot, norm, square
from minmin.errors import InputError, NoMinimumError, NonFiniteError, as_count, as_number
from minmin.methods.base import Candidate, Method, require_second_order
from minmin.methods.newton_step import NewtonStep, solve_newton_system
from minmin.methods.y_system import YStep, YSystem
from minmin.numerics.dense import positive
from minmin.numerics.step_search import search_step

_WORTH_A_Y_STEP = 0.01
"""Another step in y alone comes first while y has more than this part left of what it first had to gain. On the hardest
generated clicks 0.01 and 0.1 take 42 products in x, 0.5 takes 57 and 1e-4 54."""
_OVERSHOOT = _UNDERSHOOT = 0.3
"""See :func:`minmin.numerics.step_search.search_step`. The former may be 0.1 to 0.9 for one product more or less. With
the latter at 0.1, 0.3 and 0.6 a9a takes 273, 245 and 276 products for two penalties."""
_CAUTION = 4.0
"""Estimated bounds are multiplied by this. Without it 21 of 200 were below the true gap, on random logistic and Poisson
regressions with α_x = 0; with it none was."""
_SURE, _QUIET = 0.5, 2
"""A bound is estimated only after _QUIET steps in a row that stay this near, in units of where the model holds: there
the second derivative changes by a factor √e at most. Of the same 200 none was below the true gap with one such step,
and one where any step would do; the second step is a margin, for it costs one step in ten."""
_STUCK = 3
"""After so many steps in a row that move nothing a run is at its end. The second and third are tries with the surrogate
curvature; 1 to 6 end the hard cases of the tests alike."""
_PATIENCE = 100
"""Within so many iterations the bound must halve. The hard cases of the tests take 16 at most in all, and starts 10⁸
away 13."""
_SHRUNK, _STALE = 4.0, 30
"""What is cached of x is computed again where x has shrunk to less than 1/_SHRUNK of what it was, and after _STALE
steps: rounding errors of larger numbers stay in it. Without that f was off by 2e-11 after a start 10⁶ away; that a
quarter and 30 steps are often enough is a choice."""
_LEFT = 1e-6
"""Where a y-Hessian is singular, so much of ∇ᵧf may lie outside of its range. Over 200 singular Hessians rounding left
1.3e-14 at most of a gradient in the range, and 0.07 at least of one that was not; this lies between."""
_ZERO = 10.0
"""A gradient of so many times its rounding error may be zero. Nothing decides on the value: 1 to 1000 end the hard
cases of the tests alike."""
_SHORT = 0.05
"""Where so small a part of a Newton step is all that can be taken, the model's curvature is that of somewhere else.
From nine starts 10² to 10⁶ away, runs take 88 steps in all without it, 77 with 0.05 and 74 with 0.3."""

_NO_MINIMUM = (
    "f has no minimum: it is unbounded below, or approaches its infimum in the limit, along some direction (for a "
    "logistic regression this means that the data are separable); with a penalty above 0 on both blocks there is one"
)


class NewtonState(NamedTuple):
    """The iteration between two steps.

    Attributes
    ----------
    x, y : vectors
    cache : tuple of arrays
        What the evaluation at (x, y) caches.
    gradient : vector or None
        ∇F(x), of the quadratic model after ``y_step``; None before the first step.
    y_step : YStep or None
        The Newton step in y alone that is still to be taken.
    roots : tuple of arrays
        Of the y-Hessian; see :class:`YSystem`.
    scale : float
        |∇F| at first, in the preconditioner's norm.
    noise : float
        How large rounding errors in ∇F are expected to be.
    quiet : int
        Steps in a row that stayed where the quadratic model holds.
    min_curvature_seen : float
        The least curvature of F seen in them.
    estimate : float
        What the bound would be by it.
    stuck : int
        Steps in a row that moved nothing.
    peak : float
        The largest |x| or |dx| since the cache was computed from x itself.
    age : int
        Steps since then.
    candidate : Candidate
    """

    x: Vector
    y: Vector
    cache: tuple[Array, ...]
    gradient: Vector | None
    y_step: YStep | None
    roots: tuple[Array, ...]
    scale: float
    noise: float
    quiet: int
    min_curvature_seen: float
    estimate: float
    stuck: int
    peak: float
    age: int
    candidate: Candidate


@dataclass(frozen=True)
class ReducedNewton(Method):
    """Newton's method on F(x) = min_y f(x, y), its systems solved by conjugate gradients.

    Problem: min f(x, y), f convex, with products of its Hessian; constants are not needed.

    Algorithm: the Newton step of (x, y) jointly, y eliminated: S dx = -∇F with S = H_xx - H_xy H_yy⁻¹ H_yx, the Hessian
    of F, and dy = -H_yy⁻¹(∇ᵧf + H_yx dx). Conjugate gradients with a diagonal preconditioner solve for dx as exactly as
    the gradient is small (Eisenstat and Walker's forcing); H_yy is factorised once per step, or, where y is large,
    inverted by conjugate gradients too. Images X·dx are carried along, so that for a GLM neither the line search
    nor the next point costs a product with X: a step costs two for every step of conjugate gradients, one for
    ∇F and one for the preconditioner.

    Guarantee: superlinear convergence near a minimum where the Hessian is positive definite. The bound is the duality
    gap for a GLM or a Softmax, which the data alone prove, else by strong convexity. Where neither can be had it is
    estimated. Where a step shows a direction in which f is unbounded, :class:`minmin.NoMinimumError` is raised.

    Reference: Dembo, Eisenstat and Steihaug, "Inexact Newton methods" (1982).

    Parameters
    ----------
    first_y_steps : int
        So many Newton steps at most in y alone come before the first one in x. They cost no product with X; without
        them the easiest set of generated clicks takes two steps more.
    loosest, forcing_power : float
        Conjugate gradients lower the residual to min(loosest, (|∇F|/|∇F at first|)^forcing_power) of ∇F. With 0.5
        instead of 0.2 the hardest clicks take 110 to 126 products to a certificate instead of 98 to 104; with a power
        of ¾ or 1 they take up to 159.
    most_cg_steps : int
        Of conjugate gradients, in one Newton step: a limit that a9a, with 174 in a whole run, never meets.
    """

    name: ClassVar[str] = "reduced-newton"
    state_types: ClassVar[tuple[type, ...]] = (NewtonState, YStep)
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

    def check(self, problem: Problem) -> None:
        require_second_order(f"method {self.name!r}", problem)

    def init(self, problem: SecondOrderProblem, x: Vector, y: Vector) -> NewtonState:
        return NewtonState(
            x=x,
            y=y,
            cache=(),
            gradient=None,
            y_step=None,
            roots=(),
            scale=math.inf,
            noise=0.0,
            quiet=0,
            min_curvature_seen=math.inf,
            estimate=math.inf,
            stuck=0,
            peak=norm(x),
            age=0,
            candidate=Candidate(x, y),
        )

    def step(self, problem: SecondOrderProblem, state: NewtonState) -> NewtonState:
        if state.gradient is None or state.y_step is None:
            return self._first(problem, state)
        evaluation = problem.evaluate(state.x, state.y, state.cache)
        trial = self._try(YSystem(evaluation, state.roots), state.gradient, state.y_step, state.scale)
        state = state._replace(scale=trial.scale)
        flat = trial.step.flat and trial.step.residual > _ZERO * state.noise
        if flat and problem.flat_gradient_proves_unbounded:
            raise NoMinimumError(_NO_MINIMUM)
        if trial.step.flat or trial.t < _SHORT or state.stuck > 0:
            trial = _lower(self._try_surrogate(evaluation, trial), trial)
        new, step = trial.new, trial.step
        if new is None:
            return _stay(state, quiet=0 if flat else state.quiet + 1)
        if new.is_unbounded_along((step.direction, step.dy)) or new.is_unbounded_along():
            raise NoMinimumError(_NO_MINIMUM)
        eps = evaluation.rounding.eps
        stands = is_same_point(state.x, new.x, eps) and is_same_point(state.y, new.y, eps)
        peak, age = max(state.peak, norm(new.x), trial.t * norm(step.direction.dx)), state.age + 1
        if peak > _SHRUNK * norm(new.x) or age > _STALE:
            new = problem.evaluate(new.x, new.y)
            peak, age = norm(new.x), 0
        state = state._replace(stuck=state.stuck + 1 if stands else 0, peak=peak, age=age)
        y_system = YSystem(new)
        return self._arrive(problem, state, y_system, y_system.newton_step(), None if flat else trial)

    def _first(self, problem: SecondOrderProblem, state: NewtonState) -> NewtonState:
        """The state at the start, with y lowered."""
        evaluation = problem.evaluate(state.x, state.y)
        y_system = YSystem(evaluation)
        y_step = y_system.newton_step()
        rounding = evaluation.rounding
        enough = max(_WORTH_A_Y_STEP * y_step.gain, square(_ZERO * rounding.eps * rounding.fixed_terms))
        for _ in range(self.first_y_steps):
            if not y_step.gain > enough:
                break
            evaluation = _move_y(evaluation, y_step)
            y_system = YSystem(evaluation)
            y_step = y_system.newton_step()
        if evaluation.is_unbounded_along():
            raise NoMinimumError(_NO_MINIMUM)
        return self._arrive(problem, state, y_system, y_step, None)

    def _arrive(
        self, problem: SecondOrderProblem, state: NewtonState, y_system: YSystem, y_step: YStep, trial: Trial | None
    ) -> NewtonState:
        """The state at a new point, with its bound; ``trial`` led there, if anything is to be learnt from it."""
        evaluation = y_system.evaluation
        after = evaluation.model_after(y_step.dy)
        if not norm(after.grad_x) + y_step.gain < math.inf:
            raise NonFiniteError("a gradient of f is NaN or infinite; is f finite around the start?")
        bound, noise = problem.bound_after(evaluation, after, y_system.whole_root)
        quiet, min_curvature, estimate = 0, math.inf, math.inf
        if math.isinf(bound.value) and trial is not None and trial.distance_from(evaluation) <= _SURE:
            quiet, min_curvature = state.quiet + 1, min(state.min_curvature_seen, trial.step.min_curvature_seen)
            estimate = _estimate(problem, y_system, y_step, after.grad_x, min_curvature, noise)
            bound = Bound(estimate if quiet >= _QUIET else math.inf, bound.floor)
        return state._replace(
            x=evaluation.x,
            y=evaluation.y,
            cache=evaluation.cache,
            gradient=after.grad_x,
            y_step=y_step,
            roots=y_system.roots,
            noise=noise[0],
            quiet=quiet,
            min_curvature_seen=min_curvature,
            estimate=estimate,
            candidate=Candidate(
                evaluation.x, evaluation.y, bound, exhausted=state.stuck >= _STUCK, cache=evaluation.cache
            ),
        )

    def _try(self, y_system: YSystem, gradient: Vector, y_step: YStep, scale: float) -> Trial:
        """The Newton step, as far as it is good; ``scale`` is |∇F| at first, infinite where this is first."""
        evaluation = y_system.evaluation
        diagonal = positive(evaluation.hess_xx_diagonal())
        size = math.sqrt(dot(gradient, gradient / diagonal))
        scale = size if math.isinf(scale) else scale
        tolerance = min(self.loosest, (size / scale) ** self.forcing_power) if scale > 0.0 else self.loosest
        step = solve_newton_system(
            y_system, gradient, y_step.dy, diagonal, tolerance=tolerance, most_steps=self.most_cg_steps
        )
        slope = dot(gradient, step.direction.dx) - y_step.gain
        if not slope < 0.0:
            return Trial(None, step, 0.0, scale)

        def at(t: float) -> tuple[SecondOrderEvaluation, float]:
            new = evaluation.slice.moved(step.direction, t).at(evaluation.y + t * step.dy)
            return new, new.slope(step.direction, step.dy)

        new, t = search_step(at, slope, overshoot=_OVERSHOOT, undershoot=_UNDERSHOOT)
        return Trial(new, step, t, scale)

    def _try_surrogate(self, evaluation: SecondOrderEvaluation, near: Trial) -> Trial | None:
        """The same with a curvature that does not vanish far away; None where there is no other.

        Of f's own curvature it says no more than ``near``, the Newton step.
        """
        surrogate = evaluation.with_surrogate_curvature()
        if surrogate is None:
            return None
        y_system = YSystem(surrogate)
        y_step = y_system.newton_step()
        trial = self._try(y_system, surrogate.model_after(y_step.dy).grad_x, y_step, math.inf)
        return trial._replace(step=trial.step._replace(min_curvature_seen=near.step.min_curvature_seen))

    def patience(self, problem: Problem) -> int:
        return _PATIENCE


class Trial(NamedTuple):
    """Where a step leads (nowhere if f does not fall), the step, how much of it was taken, and |∇F| at first."""

    new: SecondOrderEvaluation | None
    step: NewtonStep
    t: float
    scale: float

    def distance_from(self, evaluation: SecondOrderEvaluation) -> float:
        """How far the part that was taken leads out of where the quadratic model holds."""
        return self.t * evaluation.model_distance(self.step.direction, self.step.dy)


def _lower(one: Trial | None, other: Trial) -> Trial:
    """The one that leads lower."""
    if one is None or one.new is None:
        return other
    return one if other.new is None or one.new.value <= other.new.value else other


def _move_y(evaluation: SecondOrderEvaluation, y_step: YStep) -> SecondOrderEvaluation:
    """The evaluation after a step in y alone."""

    def at(t: float) -> tuple[SecondOrderEvaluation, float]:
        new = evaluation.slice.at(evaluation.y + t * y_step.dy)
        return new, dot(new.grad_y, y_step.dy)

    return search_step(at, -y_step.gain, overshoot=_OVERSHOOT, undershoot=_UNDERSHOOT)[0] or evaluation


def _stay(state: NewtonState, quiet: int) -> NewtonState:
    """The state after a step that leads nowhere."""
    candidate = state.candidate._replace(exhausted=state.stuck + 1 >= _STUCK)
    if candidate.bound.basis == "estimate":
        value = state.estimate if quiet >= _QUIET else math.inf
        candidate = candidate._replace(bound=candidate.bound._replace(value=value))
    return state._replace(stuck=state.stuck + 1, quiet=quiet, candidate=candidate)


def _estimate(
    problem: SecondOrderProblem,
    y_system: YSystem,
    y_step: YStep,
    gradient: Vector,
    min_curvature: float,
    noise: tuple[float, float],
) -> float:
    """What |∇F|²/2μ would be with the least curvature seen, and y's part, times a factor for what was not seen.

    It means something only near a minimum: steps along which f is unbounded stay as long as they are.
    """
    left = norm(y_system.gradient_after(y_step.dy))
    if left > _LEFT * norm(y_system.evaluation.grad_y) and left > _ZERO * noise[1]:
        if problem.flat_gradient_proves_unbounded:
            raise NoMinimumError(_NO_MINIMUM)
        return math.inf
    size = norm(gradient)
    if not 0.0 < min_curvature < math.inf and size > _ZERO * noise[0]:
        return math.inf
    in_x = square(size) / (2.0 * min_curvature) if min_curvature > 0.0 else 0.0
    return _CAUTION * (in_x + 0.5 * y_step.gain + y_system.evaluation.value_noise())
