"""Accelerated alternating minimisation: minimise over y, then over x, from extrapolated points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.counting import UNCOUNTED
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, YTask
from minmin.core.vectors import Vector, dot, parts_of, square
from minmin.errors import UnsupportedError
from minmin.methods.base import Candidate, Method, require_constants, require_flag
from minmin.methods.direct_blocks import DirectBlocks, factorize_blocks, has_direct_blocks
from minmin.methods.inner.accurate_minimum import AccurateMinimum
from minmin.methods.inner.solvers import INNER_SOLVERS
from minmin.methods.secants import SecantPoint, check_constants, check_curvature
from minmin.methods.theory import theory_patience
from minmin.numerics.dense import DENSE_UP_TO
from minmin.numerics.lbfgs import Pairs


class BlockMemory(NamedTuple):
    """A block or a part of it where its last minimisation ended, the solver's memory, and the largest gradient."""

    v: Array
    solver: Any
    largest_gradient: float


class AlternatingState(NamedTuple):
    """The state between two iterations.

    Attributes
    ----------
    v : vector
        The momentum point of Nesterov's method.
    x : BlockMemory
    y : tuple of BlockMemory
        One for every part of y.
    direct : DirectBlocks or None
        For direct solves; None if the Hessian is not constant, or too large.
    candidate : Candidate
        Its x is x̄.
    secant_point : SecantPoint or None
        The newest point with both gradients.
    """

    v: Vector
    x: BlockMemory
    y: tuple[BlockMemory, ...]
    direct: DirectBlocks | None
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class Alternating(Method):
    """Alternating minimisation over the two blocks, accelerated.

    Problem: min f(x, y), f being (L_x, L_y)-smooth and (μ_x, μ_y)-strongly convex, where f can be minimised over either
    block exactly, or nearly.

    Algorithm, with α = √m::

        x_under = (x̄ + αv)/(1 + α)
        ȳ = argmin_y f(x_under, y),  x̄⁺ = argmin_x f(x, ȳ)
        v⁺ = (1 - α)v + αx_under - (α/m) B⁻¹∇ₓf(x_under, ȳ)

    It is Nesterov's method on F(x) = min_y f(x, y) in the norm of B, whose gradient step is replaced by a minimisation
    over x. If the Hessian is constant, B = H_xx, and m = 1 - ρ² with ρ the largest singular value of
    H_xx^{-½} H_xy H_yy^{-½}. Otherwise B = L_x, m = μ_x/L_x. A constant Hessian of at most 1000 variables per block is
    factorised once, and its minimisations are direct solves. Other blocks are minimised by Newton's method if there
    is a Hessian of the block, else by L-BFGS, until the gradient is as small as its rounding error. Every minimisation
    over a block counts in ``r.calls["min_x"]`` or ``r.calls["min_y"]``.

    Guarantee, if minimisations are exact: F is 1-smooth and m-strongly convex in the norm of B. Nesterov's proof needs
    of the step only that F(x̄⁺) <= F(x_under) - ½<∇F, B⁻¹∇F> at x_under, which holds since F <= f(·, ȳ). So
    F(x̄ᵏ) - F* <= (1 - √m)ᵏ · 2(F(x⁰) - F*). Plain alternation is gradient descent on F in the same norm if the Hessian
    is constant: F - F* falls by the factor ρ⁴ = (1 - m)² per iteration at worst. So the minimisations grow like
    1/√(1 - ρ²) instead of 1/(1 - ρ²). With another Hessian m is often pessimistic, and plain alternation may be faster.

    Reference: Diakonikolas and Orecchia, "Alternating randomized block coordinate descent" (2018), AAR-BCD with two
    blocks, here with the constant momentum for strongly convex functions (Nesterov, "Lectures on convex optimization",
    2018, scheme 2.2.19). Guminov, Dvurechensky, Tupitsa and Gasnikov, "On a combination of alternating minimization and
    Nesterov's momentum" (2021), and Tupitsa et al., "Alternating minimization methods for strongly convex optimization"
    (2021), have variants with a line search, which need no constants of smoothness.

    Parameters
    ----------
    accelerated : bool
        Whether to extrapolate; otherwise this is plain alternation.
    """

    name: ClassVar[str] = "alternating"
    state_types: ClassVar[tuple[type, ...]] = (AlternatingState, BlockMemory, DirectBlocks, SecantPoint, Pairs)
    accelerated: bool = True

    def __post_init__(self) -> None:
        require_flag("accelerated", self.accelerated)

    def check(self, problem: Problem) -> None:
        require_constants(self.name, problem)
        if problem.y_is_remote:
            raise UnsupportedError(
                f"method {self.name!r} needs y to minimise over x, and in a federation y stays with the clients; "
                "method='bam' and method='reduced-lbfgs' run there"
            )

    def init(self, problem: Problem, x: Vector, y: Vector) -> AlternatingState:
        constants = require_constants(self.name, problem)
        task = MinimizeY(_choose_solver(problem), constants)
        return AlternatingState(
            v=x,
            x=MinimizeY(_choose_solver(problem.swapped()), constants.swapped()).begin(x),
            y=tuple(task.begin(part) for part in parts_of(y)),
            direct=factorize_blocks(problem) if has_direct_blocks(problem) else None,
            candidate=Candidate(x, y),
            secant_point=None,
        )

    def step(self, problem: Problem, state: AlternatingState) -> AlternatingState:
        constants, direct, x_bar = require_constants(self.name, problem), state.direct, state.candidate.x
        if direct is not None:  # steps by direct solves show too little of the curvature to check constants
            check_curvature(constants, False, *direct.range_x)
            check_curvature(constants, True, *direct.range_y)
        m = find_convexity(constants, direct)
        alpha = math.sqrt(m)
        x_under = (x_bar + alpha * state.v) * (1.0 / (1.0 + alpha)) if self.accelerated else x_bar
        y, evaluation = _minimize_y(problem, constants, x_under, state)
        problem.tally.add("min_y")
        grad_x = evaluation.grad_x
        if direct is None:
            x, gained = _minimize_x(problem, constants, evaluation, state.x)
            step = (-1.0 / constants.L_x) * grad_x
        else:
            step, gained = -direct.solve_x(grad_x), square(evaluation.grad_x_norm) / (2.0 * constants.L_x)
            x = state.x._replace(v=x_under + step)
        problem.tally.add("min_x")
        v = (1.0 - alpha) * state.v + alpha * x_under + (alpha / m) * step if self.accelerated else x.v
        return AlternatingState(
            v=v,
            x=x,
            y=y,
            direct=direct,
            candidate=Candidate(
                x.v,
                evaluation.y,
                problem.bound(evaluation).lower(gained),
                gradient_size=evaluation.gradient_size,
                measured_before=True,
            ),
            secant_point=check_constants(problem, evaluation, state.secant_point),
        )

    def patience(self, problem: Problem) -> int:
        constants = require_constants(self.name, problem)
        direct = factorize_blocks(problem.counted(UNCOUNTED)) if has_direct_blocks(problem) else None
        m = find_convexity(constants, direct)
        return theory_patience(math.sqrt(m) if self.accelerated else m, max(constants.kappa_x, constants.kappa_y))


def find_convexity(constants: Constants, direct: DirectBlocks | None) -> float:
    """m: a lower bound of the strong convexity of F in the norm of B."""
    by_constants = constants.mu_x / constants.L_x
    return by_constants if direct is None else max(direct.convexity, by_constants)


@dataclass(frozen=True)
class MinimizeY(YTask):
    """Minimise f over one part of y as exactly as rounding allows."""

    name: ClassVar[str] = "minimize-y"
    memory_types: ClassVar[tuple[type, ...]] = (BlockMemory, Pairs)
    inner: str
    constants: Constants

    def begin(self, y: Array) -> BlockMemory:
        return BlockMemory(y, INNER_SOLVERS[self.inner].init(y), 0.0)

    def run(self, part: Slice, memory: BlockMemory) -> tuple[BlockMemory, Evaluation]:
        objective = AccurateMinimum(part, memory.v, 0.0, self.constants, memory.largest_gradient)
        point, solver = INNER_SOLVERS[self.inner].solve(objective, memory.solver)
        return BlockMemory(point.v, solver, objective.largest_gradient), point.evaluation


def _choose_solver(problem: Problem) -> str:
    """The solver in y."""
    largest = max(problem.part_sizes or (problem.d_y,))
    return "newton" if problem.has_y_hessian and largest <= DENSE_UP_TO else "lbfgs"


def _minimize_y(
    problem: Problem, constants: Constants, x: Vector, state: AlternatingState
) -> tuple[tuple[BlockMemory, ...], Evaluation]:
    """Minimise over y at x. The parts of y, and the evaluation there."""
    slice_ = problem.fix(x)
    if state.direct is None:
        return slice_.run_on_parts(MinimizeY(_choose_solver(problem), constants), state.y)
    (memory,) = state.y
    y = memory.v - state.direct.solve_y(slice_.at(memory.v).grad_y)
    return (memory._replace(v=y),), slice_.at(y)


def _minimize_x(
    problem: Problem, constants: Constants, evaluation: Evaluation, memory: BlockMemory
) -> tuple[BlockMemory, float]:
    """Minimise over x from an evaluation. The new x, and a lower bound of the decrease of f, by strong convexity."""
    swapped = problem.swapped()
    task = MinimizeY(_choose_solver(swapped), constants.swapped())
    start = memory._replace(v=evaluation.x)
    new, end = task.run(swapped.fix(evaluation.y), start)
    step = evaluation.x - new.v
    return new, max(dot(end.grad_y, step) + 0.5 * constants.mu_x * dot(step, step), 0.0)
