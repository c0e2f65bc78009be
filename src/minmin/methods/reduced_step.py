"""One step of reduced-lbfgs: L-BFGS on F(x) = min_y f(x, y)."""

from __future__ import annotations

import math
from functools import partial
from operator import attrgetter

import numpy as np

from minmin.core.arrays import to_like
from minmin.core.bound import VALUE_PRECISION, is_same_point
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, norm
from minmin.errors import NonFiniteError
from minmin.methods.bam import Bam
from minmin.methods.base import NO_TARGET, Candidate, Target
from minmin.methods.estimates import count_stuck, has_clearly_fallen, is_exhausted
from minmin.methods.inner.goal import MOST_GROWTH, first_step, grow_where_flat, limit_length
from minmin.methods.inner.partial_minimum import DescendInY
from minmin.methods.proximal_step import find_proximal_step, find_sizes
from minmin.methods.reduced_state import ReducedState, largest_curvatures
from minmin.methods.secants import check_constants
from minmin.methods.theory import is_behind
from minmin.numerics.lbfgs import Pairs, inverse_times, remember
from minmin.numerics.step_search import StepSearch

_MOST_LEFT = 0.5
"""If the remaining gain in y is more than this fraction of the expected gain in x, the gradient is too inaccurate for
F: y is lowered again, with a smaller ratio from then on. Measured: docs/benchmarks/tuning.md."""
_TIGHTEN, _TIGHTEN_WHEN_STUCK = 0.5, 0.1
"""The factors to the ratio in that case, and if x could not be moved. Measured: docs/benchmarks/tuning.md."""
_OVERSHOOT = 0.3
"""See :func:`minmin.numerics.step_search.StepSearch`. Measured: docs/benchmarks/tuning.md."""
_PROBE_STEPS = 3
"""How many steps a run takes from a point next to its start, if both gradients at its start are zero.
Measured: docs/benchmarks/tuning.md."""
_KEPT_PAIRS_WITH_TERM = 60
"""The number of pairs with a term in x. Measured: docs/benchmarks/tuning.md."""
_MOST_STUCK, _MOST_STUCK_WITHOUT_CONSTANTS = 7, 4
"""The number of steps in a row that do not move x, after which a run ends; all but the last lower y again, or drop the
pairs. Without constants it does not know its rounding errors, and ends sooner. Measured: docs/benchmarks/tuning.md."""


class ReducedStep:
    """What a step does on one problem, which decides once how the run learns about f.

    With constants, they prove the bound. Without them, the run is watched: it must find out itself what f is like,
    unless noise in the gradients would mislead it.

    Parameters
    ----------
    problem : Problem
    inner : str
        The solver in y; "auto" is Newton's method if y has parts, each with a Hessian, and else L-BFGS.
    stateless : bool
        See :class:`minmin.methods.reduced_lbfgs.ReducedLbfgs`.
    target : Target

    Attributes
    ----------
    make_task : callable
        ``make_task(allowed=..., retries=...)`` returns what is done with y at an x.
    """

    def __init__(self, problem: Problem, inner: str, *, stateless: bool, target: Target = NO_TARGET):
        self._problem, self._target = problem, target
        self._constants = constants = problem.constants
        self._term, self._units = problem.term_x, problem.units_x
        self._has_terms, self._has_value = problem.has_terms, problem.has_value
        self._is_watched = constants is None and not problem.has_noisy_gradients
        # As far as constants tell, f may rise so fast along a step that y goes astray at an x that is then rejected.
        self._may_explode = constants is not None and math.isinf(max(constants.L_x, constants.L_y))
        self._most_stuck = _MOST_STUCK_WITHOUT_CONSTANTS if constants is None else _MOST_STUCK
        checks = "values" if self._is_watched and self._has_value else "gradients"
        checks = checks if self._is_watched or self._may_explode else "nothing"
        if inner == "auto":
            inner = "newton" if problem.part_sizes and problem.has_y_hessian else "lbfgs"
        self.make_task = partial(DescendInY, inner, constants=constants, stateless=stateless, checks=checks)
        self._stateless = stateless

    def begin(self, state: ReducedState) -> ReducedState:
        """The state at the start, after f was lowered in y."""
        state, evaluation, is_inside = self._descend_in_y(state, state.x, None)
        if not is_inside:
            hint = "; with stateless=True, y starts from zero" if self._stateless else ""
            raise NonFiniteError(explain_nonfinite(evaluation) + hint)
        if not self._is_watched or not evaluation.grad_x_norm == evaluation.grad_y_norm == 0.0:
            return self._judge(state, evaluation)
        probed = self._probe(state)
        if self._problem.y_is_remote:
            return probed
        state = state._replace(watch=probed.watch._replace(last=None))
        judged = self._judge(state, evaluation)
        return judged._replace(candidate=judged.candidate._replace(reason=probed.candidate.reason))

    def _probe(self, state: ReducedState) -> ReducedState:
        """A few steps from a point nearby: the gradient is zero at a saddle point, too."""
        generator = np.random.default_rng(0)

        def move(part: Vector) -> Vector:
            noise = to_like(generator.standard_normal(part.shape[0]), part)
            return part + first_step(noise, part, math.inf)

        is_remote = self._problem.y_is_remote
        y = state.y if is_remote else tuple(part._replace(y=move(part.y)) for part in state.y)
        x = move(state.x)
        x = x if self._term is None else self._term.project(x)
        state, evaluation, is_inside = self._descend_in_y(state._replace(y=y), x, None)
        if not is_inside:
            return state
        state = self._judge(state, evaluation)
        for _ in range(_PROBE_STEPS):
            if not state.candidate.reason:
                state = self.take(state)
        return state

    def take(self, state: ReducedState) -> ReducedState:
        """The state after a step in x, or one where f was only lowered in y."""
        units, direction = self._units, self._find_direction(state)
        search = StepSearch(state.x, state.gradient, direction, self._term, units, _OVERSHOOT)
        if search.slope == 0.0 and norm(direction) == 0.0:
            lowered, evaluation, _ = self._descend_in_y(state, state.x, None)
            stuck = count_stuck(state.stuck, lowered.gain == 0.0)
            pairs = Pairs() if stuck else state.pairs  # which may have made the step so short
            return self._judge(lowered._replace(stuck=stuck, pairs=pairs), evaluation)
        expected_gain = -0.5 * search.slope
        if state.gain > _MOST_LEFT * expected_gain:
            ratio = _TIGHTEN * state.inner_tolerance_ratio
            allowed = None if math.isinf(state.gain) else ratio * expected_gain
            lowered, evaluation, _ = self._descend_in_y(state, state.x, allowed)
            return self._judge(lowered._replace(inner_tolerance_ratio=ratio, stuck=state.stuck + 1), evaluation)
        moved, evaluation, found = self._move_x(state, search, state.inner_tolerance_ratio * expected_gain)
        if found and not is_same_point(units * state.x, units * moved.x, evaluation.rounding.eps):
            return self._judge(moved, evaluation)
        # An inaccurate y, or bad pairs, can look like rounding. Rule them out first: tighten y, drop the pairs.
        stuck, ratio = state.stuck + 1, _TIGHTEN_WHEN_STUCK * state.inner_tolerance_ratio
        moved = moved._replace(stuck=stuck, inner_tolerance_ratio=ratio, pairs=Pairs(), gain=math.inf)
        return self._judge(moved, evaluation)

    def _find_direction(self, state: ReducedState) -> Vector:
        """The step to try: in the problem's units, in which the pairs are, and then in those of x."""
        assert state.gradient is not None
        constants, pairs, units = self._constants, state.pairs, self._units
        L = constants.L_x if constants is not None and isinstance(units, float) else math.inf
        x, gradient = units * state.x, state.gradient * (1.0 / units)
        if self._term is not None:
            direction = find_proximal_step(self._term, x, gradient, pairs, L, state.flat_length, units)
        elif pairs.number:
            direction = -inverse_times(pairs, gradient)
        else:
            direction = first_step(gradient, x, L) if norm(gradient) > 0.0 else gradient
        if pairs.number:
            direction = limit_length(direction, MOST_GROWTH * norm(pairs.rows[0][-1]))
        if self._term is None and state.flat_length > 0.0 and norm(direction) > 0.0:
            direction = grow_where_flat(direction, state.flat_length)
        return direction * (1.0 / units)

    def _descend_in_y(
        self, state: ReducedState, x: Vector, allowed: float | None, *, retries: bool = False
    ) -> tuple[ReducedState, Evaluation, bool]:
        """The state at x after f was lowered in y, the evaluation there, and whether f is finite.

        ``retries``: the last x was rejected, so y starts from where it was before that.
        """
        problem, task = self._problem, self.make_task(allowed=allowed, retries=retries)
        y, evaluation = problem.fix(x).run_on_parts(task, state.y)
        if any(map(attrgetter("outside_domain"), y)):
            return state._replace(x=x, y=y), evaluation, False
        watch = state.watch
        if self._is_watched:
            value = evaluation.value_without_terms if self._has_value else math.nan
            weights = problem.part_weights or (1.0,)
            watch = watch.visit(evaluation, value, y, weights, largest_curvatures(state.pairs, y))
        gain, calls = max(map(attrgetter("gain"), y)), state.calls + 1
        new = state._replace(x=x, gradient=evaluation.grad_x, y=y, gain=gain, calls=calls, watch=watch)
        return new, evaluation, True

    def _move_x(self, state: ReducedState, search: StepSearch, allowed: float) -> tuple[ReducedState, Evaluation, bool]:
        """The state after the step, the evaluation there, and whether the step is good enough."""
        term, units, lowest, retries = self._term, self._units, state.watch.lowest_value, False
        start, gradient, kept = search.start, search.gradient, None if term is None else _KEPT_PAIRS_WITH_TERM
        while True:
            state, evaluation, is_inside = self._descend_in_y(state, search.v, allowed, retries=retries)
            is_short = search.measure(state.gradient if is_inside else math.nan * gradient)
            step, change = units * search.step, search.change * (1.0 / units)
            size, least = dot(step, step), state.min_curvature_seen
            if search.product > 0.0 and size > 0.0:
                least = min(least, search.product / size)
            pairs = remember(state.pairs, step, change, kept)
            is_flat = is_inside and pairs is state.pairs and state.watch.is_flat(norm(change), norm(gradient))
            is_too_high = is_inside and not math.isinf(lowest) and _rises(lowest, evaluation.value)
            is_enough = is_short or (is_inside and term is None and evaluation.grad_x_norm == 0.0)
            found, watch, stuck = is_enough and not is_too_high, state.watch, state.stuck
            if found:
                watch, stuck = watch.accept(norm(search.v - start), norm(search.change), evaluation.grad_x_norm), 0
            elif not is_inside:
                watch = watch.leave(norm(search.v - start))
            length = norm(step) if is_flat else 0.0
            state = state._replace(pairs=pairs, min_curvature_seen=least, flat_length=length, watch=watch, stuck=stuck)
            if found or not search.shorten():
                break
            retries = True
        if not is_inside or (not found and (self._may_explode or is_too_high)):
            state, evaluation, is_inside = self._descend_in_y(state, start, None, retries=True)
            if not is_inside:
                raise NonFiniteError(explain_nonfinite(evaluation))
        return state, evaluation, found

    def _judge(self, state: ReducedState, evaluation: Evaluation) -> ReducedState:
        """The state with its candidate and bound; BAM takes over here if progress is too slow."""
        problem, constants, watch, estimate = self._problem, self._constants, state.watch, state.estimate
        secant_point = None if constants is None else check_constants(problem, evaluation, state.secant_point)
        bound = problem.certify(evaluation, self._target.tol or math.inf)
        value, not_convex, reason = evaluation.value_on_the_way, "", ""
        is_unknown = math.isinf(bound.value)
        if constants is None or is_unknown:
            curvatures = largest_curvatures(state.pairs, state.y)
            seen = evaluation.value if self._has_value and constants is None else math.nan
            sizes = evaluation.grad_x_norm, evaluation.grad_y_norm
            sizes = find_sizes(evaluation, curvatures) if self._has_terms else sizes
            watch = watch.judge(evaluation, sizes, seen, curvatures)
        exhausted = is_exhausted(state.stuck, self._most_stuck)
        exhausted = exhausted or (constants is None and is_exhausted(watch.at_rounding_level))
        if is_unknown:
            estimate = estimate.add(state.estimate_gap(evaluation))
            if exhausted or has_clearly_fallen(watch.sizes[0], watch.largest_gradients[0]):
                bound = estimate.to_bound(exhausted)
        if self._is_watched:
            not_convex = watch.evidence
            reason = watch.find_reason(evaluation, seen, exhausted)
            value = seen if self._has_value else None
        x, y, size = state.x, evaluation.y, evaluation.gradient_size
        candidate = Candidate(
            x, y, bound, exhausted, gradient_size=size, not_convex=not_convex, reason=reason, value=value
        )
        best = candidate if bound.value <= state.best.bound.value else state.best
        first = bound.value if math.isinf(state.first_bound) else state.first_bound
        state = state._replace(
            secant_point=secant_point, watch=watch, estimate=estimate, candidate=candidate, best=best, first_bound=first
        )
        if constants is None or not is_behind(constants, state.calls, first, best.bound.value):
            return state
        note = f"BAM took over after {state.calls} calls of the outer gradient, as progress was too slow"
        guard = Bam().init(problem, best.x, evaluation.y)  # federated clients keep only the newest y
        return state._replace(guard=guard, candidate=best._replace(note=note))


def _rises(old: float, new: float) -> bool:
    """Whether f rises by more than rounding errors explain."""
    return new - old > VALUE_PRECISION * (abs(old) + abs(new))
