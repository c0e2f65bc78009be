"""cutting-plane: a model of F(x) = min_y f(x, y) by cuts, for a small x; it needs neither L_x nor mu_x."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minmin.core.bound import VALUE_PRECISION, Grid, is_same_point, rounding_error
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, from_flat, machine_eps, norm, parts_of, to_flat
from minmin.errors import GRADIENT_MAY_BE_WRONG, ConstantsError, NonFiniteError, as_positive
from minmin.methods.base import Candidate, Method
from minmin.methods.cutting_state import DOUBLE_EPS, MARGIN, Ball, Cut, CuttingState, find_value_size, find_y_error
from minmin.methods.estimates import count_stuck, is_exhausted
from minmin.methods.inner.partial_minimum import DescendInY, YMemory
from minmin.methods.inner.solvers import find_solver, require_reduced_solver
from minmin.methods.needs import Feature, Need
from minmin.methods.secants import SecantPoint, check_constants
from minmin.numerics.central_path import find_path_point, find_reach, start_path

_KEPT_CUTS = 6
"""How many cuts are kept for every variable in x; the others are dropped. Measured: docs/benchmarks/tuning.md."""
_PULL = 1.0
"""The pull at the next x, in units of (d_x + 1)/gap. Measured: docs/benchmarks/tuning.md."""
_Y_SHARE, _MOST_Y_ERROR, _MOST_Y_SOLVES = 0.005, 0.02, 4
"""y is lowered until the gain that is left is estimated at the first fraction of the gap, and again, more exactly,
while what is proved of it is more than the second. Measured: docs/benchmarks/tuning.md."""
_PULL_FACTOR, _SHARP = 100.0, 10.0
"""For a bound, the pull grows by the first factor until the central path is within 1/10 of the gap from the model's
minimum. Measured: docs/benchmarks/tuning.md."""
_FIRST_RADIUS = 1.0
"""In units of |x|, or of 1 if that is larger, if nothing is known of the distance to a minimum."""
_NEAR_FLOOR, _MOST_STUCK = 2.0, 6
"""A run ends after so many iterations in a row in which f did not fall while the gap was near its rounding error, or x
did not move. Rounding errors are often smaller than expected, so the first such iteration need not be the last."""
_PATIENCE = 20
"""The bound must halve within this times d_x + 3 iterations. Measured: docs/benchmarks/tuning.md."""


@dataclass(frozen=True)
class CuttingPlane(Method):
    """Cutting planes on F(x) = min_y f(x, y), for d_x up to 200.

    Problem: min f(x, y), f convex with values, x short. Neither L_x nor mu_x is needed, and F may have kinks.

    Algorithm: at every x, an inner solver lowers f in y, to ỹ. By convexity, for all z and v,
    f(z, v) >= f(x, ỹ) + <∇ₓf, z - x> + <∇ᵧf, v - ỹ> + mu_y/2 |v - ỹ|². The least value over v of the last two terms is
    -|∇ᵧf|²/(2 mu_y) =: -δ, so F(z) >= f(x, ỹ) - δ + <∇ₓf, z - x>: a cut that holds although ỹ is not exact. A term in y
    is part of f there, and of δ. Without mu_y, δ is the estimated gain that is left in y. The next x is a point of the
    central path of the model, the largest of all cuts, on a ball around the start: with the gap g between the lowest f
    so far and the least value of the model, it minimises (d_x + 1)t/g - Σ log(t - cut_i(x)) - log(R² - |x - x0|²) over
    x and t. So it is an analytic centre of the region above the model. y is solved to a fraction of g. Above 6 d_x
    cuts, those with the least leverages in the Hessian of the barriers are dropped. An iteration takes one call of ∇ₓf.
    Where f is not finite, the next x is halfway to the best point.

    Guarantee: any weighted mean of the cuts bounds F on the ball from below, so the gap is proved at every iteration if
    a minimum lies in the ball, and mu_y is known. That the calls grow like d_x log(1/ε) is measured, not proved:
    Vaidya's volumetric centres have that guarantee, also with inexact cuts (the reference), and analytic centres with
    pruning have O(d_x log²(1/ε)) (Atkinson and Vaidya, 1995), but no theorem covers this variant. The calls do not grow
    with κ_x. The ball is that of ``radius``. Otherwise R starts at max(1, |x0|), and is doubled while the lowest point
    is beyond R/2. That the ball holds a minimum is proved once the cuts alone enclose all minima within it, see
    :func:`minmin.numerics.central_path.find_reach`, or once mu_x and mu_y prove a smaller one: a minimum is within
    √(|∇ₓf|² + |∇ᵧf|² mu_x/mu_y)/(2 mu_x) of x - ∇ₓf/(2 mu_x), and the ball around the best point that holds all of
    that is taken. Until then the bound is that of the gradients, if mu_x
    and mu_y are known, and else an estimate.

    Reference: Gladin, Sadiev, Gasnikov, Dvurechensky, Beznosikov and Alkousa, "Solving smooth min-min and min-max
    problems by mixed oracle algorithms", arXiv:2103.00434, who minimise F by Vaidya's method. Analytic centres: Goffin
    and Vial (1993); on the region above the model: Boyd, Vandenberghe and Skaf, "Analytic center cutting-plane method".

    Parameters
    ----------
    radius : float, optional
        The distance from the start within which x has a minimum; None if the run is to find one. The bound rests on it.
    inner : {"lbfgs", "newton", "nag"}, default "lbfgs"
        The solver in y. "newton" needs a y-Hessian, "nag" the constants.
    """

    name: ClassVar[str] = "cutting-plane"
    takes_terms: ClassVar[bool] = True
    state_types: ClassVar[tuple[type, ...]] = (CuttingState, Cut, Ball, Grid, SecantPoint, *DescendInY.memory_types)
    radius: float | None = None
    inner: str = "lbfgs"

    def __post_init__(self) -> None:
        if self.radius is not None:
            as_positive(self.radius, "radius", ": how far a minimum in x may be")
        require_reduced_solver(self.inner)

    @property
    def needs(self) -> frozenset[Need]:
        return find_solver(self.inner).needs | {Need.VALUES, Need.FEW_IN_X}

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {
            Feature.REMOTE: "clients keep the newest y alone",
            Feature.TERM_X: "a cut needs a subgradient, and a term has a proximal map instead",
        }

    def init(self, problem: Problem, x: Vector, y: Vector) -> CuttingState:
        task = DescendInY(self.inner, None, problem.constants, stateless=False)
        radius = _FIRST_RADIUS * max(norm(x), 1.0) if self.radius is None else float(self.radius)
        start = Candidate(x, y)
        parts = tuple(task.begin(part) for part in parts_of(y))
        return CuttingState(x, parts, Ball(x, radius, self.radius is not None), start, start)

    def step(self, problem: Problem, state: CuttingState) -> CuttingState:
        y, evaluation, y_error = self._descend_in_y(problem, state)
        if not math.isfinite(evaluation.value + evaluation.grad_x_norm + evaluation.grad_y_norm):
            if state.best.value is None:
                raise NonFiniteError(explain_nonfinite(evaluation))
            return state._replace(x=0.5 * (state.x + state.best.x))
        state = state._replace(grid=state.grid.add(evaluation.value))
        size = find_value_size(problem, evaluation)
        rounding = evaluation.rounding
        noise = state.grid.error(evaluation.value, size, max(rounding.eps, rounding.value_eps))
        slope_noise, _ = problem.gradient_noise(evaluation)
        not_convex = state.best.not_convex
        if problem.constants is None and state.best_gradients is not None and not problem.has_terms:
            not_convex = not_convex or state.find_tangent_above(evaluation)
        cut = Cut(evaluation.x, evaluation.grad_x, evaluation.value, y_error + noise, slope_noise)
        secant_point = check_constants(problem, evaluation, state.secant_point)
        state = state.add_cut(cut)._replace(y=y, secant_point=secant_point, size=max(size, state.size))
        if state.best.value is None or evaluation.value < state.best.value:
            bound, largest = problem.bound(evaluation), evaluation.gradient_size
            best = Candidate(evaluation.x, evaluation.y, bound, gradient_size=largest, value=evaluation.value)
            gradients = evaluation.grad_x, evaluation.grad_y
            state = state._replace(best=best, best_gradients=gradients, noise=noise, stuck=0)
        revokes = state.value_error > 0.0
        state = state._replace(best=state.best._replace(not_convex=not_convex, revokes=revokes))
        return self._move(problem, state.choose_ball(problem, evaluation))

    def _descend_in_y(self, problem: Problem, state: CuttingState) -> tuple[tuple[YMemory, ...], Evaluation, float]:
        """Lower f in y at the next x. The memories, the evaluation there, and δ."""
        slice_, memories = problem.fix(state.x), state.y
        allowed = None if math.isinf(state.gap) else _Y_SHARE * state.gap
        for _ in range(_MOST_Y_SOLVES):
            task = DescendInY(self.inner, allowed, problem.constants, stateless=False)
            memories, evaluation = slice_.run_on_parts(task, memories)
            error = find_y_error(problem, evaluation, memories)
            if allowed is None or not error > max(_MOST_Y_ERROR * state.gap, state.noise):
                break
            # The solver has stopped at the gain that it estimates, so it moves only if asked for less than that.
            left = min(allowed, max(part.gain for part in memories))
            allowed = min(0.1, 0.5 * _MOST_Y_ERROR * state.gap / error) * left
        return memories, evaluation, error

    def _move(self, problem: Problem, state: CuttingState) -> CuttingState:
        """The state with its next x, and with its bound."""
        model = state.make_model()
        best, size = state.best, problem.d_x
        assert best.value is not None
        by_one = model.offsets + model.slopes @ model.centre - model.radius * np.linalg.norm(model.slopes, axis=1)
        lower = max(state.lower - best.value, float(by_one.max()))
        noise = state.noise + rounding_error(DOUBLE_EPS, abs(best.value))
        floor = 2.0 * noise  # of the lowest f, and of the cut there
        gap = max(-lower, floor)
        if gap == 0.0:  # f and the gradient are exactly zero
            bound = state.choose_bound(problem, 0.0, 0.0)
            return state._replace(candidate=best._replace(bound=bound, exhausted=True))
        pull = _PULL * (size + 1.0) / gap
        u, level = start_path(model, to_flat(state.x) - to_flat(best.x), pull)
        point = find_path_point(model, pull, u, level)
        ball = state.ball
        if not ball.proved:
            reach = find_reach(model, point.u) + float(np.linalg.norm(point.u - model.centre))
            ball = ball._replace(proved=reach <= ball.radius)
        sharp = point
        lower = max(lower, model.bound_below(sharp.weights))
        while pull * max(-lower, floor) < _SHARP * (len(state.cuts) + 1):
            pull *= _PULL_FACTOR
            sharp = find_path_point(model, pull, sharp.u, sharp.level)
            lower = max(lower, model.bound_below(sharp.weights))
        if lower > noise:
            return self._doubt_cuts(problem, state, lower, noise)
        cuts = state.cuts
        if len(cuts) > _KEPT_CUTS * size:
            leverages = np.maximum(point.leverages, sharp.leverages)
            kept = np.sort(np.argsort(leverages, kind="stable")[-_KEPT_CUTS * size :])
            cuts = tuple(cuts[i] for i in kept)
        x = from_flat(to_flat(best.x) + point.u, state.x)
        is_stuck = -lower <= _NEAR_FLOOR * floor or is_same_point(state.x, x, machine_eps(x))
        stuck = count_stuck(state.stuck, is_stuck)
        state = state._replace(x=x, cuts=cuts, ball=ball, lower=best.value + lower, gap=max(-lower, floor), stuck=stuck)
        if not ball.proved:
            lower = model._replace(radius=MARGIN * ball.radius).bound_below(sharp.weights)
        bound = state.choose_bound(problem, max(-lower, 0.0) + noise, floor)
        exhausted, note = is_exhausted(stuck, _MOST_STUCK), state.explain_ball(self.radius)
        return state._replace(candidate=best._replace(bound=bound, exhausted=exhausted, note=note))

    def _doubt_cuts(self, problem: Problem, state: CuttingState, excess: float, noise: float) -> CuttingState:
        """The state where the cuts contradict a value of f: by ``excess`` they put all of F above it.

        If they rest on constants, these are wrong, unless f is computed in single precision. Otherwise δ was estimated
        too low, so the run begins again at the best point, with a more exact y.
        """
        best, constants = state.best, problem.constants
        if constants is not None and constants.mu_y > 0.0:
            if excess > max(noise, VALUE_PRECISION * state.size):
                raise ConstantsError(
                    f"this run saw f = {best.value:.10g}, {excess:.3g} below what mu_x = {constants.mu_x:g} and mu_y = "
                    f"{constants.mu_y:g} prove of the minimum; a constant or {GRADIENT_MAY_BE_WRONG}"
                )
            state = state._replace(value_error=max(state.value_error, excess))
            bound = state.choose_bound(problem, noise, 2.0 * noise)
            return state._replace(candidate=best._replace(bound=bound, exhausted=True, revokes=True))
        gap = min(state.gap, excess)
        return state._replace(x=best.x, cuts=(), lower=-math.inf, gap=gap, candidate=best)

    def patience(self, problem: Problem) -> int:
        return _PATIENCE * (problem.d_x + 3)
