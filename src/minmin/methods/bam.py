"""BAM, the Block Accelerated Method (Algorithm 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.constants import BlockParameters, Constants, block_parameters
from minmin.methods.base import (
    Answer,
    Method,
    require_ability,
    require_choice,
    require_constants,
    theory_patience,
)
from minmin.methods.inner import INNER_SOLVERS, Subproblem
from minmin.methods.watch import Seen, watched
from minmin.oracle import Evaluation, Problem, Slice, Work
from minmin.space import Array, Vector, parts_of, square

_FAILURES = 3
"""So many inner solves in a row past T_max, which exact arithmetic rules out, and rounding has won."""


_ILL_CONDITIONED = 20.0
"""Below this κ_x exchanging the blocks saves no calls of ∇ₓ: a step then costs two of them at least."""


class XState(NamedTuple):
    """x^k and x̄^k."""

    x: Vector
    x_bar: Vector


class YState(NamedTuple):
    """y^k, ȳ^k and the inner solver's memory, of one part of y.

    And how often in a row the inner solver failed, and the largest gradient seen so far.
    """

    y: Array
    y_bar: Array
    memory: Any
    failures: int
    largest_gradient: float


class BamState(NamedTuple):
    """The halves of the iteration, the answer, and the newest gradients (none before the first step)."""

    x: XState
    y: tuple[YState, ...]
    answer: Answer
    seen: tuple[Seen, ...]


@dataclass(frozen=True)
class Bam(Method):
    """The Block Accelerated Method.

    Problem: min f(x, y), f being (L_x, L_y)-smooth and (μ_x, μ_y)-strongly convex.

    Algorithm: accelerated gradient in x; in y an accelerated proximal point method whose proximal
    steps are solved to condition (2). With an exact inner solve it is Nesterov's method on the partial
    Moreau envelope min_v f(x, v) + |v - y|²/(2λ).

    Guarantee (Theorem 2.2): Ψ^{k+1} <= Ψ^k/(1 + √(μ_x/L_x)), so O(√κ_x log 1/ε) calls of ∇ₓ, and of ∇ᵧ
    O(max(√κ_x, √κ_y) log 1/ε).

    Reference: Kovalev, Gasnikov, Malinovsky, "Optimal algorithm for min-min strongly convex optimization".

    Parameters
    ----------
    inner : {"lbfgs", "nag", "nag-ogmg", "newton"}
        Solves the inner problem.
    outer : {"x", "y", "auto"}
        The block that is moved once an iteration, the other being the inner one. Outer calls grow as √κ of
        the outer block, inner ones as the larger √κ of both, so "auto" takes y where κ_y is clearly the
        smaller, κ_x above 20, and no Hessian in x is wanted.
    """

    name: ClassVar[str] = "bam"
    inner: str = "lbfgs"
    outer: str = "x"

    def __post_init__(self) -> None:
        require_choice("inner", self.inner, INNER_SOLVERS)
        require_choice("outer", self.outer, ("x", "y", "auto"))

    def check(self, problem: Problem) -> None:
        require_constants(self.name, problem)
        require_ability(f"inner={self.inner!r}", self._oriented(problem), INNER_SOLVERS[self.inner].needs)

    def init(self, problem: Problem, x: Vector, y: Vector) -> BamState:
        outer, cheap = (x, y) if self.outer_block(problem) == "x" else (y, x)
        half = YHalf(self.inner, require_constants(self.name, problem))
        return BamState(
            XState(outer, outer),
            tuple(half.begin(part) for part in parts_of(cheap)),
            Answer(x, y, float("inf")),
            (),
        )

    def step(self, problem: Problem, state: BamState) -> BamState:
        oriented = self._oriented(problem)
        constants = oriented.constants
        assert constants is not None
        p = block_parameters(constants)
        x_under = extrapolate(p, state.x.x, state.x.x_bar)
        y_states, evaluation = oriented.fix(x_under).done(YHalf(self.inner, constants), state.y)
        x_state = x_half(p, x_under, state.x, evaluation.grad_x)
        seen = watched(evaluation, constants, state.seen)
        # Lemma 2.1 carries the bound from (x_under, ȳ) to (x̄, ȳ).
        gap_bound = oriented.gap_bound(evaluation) - square(evaluation.grad_x_norm) / (2.0 * constants.L_x)
        outer, cheap = x_state.x_bar, evaluation.y
        pair = (cheap, outer) if oriented is not problem else (outer, cheap)
        exhausted = any(y.failures >= _FAILURES for y in y_states)
        answer = Answer(*pair, gap_bound, oriented.gap_floor(evaluation), exhausted)
        return BamState(x_state, y_states, answer, seen)

    def patience(self, problem: Problem) -> int:
        constants = require_constants(self.name, self._oriented(problem))
        kappa = max(constants.kappa_x, constants.kappa_y)
        return theory_patience(block_parameters(constants).alpha, kappa)

    def outer_block(self, problem: Problem) -> str:
        """The block that is the outer one: as asked for, or as "auto" decides."""
        if self.outer != "auto":
            return self.outer
        constants = require_constants(self.name, problem)
        gradients_suffice = not INNER_SOLVERS[self.inner].needs
        worth_it = constants.kappa_x > max(_ILL_CONDITIONED, 2.0 * constants.kappa_y)
        return "y" if gradients_suffice and worth_it else "x"

    def _oriented(self, problem: Problem) -> Problem:
        return problem if self.outer_block(problem) == "x" else problem.swapped()


def extrapolate(p: BlockParameters, point: Vector, bar: Vector) -> Vector:
    """x_under = αx + (1-α)x̄, and the same for y."""
    return p.alpha * point + (1.0 - p.alpha) * bar


@dataclass(frozen=True)
class YHalf(Work):
    """The half of a step that sees only its slice and its own y.

    Its evaluation is at (x_under, ȳ) and holds ∇ₓf there for the other half.
    """

    inner: str
    constants: Constants

    def begin(self, y: Array) -> YState:
        return YState(y, y, INNER_SOLVERS[self.inner].init(y), 0, 0.0)

    def at(self, part: Slice, memory: YState) -> tuple[YState, Evaluation]:
        p, state = block_parameters(self.constants), memory
        y_under = extrapolate(p, state.y, state.y_bar)
        subproblem = Subproblem(part, y_under, p, state.largest_gradient)
        trial, kept = INNER_SOLVERS[self.inner].solve(subproblem, state.memory)
        y_bar, grad_y = trial.v, trial.evaluation.grad_y
        y = (state.y + p.alpha * y_bar - p.eta_y * grad_y) * (1.0 / (1.0 + p.alpha))
        failures = 0 if trial.accepted else state.failures + 1
        largest_gradient = max(state.largest_gradient, trial.evaluation.grad_y_norm)
        return YState(y, y_bar, kept, failures, largest_gradient), trial.evaluation


def x_half(p: BlockParameters, x_under: Vector, state: XState, grad_x: Vector) -> XState:
    """The half of a step that sees only x and ∇ₓf(x_under, ȳ)."""
    x_bar = x_under - (p.eta_x * p.alpha) * grad_x
    x = (state.x + p.alpha * x_under - p.eta_x * grad_x) * (1.0 / (1.0 + p.alpha))
    return XState(x, x_bar)
