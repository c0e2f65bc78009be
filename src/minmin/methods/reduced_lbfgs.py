"""reduced-lbfgs: quasi-Newton on F(x) = min_y f(x, y), guarded by BAM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.bound import UNKNOWN, Bound
from minmin.core.constants import Constants
from minmin.core.orientation import Outer
from minmin.core.problem import Evaluation, Problem
from minmin.core.rounding import is_same_point
from minmin.core.vectors import Vector, dot, norm, parts_of, square
from minmin.errors import InputError, as_number
from minmin.methods.bam import Bam, BamState
from minmin.methods.base import (
    DEFAULT_PATIENCE,
    Candidate,
    Method,
    require_choice,
    require_constants,
    require_flag,
    require_y_hessian,
)
from minmin.methods.inner.objective import first_step
from minmin.methods.inner.partial_minimum import LowerY, YMemory
from minmin.methods.inner.solvers import INNER_SOLVERS
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.theory import block_parameters, theory_patience
from minmin.numerics.lbfgs import Pairs, inverse_times, remember
from minmin.numerics.step_search import search_along

_LOOSE, _TIGHT = 0.05, 0.001
"""At first y may leave this part of what the coming step in x is expected to gain; the latter where ∇ₓ is a round. Six
of the paper's coupled quadratics take 490 calls of ∇ₓ with 0.5, 335 with 0.1, 326 with 0.05, 319 with 0.02 and 328 with
0.001; a1a takes 103 of ∇ᵧ with 0.05 and 133 with 0.001. On a9a's 20 clients a proved 1e-6 takes 39 rounds with 0.05, 26
with 0.01, 23 with 0.001 and 22 with 1e-5."""
_TOO_LOOSE = 0.5
"""Where y turns out to have left more than this part of it, the gradient says little of F: y is solved again, and more
tightly from then on. 0.5 to 2 take the same calls on the paper's quadratics, a1a and a9a; with 0.1 a1a takes 63 of ∇ₓ
instead of 59."""
_TIGHTER, _MUCH_TIGHTER = 0.5, 0.1
"""The former is the factor to what y may leave in that case, the latter where x could not be moved. Nothing decides on
the values: 0.1 to 0.9, and 0.01 to 0.5, take the same calls on the paper's quadratics and a1a."""
_OVERSHOOT = 0.3
"""See :func:`minmin.numerics.step_search.search_step`. With 0.1 the paper's quadratics take 790 calls of ∇ₓ, with 0.3
695 and with 0.9 674; a9a with penalties of 1e-5 takes 378, 367 and 352. 0.3 is kept, as in the Newton method."""
_GROWTH = 1e3
"""A step is at most so many times as long as the one before: where f was nearly flat, the next one would be endless. 24
hard cases of the tests take 546 steps in all with 10, and 432 to 434 with 10³ to 10³⁰."""
_FRESH_STARTS = 6
"""So often in a row a run that does not move x solves y again, or forgets its directions, before it ends. By then y may
leave 0.1⁶, a millionth, of what it may leave at first, or 0.5⁶, a 64th, where x was never tried. With none 21 of 25
hard cases of the tests stall above 1e-12, with 2 to 6 three do, and with 10 two."""
_CAUTION = 4.0
"""Estimated bounds are multiplied by this. None of 800 on small random quadratics was below the true gap, and none
without the factor either; on 120 with κ_x from 10³ to 10⁶ and 30 variables in x, one was with it, and two without."""
_POINTS_BEHIND_AN_ESTIMATE = 20
"""Estimated bounds take the largest gradients of so many points (fewer where x has fewer variables): flat directions
show only after the steep ones are gone. On the same 120, 68 bounds were too low with 1 point, 28 with 5, 10 with 10, 1
with 20 and none with 33, for 2096, 4057, 5373, 7185 and 9725 calls of ∇ₓ."""
_MORE_POINTS = 3
"""Where x has fewer variables, so many more points than that: after as many steps as variables every direction was
seen. Of 800 bounds on quadratics with 1 to 8 variables in x two were too low with none more; with 1 and 3 none was."""
_TIMES_THEORY = 4
"""A run has so many times BAM's patience: two for the guard to notice, one for BAM to halve the bound, one to spare."""


class XPoint(NamedTuple):
    """A point x with y lowered and ∇F(x) ≈ ∇ₓf(x, y)."""

    v: Vector
    gradient: Vector
    evaluation: Evaluation | None = None


class ReducedState(NamedTuple):
    """The iteration between two steps.

    Attributes
    ----------
    x : vector
    gradient : vector or None
        ∇F(x); None before the first step.
    y : tuple of YMemory
        Every part of y.
    gain : float
        What y could still take off f, as estimated.
    pairs : Pairs
        Curvature of F.
    min_curvature_seen : float
        The least curvature of F seen.
    inner_tolerance_ratio : float
        The part of an expected gain that y may leave.
    stuck : int
        Steps in a row that did not move x.
    calls : int
        Of ∇ₓf, to compare with BAM's guarantee.
    first_bound : float
    candidate : Candidate
    best : Candidate
        The one with the lowest bound.
    norms : tuple of pairs of float
        |∇ₓf| and |∇ᵧf| of the newest points.
    secant_point : SecantPoint or None
    guard : BamState or None
        BAM's state once it has taken over.
    """

    x: Vector
    gradient: Vector | None
    y: tuple[YMemory, ...]
    gain: float
    pairs: Pairs
    min_curvature_seen: float
    inner_tolerance_ratio: float
    stuck: int
    calls: int
    first_bound: float
    candidate: Candidate
    best: Candidate
    norms: tuple[tuple[float, float], ...]
    secant_point: SecantPoint | None
    guard: BamState | None


@dataclass(frozen=True)
class ReducedLbfgs(Method):
    """L-BFGS on F(x) = min_y f(x, y), whose gradient is ∇ₓf(x, y(x)).

    Problem: min f(x, y), f convex; constants are not needed, but make the bound a proof.

    Algorithm: L-BFGS in x. At every x, y is lowered from where it was, with curvature kept from x to x, until what is
    left to gain in y is a small part of what the step in x is expected to gain; both are decreases of f, so this
    needs no units. Steps are judged by slopes alone; f is never evaluated.

    Guarantee: none of its own. Where the constants are known, a run whose certified bound falls behind BAM's
    guarantee by more than a factor two in calls of ∇ₓf continues as BAM from its best point, so that in the worst case
    it takes a constant times BAM's calls.

    Reference: the reduction is that of Bolte et al. (2020) and Gladin et al. (2021), who minimise F by other methods.

    Parameters
    ----------
    inner : {"auto", "lbfgs", "newton", "nag"}
        Lowers y. "newton" needs a y-Hessian, "nag" the constants; "auto" is "newton" where ∇ₓ takes a round and there
        is a y-Hessian, else "lbfgs".
    outer : {"x", "y"}
        The block that F is a function of: the one whose gradient is expensive.
    inner_tolerance_ratio : float, optional
        The part of what the coming step in x is expected to gain that y may leave, at first. Less of it costs more
        calls of ∇ᵧ and may save some of ∇ₓ: 0.05 where not given, 0.001 where ∇ₓ takes a round.
    stateless : bool
        Start y from zero at every x, with nothing remembered from the last one.
    """

    name: ClassVar[str] = "reduced-lbfgs"
    state_types: ClassVar[tuple[type, ...]] = (ReducedState, YMemory, *Bam.state_types)
    inner: str = "auto"
    outer: str = "x"
    inner_tolerance_ratio: float | None = None
    stateless: bool = False

    def __post_init__(self) -> None:
        ratio = self.inner_tolerance_ratio
        if ratio is not None and not 0.0 < as_number(ratio, "inner_tolerance_ratio") < math.inf:
            raise InputError(f"inner_tolerance_ratio = {ratio} must be positive and finite")
        require_flag("stateless", self.stateless)
        known = [name for name, solver in INNER_SOLVERS.items() if not solver.needs_restart]
        require_choice("inner", self.inner, ("auto", *known))
        require_choice("outer", self.outer, ("x", "y"))

    def check(self, problem: Problem) -> None:
        solver = INNER_SOLVERS[self._inner(problem)]
        if solver.needs_y_hessian:
            require_y_hessian(f"inner={self.inner!r}", problem)
        if solver.needs_constants:
            require_constants(f"{self.name}, inner={self.inner}", problem)

    def outer_block(self, problem: Problem) -> Outer:
        return Outer(self.outer)

    def init(self, problem: Problem, x: Vector, y: Vector) -> ReducedState:
        task = self._task(problem, None)
        start = Candidate(x, y)
        return ReducedState(
            x=x,
            gradient=None,
            y=tuple(task.begin(part) for part in parts_of(y)),
            gain=math.inf,
            pairs=Pairs.none(x),
            min_curvature_seen=math.inf,
            inner_tolerance_ratio=self.inner_tolerance_ratio or (_TIGHT if problem.part_sizes else _LOOSE),
            stuck=0,
            calls=0,
            first_bound=math.inf,
            candidate=start,
            best=start,
            norms=(),
            secant_point=None,
            guard=None,
        )

    def step(self, problem: Problem, state: ReducedState) -> ReducedState:
        if state.guard is not None:
            guard = Bam().step(problem, state.guard)
            return state._replace(guard=guard, candidate=guard.candidate._replace(note=state.candidate.note))
        if state.gradient is None:
            return self._judge(problem, *self._lower_y(problem, state, None), exhausted=False)
        if norm(state.gradient) == 0.0:
            lowered, evaluation = self._lower_y(problem, state, None)
            stuck = state.stuck + 1 if lowered.gain == 0.0 else 0
            return self._judge(problem, lowered._replace(stuck=stuck), evaluation, exhausted=stuck > _FRESH_STARTS)
        direction = self._direction(problem, state)
        expected_gain = -0.5 * dot(state.gradient, direction)
        if state.gain > _TOO_LOOSE * expected_gain:
            ratio = _TIGHTER * state.inner_tolerance_ratio
            allowed = None if math.isinf(state.gain) else ratio * expected_gain
            state = state._replace(inner_tolerance_ratio=ratio, stuck=state.stuck + 1)
            lowered, evaluation = self._lower_y(problem, state, allowed)
            return self._judge(problem, lowered, evaluation, exhausted=state.stuck > _FRESH_STARTS)
        moved, evaluation = self._move_x(problem, state, direction, state.inner_tolerance_ratio * expected_gain)
        if not is_same_point(state.x, moved.x, evaluation.rounding.eps):
            return self._judge(problem, moved._replace(stuck=0), evaluation, exhausted=False)
        # Too loose a y, or directions that lead nowhere, look like rounding; start again before believing in it.
        restarted = moved._replace(
            stuck=state.stuck + 1,
            inner_tolerance_ratio=_MUCH_TIGHTER * state.inner_tolerance_ratio,
            pairs=Pairs.none(state.x),
            gain=math.inf,
        )
        return self._judge(problem, restarted, evaluation, exhausted=restarted.stuck > _FRESH_STARTS)

    def patience(self, problem: Problem) -> int:
        constants = problem.constants
        if constants is None or not _can_guard(constants):
            return DEFAULT_PATIENCE
        rate = block_parameters(constants).alpha
        return _TIMES_THEORY * theory_patience(rate, max(constants.kappa_x, constants.kappa_y))

    def _direction(self, problem: Problem, state: ReducedState) -> Vector:
        if not state.pairs.steps:
            constants = problem.constants
            return first_step(state.gradient, state.x, None if constants is None else constants.L_x)
        direction = -inverse_times(state.pairs, state.gradient)
        longest, length = _GROWTH * norm(state.pairs.steps[-1]), norm(direction)
        return direction if length <= longest else (longest / length) * direction

    def _inner(self, problem: Problem) -> str:
        if self.inner != "auto":
            return self.inner
        return "newton" if problem.part_sizes and problem.has_y_hessian else "lbfgs"

    def _task(self, problem: Problem, allowed: float | None) -> LowerY:
        return LowerY(self._inner(problem), allowed, problem.constants, self.stateless)

    def _lower_y(self, problem: Problem, state: ReducedState, allowed: float | None) -> tuple[ReducedState, Evaluation]:
        """The state at the same x with y lowered further, and ∇F(x) there."""
        y, evaluation = problem.fix(state.x).run_on_parts(self._task(problem, allowed), state.y)
        gain = max(part.gain for part in y)
        return state._replace(y=y, gain=gain, gradient=evaluation.grad_x, calls=state.calls + 1), evaluation

    def _move_x(
        self, problem: Problem, state: ReducedState, direction: Vector, allowed: float
    ) -> tuple[ReducedState, Evaluation]:
        """The state after a step along the direction."""

        def at(x: Vector) -> XPoint:
            nonlocal state
            state, evaluation = self._lower_y(problem, state._replace(x=x), allowed)
            return XPoint(x, evaluation.grad_x, evaluation)

        def learn(new: XPoint, step: Vector, change: Vector, product: float) -> None:
            nonlocal state
            size, least = dot(step, step), state.min_curvature_seen
            if product > 0.0 and size > 0.0:
                least = min(least, product / size)
            pairs = remember(state.pairs, step, change)
            state = state._replace(pairs=pairs, min_curvature_seen=least)

        def is_enough(new: XPoint) -> bool:
            return norm(new.gradient) == 0.0

        start = XPoint(state.x, state.gradient)
        point = search_along(start, direction, at, learn, overshoot=_OVERSHOOT, is_enough=is_enough)
        assert point.evaluation is not None
        return state, point.evaluation

    def _judge(self, problem: Problem, state: ReducedState, evaluation: Evaluation, *, exhausted: bool) -> ReducedState:
        """The state with its candidate and its bound, or BAM's, where it takes over."""
        newest = (evaluation.grad_x_norm, evaluation.grad_y_norm)
        # Where x can move no more nothing new will show, so only the newest point counts.
        points = _points_behind_an_estimate(problem)
        state = state._replace(
            norms=points * (newest,) if exhausted else (*state.norms, newest)[-points:],
            secant_point=check_constants(problem, evaluation, state.secant_point),
        )
        bound = problem.bound(evaluation)
        if math.isinf(bound.value):
            bound = self._estimate(problem, state)
        candidate = Candidate(state.x, evaluation.y, bound, exhausted)
        best = candidate if bound.value <= state.best.bound.value else state.best
        first_bound = bound.value if math.isinf(state.first_bound) else state.first_bound
        state = state._replace(best=best, first_bound=first_bound, candidate=candidate)
        constants = problem.constants
        if constants is None or not _is_behind(constants, state):
            return state
        note = f"BAM took over after {state.calls} calls of the outer gradient, for want of progress"
        guard = Bam().init(problem, best.x, evaluation.y)  # in a federation only the newest y is kept
        return state._replace(guard=guard, candidate=best._replace(note=note))

    def _estimate(self, problem: Problem, state: ReducedState) -> Bound:
        """What |∇f|²/2μ would be with the least curvatures seen, times a factor for those not seen."""
        if state.norms[-1] == (0.0, 0.0):
            return Bound(0.0)
        in_x, in_y = state.min_curvature_seen, min(memory.min_curvature_seen for memory in state.y)
        enough = len(state.norms) >= _points_behind_an_estimate(problem)
        if not (enough and min(in_x, in_y) > 0.0 and max(in_x, in_y) < math.inf):
            return UNKNOWN
        norm_x, norm_y = (max(norms) for norms in zip(*state.norms, strict=True))
        return Bound(_CAUTION * (square(norm_x) / (2.0 * in_x) + square(norm_y) / (2.0 * in_y)))


def _points_behind_an_estimate(problem: Problem) -> int:
    return min(_POINTS_BEHIND_AN_ESTIMATE, problem.d_x + _MORE_POINTS)


def _can_guard(constants: Constants) -> bool:
    """Whether BAM can take over."""
    finite = math.isfinite(constants.L_x) and math.isfinite(constants.L_y)
    return finite and constants.mu_x > 0.0 and constants.mu_y > 0.0


def _is_behind(constants: Constants, state: ReducedState) -> bool:
    """Whether BAM's guarantee would have been met with half the calls.

    By Theorem 2.2 f - f* falls to 3(1 + α)⁻ᵏ of what it was in k calls of ∇ₓf, and the bound is at most κ times that.
    """
    best = state.best.bound.value
    if not _can_guard(constants) or not math.isfinite(state.first_bound) or best <= 0.0:
        return False
    kappa = max(constants.kappa_x, constants.kappa_y)
    needed = math.log(3.0 * kappa * state.first_bound / best)
    return state.calls > 2.0 * needed / math.log1p(block_parameters(constants).alpha)
