"""Accelerated alternating minimisation: minimise over y, then over x, from extrapolated points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.bound import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import Reached, find_gap
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, parts_of, square
from minmin.lab.direct_blocks import DirectBlocks, factorize_blocks, has_direct_blocks
from minmin.methods.base import Candidate, Method, require_flag
from minmin.methods.inner.partial_minimum import SolveY, YMemory
from minmin.methods.needs import KNOWN_CONSTANTS, Feature, Need, require_constants
from minmin.methods.proximal_step import take_proximal_step
from minmin.methods.secants import SecantPoint, check_constants, check_curvature
from minmin.methods.theory import is_behind, theory_patience
from minmin.numerics.dense import DENSE_UP_TO

_PATIENCE_FACTOR = 4
"""The patience in units of theory's where the momentum adapts: two until the guard takes over, one for it to halve the
bound, and one as a margin, as in reduced-lbfgs."""
_GUARDED = "alternating took the momentum that its constants prove"


class Extrapolation(NamedTuple):
    """Where alternating minimisation goes next: with Nesterov's constant momentum, or with FISTA's.

    Attributes
    ----------
    x_under : vector
        Where F is evaluated next.
    v : vector
        The momentum point of Nesterov's method.
    t : float
        The number t of FISTA; 0 where the momentum is constant.
    """

    x_under: Vector
    v: Vector
    t: float

    def go_on(self, m: float, x_bar: Vector, step: Vector) -> Extrapolation:
        """Nesterov's constant momentum for an m-strongly convex F; ``step`` is a gradient step from x_under."""
        alpha = math.sqrt(m)
        v = (1.0 - alpha) * self.v + alpha * self.x_under + (alpha / m) * step
        return Extrapolation((x_bar + alpha * v) * (1.0 / (1.0 + alpha)), v, 0.0)

    def adapt(self, x_before: Vector, x_bar: Vector, gradient: Vector) -> Extrapolation:
        """FISTA's momentum, which starts again where ∇F at x_under shows that F rises along the last move."""
        move = x_bar - x_before
        if dot(gradient, move) > 0.0:
            return begin(x_bar, adapts=True)
        t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.t * self.t))
        return Extrapolation(x_bar + ((self.t - 1.0) / t) * move, x_bar, t)


def begin(x: Vector, *, adapts: bool) -> Extrapolation:
    """No momentum yet, from x."""
    return Extrapolation(x, x, 1.0 if adapts else 0.0)


class AlternatingState(NamedTuple):
    """The state between two iterations.

    Attributes
    ----------
    ahead : Extrapolation
    x : YMemory
        That of a minimisation over x.
    y : tuple of YMemory
        One for every part of y.
    direct : DirectBlocks or None
        For direct solves; None if the Hessian is not constant, or too large.
    steps : int
        Iterations so far.
    first_bound, best_bound : float
        The first and the least bound of the run.
    candidate : Candidate
        Its x is x̄.
    secant_point : SecantPoint or None
        The newest point with both gradients.
    """

    ahead: Extrapolation
    x: YMemory
    y: tuple[YMemory, ...]
    direct: DirectBlocks | None
    steps: int
    first_bound: float
    best_bound: float
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class Alternating(Method):
    """Alternating minimisation over the two blocks, accelerated.

    Problem: min f(x, y), f being (L_x, L_y)-smooth and (μ_x, μ_y)-strongly convex, where f can be minimised over either
    block exactly, or nearly.

    Algorithm, with α = √m::

        ȳ = argmin_y f(x_under, y),  x̄⁺ = argmin_x f(x, ȳ)
        v⁺ = (1 - α)v + αx_under - (α/m) B⁻¹∇ₓf(x_under, ȳ)
        x_under⁺ = (x̄⁺ + αv⁺)/(1 + α)

    It is Nesterov's method on F(x) = min_y f(x, y) in the norm of B; a minimisation over x replaces the gradient step.
    If the Hessian is constant, B = H_xx and m = 1 - ρ², ρ being the largest singular value of H_xx^{-½} H_xy H_yy^{-½}.
    With at most 1000 variables per block it is factorised once, and minimisations are direct solves. With terms,
    minimisations include them, and B⁻¹∇ₓf is that of a proximal gradient step. Other blocks are
    minimised by Newton's method if there is a Hessian of the block, else by L-BFGS, until the gradient is as small as
    its rounding error. There B = L_x I and m = μ_x/L_x are often pessimistic. So the momentum is first that of FISTA,
    which needs no m, with a restart where <∇F(x_under), x̄⁺ - x̄> > 0. Once that has taken twice the iterations that BAM
    would need, the momentum above takes over. Minimisations count in ``r.calls["min_x"]`` and ``r.calls["min_y"]``.

    Guarantee, if minimisations are exact: F is 1-smooth and m-strongly convex in the norm of B. Nesterov's proof needs
    of the step only F(x̄⁺) <= F(x_under) - ½<∇F, B⁻¹∇F>, which holds since F <= f(·, ȳ). So
    F(x̄ᵏ) - F* <= (1 - √m)ᵏ · 2(F(x⁰) - F*), counted from where the momentum of the algorithm takes over. With a
    constant Hessian, plain alternation is gradient descent on F in the same norm, and its F - F* falls by the factor
    ρ⁴ = (1 - m)² per iteration at worst: the minimisations grow like 1/(1 - ρ²) instead of 1/√(1 - ρ²).

    Reference: Diakonikolas and Orecchia, "Alternating randomized block coordinate descent", arXiv:1805.09185: AAR-BCD
    with two blocks, here with the constant momentum for strongly convex functions of Nesterov, "Lectures on convex
    optimization" (2018), scheme 2.2.19. Variants for more blocks: Guminov, Dvurechensky, Tupitsa and Gasnikov, "On a
    combination of alternating minimization and Nesterov's momentum", arXiv:1906.03622; Tupitsa, Dvurechensky, Gasnikov
    and Guminov, "Alternating minimization methods for strongly convex optimization", arXiv:1911.08987. The restarts are
    those of O'Donoghue and Candès, "Adaptive restart for accelerated gradient schemes" (2015).

    Parameters
    ----------
    accelerated : bool
        Whether to extrapolate x between minimisations; False is plain alternation.
    """

    name: ClassVar[str] = "alternating"
    takes_terms: ClassVar[bool] = True
    state_types: ClassVar[tuple[type, ...]] = (
        AlternatingState,
        Extrapolation,
        *SolveY.memory_types,
        DirectBlocks,
        SecantPoint,
    )
    accelerated: bool = True

    def __post_init__(self) -> None:
        require_flag("accelerated", self.accelerated)

    @property
    def needs(self) -> frozenset[Need]:
        return KNOWN_CONSTANTS

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {Feature.REMOTE: "clients keep their y"}

    def init(self, problem: Problem, x: Vector, y: Vector) -> AlternatingState:
        constants = require_constants(self.name, problem)
        task = _make_task(problem, constants)
        direct = factorize_blocks(problem) if has_direct_blocks(problem) else None
        return AlternatingState(
            ahead=begin(x, adapts=direct is None),
            x=_make_task(problem.swapped(), constants.swapped()).begin(x),
            y=tuple(task.begin(part) for part in parts_of(y)),
            direct=direct,
            steps=0,
            first_bound=math.inf,
            best_bound=math.inf,
            candidate=Candidate(x, y),
            secant_point=None,
        )

    def step(self, problem: Problem, state: AlternatingState) -> AlternatingState:
        constants, direct = require_constants(self.name, problem), state.direct
        if direct is not None:  # steps by direct solves show too little of the curvature to check constants
            check_curvature(constants, False, *direct.range_x)
            check_curvature(constants, True, *direct.range_y)
        y, evaluation = _minimize_y(problem, constants, state)
        problem.tally.add("min_y")
        grad_x = evaluation.grad_x
        if problem.has_terms:
            x, slack = _minimize_x_with_terms(problem, constants, evaluation, state.x)
            reached = take_proximal_step(problem.term_x, evaluation.x, grad_x, 1.0 / constants.L_x)
            step = reached - evaluation.x
            grad_x = -constants.L_x * step
            bound = problem.bound_with_terms(evaluation, Reached(reached, constants.L_x)).lower(-slack)
        elif direct is None:
            x, gained = _minimize_x(problem, constants, evaluation, state.x)
            step = (-1.0 / constants.L_x) * grad_x
            bound = problem.bound(evaluation).lower(gained)
        else:
            step, gained = -direct.solve_x(grad_x), square(evaluation.grad_x_norm) / (2.0 * constants.L_x)
            x = state.x._replace(y=evaluation.x + step)
            bound = problem.bound(evaluation).lower(gained)
        problem.tally.add("min_x")
        new = state._replace(
            x=x,
            y=y,
            steps=state.steps + 1,
            first_bound=min(state.first_bound, bound.value) if state.steps == 0 else state.first_bound,
            best_bound=min(state.best_bound, bound.value),
            candidate=Candidate(
                x.y,
                evaluation.y,
                bound,
                note=state.candidate.note,
                gradient_size=evaluation.gradient_size,
                measured_before=True,
            ),
            secant_point=check_constants(problem, evaluation, state.secant_point),
        )
        if not self.accelerated:
            return new._replace(ahead=begin(x.y, adapts=False))
        if state.ahead.t == 0.0:
            return new._replace(ahead=state.ahead.go_on(find_convexity(constants, direct), x.y, step))
        if is_behind(constants, new.steps, new.first_bound, new.best_bound):
            return new._replace(ahead=begin(x.y, adapts=False), candidate=new.candidate._replace(note=_GUARDED))
        return new._replace(ahead=state.ahead.adapt(state.candidate.x, x.y, grad_x))

    def patience(self, problem: Problem) -> int:
        constants = require_constants(self.name, problem)
        m = find_convexity(constants, None)
        patience = theory_patience(math.sqrt(m) if self.accelerated else m, max(constants.kappa_x, constants.kappa_y))
        return patience if has_direct_blocks(problem) else _PATIENCE_FACTOR * patience


def find_convexity(constants: Constants, direct: DirectBlocks | None) -> float:
    """m: a lower bound of the strong convexity of F in the norm of B."""
    by_constants = constants.mu_x / constants.L_x
    return by_constants if direct is None else max(direct.convexity, by_constants)


def _minimize_y(
    problem: Problem, constants: Constants, state: AlternatingState
) -> tuple[tuple[YMemory, ...], Evaluation]:
    """Minimise over y at x_under. The parts of y, and the evaluation there."""
    slice_ = problem.fix(state.ahead.x_under)
    if state.direct is None:
        return slice_.run_on_parts(_make_task(problem, constants), state.y)
    (memory,) = state.y
    y = memory.y - state.direct.solve_y(slice_.at(memory.y).grad_y)
    return (memory._replace(y=y),), slice_.at(y)


def _minimize_x(
    problem: Problem, constants: Constants, evaluation: Evaluation, memory: YMemory
) -> tuple[YMemory, float]:
    """Minimise over x from an evaluation. The new x, and a lower bound of the decrease of f, by strong convexity."""
    new, end = _lower_in_x(problem, constants, evaluation, memory)
    step = evaluation.x - new.y
    return new, max(dot(end.grad_y, step) + 0.5 * constants.mu_x * dot(step, step), 0.0)


def _minimize_x_with_terms(
    problem: Problem, constants: Constants, evaluation: Evaluation, memory: YMemory
) -> tuple[YMemory, float]:
    """Minimise over x from an evaluation. The new x, and how far above the minimum over x it may still be."""
    new, end = _lower_in_x(problem, constants, evaluation, memory)
    return new, find_gap(problem.term_x, new.y, end.grad_y, constants.mu_x, eps=end.rounding.eps).value


def _lower_in_x(
    problem: Problem, constants: Constants, evaluation: Evaluation, memory: YMemory
) -> tuple[YMemory, Evaluation]:
    swapped = problem.swapped()
    return _make_task(swapped, constants.swapped()).run(swapped.fix(evaluation.y), memory._replace(y=evaluation.x))


def _make_task(problem: Problem, constants: Constants) -> SolveY:
    """The task that minimises over y: by Newton's method if there are y-Hessians, small and no sums of products."""
    largest = max(problem.part_sizes or (problem.d_y,))
    is_at_hand = problem.has_y_hessian and problem.is_second_order
    inner = "newton" if is_at_hand and largest <= DENSE_UP_TO else "lbfgs"
    return SolveY(inner, 0.0, constants)
