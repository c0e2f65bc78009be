"""reduced-lbfgs: L-BFGS on F(x) = min_y f(x, y), with BAM as a fallback."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from minmin.core.arrays import to_like
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.rounding import is_same_point
from minmin.core.vectors import Vector, dot, norm, parts_of
from minmin.errors import InputError, NonFiniteError, as_number
from minmin.log import LOG
from minmin.methods.bam import Bam
from minmin.methods.base import (
    DEFAULT_PATIENCE,
    NO_TARGET,
    Candidate,
    Method,
    Target,
    require_choice,
    require_constants,
    require_flag,
)
from minmin.methods.convexity import Visit
from minmin.methods.gap_estimate import GapEstimate
from minmin.methods.inner.goal import MOST_GROWTH, first_step, grow_where_flat, limit_length
from minmin.methods.inner.partial_minimum import LowerY
from minmin.methods.inner.solvers import INNER_SOLVERS, require_reduced_solver
from minmin.methods.mapped_gradients import map_gradients
from minmin.methods.proximal_step import find_proximal_step
from minmin.methods.reduced_state import (
    ReducedState,
    choose_first_ratio,
    choose_inner,
    is_watched,
    may_explode,
    most_restarts,
    rises,
)
from minmin.methods.secants import check_constants
from minmin.methods.theory import block_parameters, can_guard, is_behind, theory_patience
from minmin.methods.watch import Watch
from minmin.numerics.lbfgs import Pairs, inverse_times, remember
from minmin.numerics.step_search import search_along, slope_along

_MOST_LEFT = 0.5
"""If the remaining gain in y is more than this fraction of the expected gain in x, the gradient is too inaccurate for
F: y is lowered again, with a smaller ratio from then on. 0.5 to 2 take the same calls on the paper's quadratics, a1a
and a9a; with 0.1, a1a takes 63 calls of ∇ₓ instead of 59."""
_TIGHTEN, _TIGHTEN_WHEN_STUCK = 0.5, 0.1
"""The factors to the ratio in that case, and if x could not be moved. The values do not matter: 0.1 to 0.9, and 0.01 to
0.5, take the same calls on the paper's quadratics and a1a."""
_OVERSHOOT = 0.3
"""See :func:`minmin.numerics.step_search.search_step`. The paper's quadratics take 790 calls of ∇ₓ with 0.1, 695 with
0.3 and 674 with 0.9; a9a with penalties of 1e-5 takes 378, 367 and 352. 0.3 is the value in reduced-newton, too."""
_PROBE_STEPS = 3
"""How many steps a run takes from a point next to its start, if both gradients at its start are zero. On the saddle
points of tests/solve/test_odd_functions.py one is enough; three leave room for others, at three calls of ∇ₓ."""
_KEPT_PAIRS_WITH_TERM = 60
"""The number of pairs with a term in x. On twelve quadratics with κ = 500 and 5000, L1 or a box, the calls of ∇ₓ are
1832 in total with 20 pairs, 1756 with 30 and 1494 with 60."""
_PATIENCE_FACTOR = 4
"""The patience in units of BAM's: two until BAM takes over, one for BAM to halve the bound, and one as a margin."""


class XPoint(NamedTuple):
    """A point x where f was lowered in y, and ∇F(x) ≈ ∇ₓf(x, y)."""

    v: Vector
    gradient: Vector
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class ReducedLbfgs(Method):
    """L-BFGS on F(x) = min_y f(x, y), whose gradient is ∇ₓf(x, y(x)).

    Problem: min f(x, y), f convex. Constants are not needed, but with them the bound is proved.

    Algorithm: L-BFGS in x. At every x, an inner solver lowers f in y from where y was, with the curvature of earlier x,
    until the remaining gain in y is a small fraction of the expected gain of the step in x. Both gains are decreases of
    f, so the units of x and y do not matter. Steps are chosen from slopes alone. Where f or a gradient is not finite,
    a step is shortened. If the constants are unknown, f is computed at every x, where it can be, and the run says if
    f is not convex, has no minimum, or has a gradient that jumps.

    Guarantee: none for L-BFGS itself. If the constants are known, and the certified bound needs more than twice the
    calls of ∇ₓf that BAM guarantees, the run continues as BAM from its best point. So in the worst case it takes a
    constant times BAM's calls.

    Reference: the reduction is that of Bolte et al. (2020) and Gladin et al. (2021), who minimise F by other methods.

    Parameters
    ----------
    inner : {"auto", "lbfgs", "newton", "nag"}, default "auto"
        The solver in y. "newton" needs a y-Hessian, "nag" the constants. "auto" is "newton" if ∇ₓ takes a round of
        communication and there is a y-Hessian, and "lbfgs" otherwise.
    outer : {"x", "y"}, default "x"
        The block that F is a function of; its gradient should be the expensive one.
    inner_tolerance_ratio : float, optional
        The fraction of the expected gain of the next step in x that may be left to gain in y, at first. A smaller one
        costs more calls of ∇ᵧ and may save some of ∇ₓ. By default 0.05, or 0.001 if ∇ₓ takes a round of communication,
        the constants are unknown, or there are terms.
    stateless : bool
        Whether y starts from zero at every x, and nothing is kept from the previous x.
    """

    name: ClassVar[str] = "reduced-lbfgs"
    state_types: ClassVar[tuple[type, ...]] = (
        ReducedState,
        GapEstimate,
        *LowerY.memory_types,
        Watch,
        Visit,
        *Bam.state_types,
    )
    takes_terms: ClassVar[bool] = True
    takes_target: ClassVar[bool] = True
    inner: str = "auto"
    outer: str = "x"
    inner_tolerance_ratio: float | None = None
    stateless: bool = False

    def __post_init__(self) -> None:
        ratio = self.inner_tolerance_ratio
        if ratio is not None and not 0.0 < as_number(ratio, "inner_tolerance_ratio") < math.inf:
            raise InputError(f"inner_tolerance_ratio = {ratio} must be positive and finite")
        require_flag("stateless", self.stateless)
        require_reduced_solver(self.inner, "auto")
        require_choice("outer", self.outer, ("x", "y"))

    def check(self, problem: Problem) -> None:
        solver = INNER_SOLVERS[choose_inner(self.inner, problem)]
        solver.check(problem)
        if solver.needs_constants:
            require_constants(f"{self.name}, inner={self.inner}", problem)

    def outer_block(self, problem: Problem) -> Outer:
        return Outer(self.outer)

    def init(self, problem: Problem, x: Vector, y: Vector) -> ReducedState:
        task = self._make_task(problem, None)
        if self.inner == "auto":
            LOG.info("auto took inner=%r: y has %sparts with Hessians", task.inner, "no " * (task.inner != "newton"))
        start = Candidate(x, y)
        return ReducedState(
            x=x,
            gradient=None,
            y=tuple(task.begin(part) for part in parts_of(y)),
            gain=math.inf,
            pairs=Pairs.none(x),
            min_curvature_seen=math.inf,
            inner_tolerance_ratio=self.inner_tolerance_ratio or choose_first_ratio(problem),
            stuck=0,
            calls=0,
            first_bound=math.inf,
            candidate=start,
            best=start,
            estimate=GapEstimate(),
            watch=Watch(start_size=max(1.0, norm(x), norm(y))),
            flat_length=0.0,
            secant_point=None,
            guard=None,
        )

    def step(self, problem: Problem, state: ReducedState, target: Target = NO_TARGET) -> ReducedState:
        if state.guard is not None:
            guard = Bam().step(problem, state.guard)
            return state._replace(guard=guard, candidate=guard.candidate._replace(note=state.candidate.note))
        if state.gradient is None:
            return self._begin(problem, state, target)
        return self._judge(problem, *self._advance(problem, state), target)

    def _advance(self, problem: Problem, state: ReducedState) -> tuple[ReducedState, Evaluation]:
        """The state after a step, and the evaluation there."""
        direction = self._find_direction(problem, state)
        if norm(direction) == 0.0:
            lowered, evaluation, _ = self._lower_y(problem, state, None)
            stuck = state.stuck + 1 if lowered.gain == 0.0 else 0
            pairs = Pairs.none(state.x) if stuck else state.pairs  # which may have made the step so short
            return lowered._replace(stuck=stuck, pairs=pairs), evaluation
        expected_gain = -0.5 * slope_along(XPoint(state.x, state.gradient), direction, problem.term_x)
        if state.gain > _MOST_LEFT * expected_gain:
            ratio = _TIGHTEN * state.inner_tolerance_ratio
            allowed = None if math.isinf(state.gain) else ratio * expected_gain
            state = state._replace(inner_tolerance_ratio=ratio, stuck=state.stuck + 1)
            return self._lower_y(problem, state, allowed)[:2]
        moved, evaluation, found = self._move_x(problem, state, direction, state.inner_tolerance_ratio * expected_gain)
        if found and not is_same_point(problem.units_x * state.x, problem.units_x * moved.x, evaluation.rounding.eps):
            return moved._replace(stuck=0), evaluation
        # An inaccurate y, or bad pairs, can look like rounding. Rule them out first: tighten y, drop the pairs.
        restarted = moved._replace(
            stuck=state.stuck + 1,
            inner_tolerance_ratio=_TIGHTEN_WHEN_STUCK * state.inner_tolerance_ratio,
            pairs=Pairs.none(state.x),
            gain=math.inf,
        )
        return restarted, evaluation

    def _begin(self, problem: Problem, state: ReducedState, target: Target) -> ReducedState:
        """The state at the start, after f was lowered in y."""
        state, evaluation, is_inside = self._lower_y(problem, state, None)
        if not is_inside:
            hint = "; with stateless=True, y starts from zero" if self.stateless else ""
            raise NonFiniteError(explain_nonfinite(evaluation) + hint)
        if is_watched(problem) and evaluation.grad_x_norm == evaluation.grad_y_norm == 0.0:
            probed = self._probe(problem, state, target)
            if problem.y_is_remote:
                return probed
            state = state._replace(watch=probed.watch._replace(last=None))
            judged = self._judge(problem, state, evaluation, target)
            return judged._replace(candidate=judged.candidate._replace(reason=probed.candidate.reason))
        return self._judge(problem, state, evaluation, target)

    def _probe(self, problem: Problem, state: ReducedState, target: Target) -> ReducedState:
        """A few steps from a point nearby: the gradient is zero at a saddle point, too."""
        generator = np.random.default_rng(0)

        def move(part: Vector) -> Vector:
            noise = to_like(generator.standard_normal(part.shape[0]), part)
            return part + first_step(noise, part, math.inf)

        y = state.y if problem.y_is_remote else tuple(part._replace(y=move(part.y)) for part in state.y)
        x = move(state.x)
        state = state._replace(x=x if problem.term_x is None else problem.term_x.project(x), y=y)
        state, evaluation, is_inside = self._lower_y(problem, state, None)
        if not is_inside:
            return state
        state = self._judge(problem, state, evaluation, target)
        for _ in range(_PROBE_STEPS):
            if not state.candidate.reason:
                state = self.step(problem, state, target)
        return state

    def patience(self, problem: Problem) -> int:
        constants = problem.constants
        if constants is None or not can_guard(constants):
            return DEFAULT_PATIENCE
        rate = block_parameters(constants).alpha
        return _PATIENCE_FACTOR * theory_patience(rate, max(constants.kappa_x, constants.kappa_y))

    def _find_direction(self, problem: Problem, state: ReducedState) -> Vector:
        """The step to try: in the problem's units, in which the pairs are, and then in those of x."""
        assert state.gradient is not None
        constants, pairs, units = problem.constants, state.pairs, problem.units_x
        L = constants.L_x if constants is not None and isinstance(units, float) else math.inf
        x, gradient = units * state.x, state.gradient * (1.0 / units)
        if problem.term_x is not None:
            direction = find_proximal_step(problem.term_x, x, gradient, pairs, L, state.flat_length, units)
        elif norm(gradient) == 0.0:
            return gradient
        else:
            direction = -inverse_times(pairs, gradient) if pairs.steps else first_step(gradient, x, L)
        if pairs.steps:
            direction = limit_length(direction, MOST_GROWTH * norm(pairs.steps[-1]))
        if problem.term_x is None and state.flat_length > 0.0 and norm(direction) > 0.0:
            direction = grow_where_flat(direction, state.flat_length)
        return direction * (1.0 / units)

    def _make_task(self, problem: Problem, allowed: float | None, *, retries: bool = False) -> LowerY:
        watches = "nothing"
        if is_watched(problem):
            watches = "values" if problem.has_value else "gradients"
        elif may_explode(problem):
            watches = "gradients"
        inner = choose_inner(self.inner, problem)
        return LowerY(inner, allowed, problem.constants, self.stateless, watches, retries)

    def _lower_y(
        self, problem: Problem, state: ReducedState, allowed: float | None, *, retries: bool = False
    ) -> tuple[ReducedState, Evaluation, bool]:
        """The state at the same x after f was lowered in y, the evaluation there, and whether f is finite.

        ``retries``: the last x was rejected, so y starts from where it was before that.
        """
        task = self._make_task(problem, allowed, retries=retries)
        y, evaluation = problem.fix(state.x).run_on_parts(task, state.y)
        state = state._replace(y=y)
        if any(part.outside for part in y):
            return state, evaluation, False
        gain = max(part.gain for part in y)
        state = state._replace(gain=gain, gradient=evaluation.grad_x, calls=state.calls + 1)
        if is_watched(problem):
            value = evaluation.value_without_terms if problem.has_value else math.nan
            weights = problem.part_weights or (1.0,)
            watch = state.watch.visit(evaluation, value, y, weights, state.largest_curvatures())
            state = state._replace(watch=watch)
        return state, evaluation, True

    def _move_x(
        self, problem: Problem, state: ReducedState, direction: Vector, allowed: float
    ) -> tuple[ReducedState, Evaluation, bool]:
        """The state after a step along the direction, the evaluation there, and whether the step is good enough."""
        start, lowest, term = XPoint(state.x, state.gradient), state.watch.lowest_value, problem.term_x
        is_inside, retries, units = True, False, problem.units_x

        def at(x: Vector) -> XPoint:
            nonlocal state, is_inside, retries
            state, evaluation, is_inside = self._lower_y(problem, state._replace(x=x), allowed, retries=retries)
            retries = True
            if is_inside:
                return XPoint(x, evaluation.grad_x, evaluation)
            state = state._replace(watch=state.watch.leave(norm(x - start.v)))
            return XPoint(x, math.nan * start.gradient, evaluation)

        def learn(new: XPoint, step: Vector, change: Vector, product: float) -> None:
            nonlocal state
            step, change = units * step, change * (1.0 / units)
            size, least = dot(step, step), state.min_curvature_seen
            if product > 0.0 and size > 0.0:
                least = min(least, product / size)
            pairs = remember(state.pairs, step, change, None if term is None else _KEPT_PAIRS_WITH_TERM)
            is_flat = pairs is state.pairs and state.watch.is_flat(norm(change), norm(start.gradient))
            flat_length = norm(step) if is_flat and is_inside else 0.0
            state = state._replace(pairs=pairs, min_curvature_seen=least, flat_length=flat_length)

        def is_enough(new: XPoint) -> bool:
            return term is None and norm(new.gradient) == 0.0

        def is_too_high(new: XPoint) -> bool:
            if math.isinf(lowest) or not is_inside:
                return False
            assert new.evaluation is not None
            return rises(lowest, new.evaluation.value)

        point, found = search_along(
            start, direction, at, learn, term, units, overshoot=_OVERSHOOT, is_enough=is_enough, is_too_high=is_too_high
        )
        assert point.evaluation is not None
        if not is_inside or (not found and (may_explode(problem) or is_too_high(point))):
            back, evaluation, is_inside = self._lower_y(problem, state._replace(x=start.v), None, retries=True)
            if not is_inside:
                raise NonFiniteError(explain_nonfinite(evaluation))
            return back, evaluation, False
        if found:
            length, change = norm(point.v - start.v), norm(point.gradient - start.gradient)
            state = state._replace(watch=state.watch.accept(length, change, norm(point.gradient)))
        return state, point.evaluation, found

    def _judge(self, problem: Problem, state: ReducedState, evaluation: Evaluation, target: Target) -> ReducedState:
        """The state with its candidate and bound; BAM takes over here if progress is too slow."""
        state = state._replace(secant_point=check_constants(problem, evaluation, state.secant_point))
        constants, bound = problem.constants, problem.certify(evaluation, target.tol or math.inf)
        if constants is None or math.isinf(bound.value):
            curvatures = state.largest_curvatures()
            value = evaluation.value if problem.has_value and constants is None else math.nan
            residuals = evaluation if not problem.has_terms else map_gradients(evaluation, curvatures)
            state = state._replace(watch=state.watch.judge(residuals, value, curvatures))
        exhausted = state.stuck > most_restarts(problem) or (constants is None and state.watch.is_at_rounding_level)
        if math.isinf(bound.value):
            state = state._replace(estimate=state.estimate.add(state.estimate_gap(evaluation)))
            if exhausted or state.watch.has_seen_the_gradient_fall(residuals):
                bound = state.estimate.to_bound(exhausted)
        known = evaluation.value_on_the_way
        candidate = Candidate(
            state.x, evaluation.y, bound, exhausted, gradient_size=evaluation.gradient_size, value=known
        )
        if is_watched(problem):
            candidate = candidate._replace(
                not_convex=state.watch.evidence,
                reason=state.watch.find_reason(residuals, value, curvatures, exhausted=exhausted),
                value=value if problem.has_value else None,
            )
        best = candidate if bound.value <= state.best.bound.value else state.best
        first_bound = bound.value if math.isinf(state.first_bound) else state.first_bound
        state = state._replace(best=best, first_bound=first_bound, candidate=candidate)
        if constants is None or not is_behind(constants, state.calls, first_bound, best.bound.value):
            return state
        note = f"BAM took over after {state.calls} calls of the outer gradient, as progress was too slow"
        guard = Bam().init(problem, best.x, evaluation.y)  # federated clients keep only the newest y
        return state._replace(guard=guard, candidate=best._replace(note=note))
