"""The steps of BAM: the halves that move x and y, and the inner problem, by an inner solver or by BAM again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation, EvaluationOfSum
from minmin.core.problem import Problem, Slice, YTask, evaluate_outside
from minmin.core.regularized import Regularized
from minmin.core.term import Term
from minmin.core.vectors import Vector
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better, count_failures
from minmin.methods.inner.katyusha import KatyushaMemory
from minmin.methods.inner.rules import ProximalCondition, make_proximal_goal
from minmin.methods.inner.solvers import INNER_SOLVERS
from minmin.methods.theory import BlockParameters, block_parameters
from minmin.methods.triple_momentum import look_ahead, take_step, triple_parameters
from minmin.numerics.lbfgs import Pairs


class XState(NamedTuple):
    """x^k and x̄^k; with triple momentum ξ_x^k and ξ_x^{k-1}."""

    x: Vector
    x_bar: Vector


class NestedMemory(NamedTuple):
    """What is kept between two inner solves by BAM: the innermost solver's memory, and the largest ∇ᵧ there so far."""

    solver: Any
    largest_gradient: float


class YState(NamedTuple):
    """The state of one part of y.

    Attributes
    ----------
    y, y_bar : arrays
        y^k and ȳ^k; with triple momentum ξ_y^k and ξ_y^{k-1}.
    offset : array
        ȳ^k - y_under^k: the start of the next inner solve, relative to its centre.
    solver : any
        The inner solver's memory.
    failures : int
        How many times in a row the inner solver failed.
    largest_gradient : float
        The largest ∇ᵧf seen so far.
    """

    y: Array
    y_bar: Array
    offset: Array
    solver: Any
    failures: int
    largest_gradient: float


def extrapolate(p: BlockParameters, point: Vector, bar: Vector) -> Vector:
    """x_under = αx + (1-α)x̄, and the same for y."""
    return p.alpha * point + (1.0 - p.alpha) * bar


def find_under(scheme: str, constants: Constants, point: Vector, bar: Vector) -> Vector:
    """The centre of the next step in one block, in either scheme."""
    if scheme == "nesterov":
        return extrapolate(block_parameters(constants), point, bar)
    return look_ahead(triple_parameters(constants), point, bar)


@dataclass(frozen=True)
class YHalf(YTask):
    """The half of a step that moves one part of y.

    Its evaluation is at (x_under, ȳ) and holds ∇ₓf there, which the other half needs.
    """

    name: ClassVar[str] = "bam"
    memory_types: ClassVar[tuple[type, ...]] = (YState, NestedMemory, Pairs, KatyushaMemory)
    never_negative: ClassVar[tuple[str, ...]] = ("failures",)
    inner: str
    constants: Constants
    scheme: str = "nesterov"
    seed: int = 0

    def begin(self, y: Array) -> YState:
        return YState(y, y, 0.0 * y, INNER_SOLVERS[self.inner].init(y, self.seed), 0, 0.0)

    def run(self, part: Slice, state: YState) -> tuple[YState, Evaluation]:
        p = block_parameters(self.constants) if self.scheme == "nesterov" else triple_parameters(self.constants)
        y_under = find_under(self.scheme, self.constants, state.y, state.y_bar)
        goal = make_proximal_goal(part, y_under, state.offset, p, largest_gradient=state.largest_gradient)
        nested = part.nested
        if nested is None or nested.constants is None:
            found, memory = INNER_SOLVERS[self.inner].solve(goal, state.solver)
        else:
            found, memory = solve_nested(goal, nested, self.inner, state.solver)
        point, grad_y = goal.finish(found)
        new = YState(
            *self._move(state, point.v, grad_y),
            offset=point.v - y_under,
            solver=memory,
            failures=count_failures(found, state.failures),
            largest_gradient=max(state.largest_gradient, point.evaluation.grad_y_norm),
        )
        return new, point.evaluation

    def _move(self, state: YState, end: Array, grad_y: Array) -> tuple[Array, Array]:
        """The next y and ȳ of the state, from the end of the inner solve."""
        if self.scheme == "nesterov":
            return y_half(block_parameters(self.constants), state.y, end, grad_y), end
        p = triple_parameters(self.constants)
        return take_step(p, p.step_y, state.y, state.y_bar, grad_y), state.y


def y_half(p: BlockParameters, y: Array, y_bar: Array, grad_y: Array) -> Array:
    """y⁺ = y + α(ȳ - y⁺) - η_y ∇ᵧf, solved for y⁺."""
    return (y + p.alpha * y_bar - p.eta_y * grad_y) * (1.0 / (1.0 + p.alpha))


def x_half(p: BlockParameters, x_under: Vector, state: XState, grad_x: Vector, term: Term | None = None) -> XState:
    """The half of a step that moves x, from ∇ₓf(x_under, ȳ).

    With a term, x̄ is a proximal gradient step, and (x_under - x̄)/(η_x α) takes the place of ∇ₓf.
    """
    step = p.eta_x * p.alpha
    x_bar = x_under - step * grad_x
    if term is not None:
        x_bar = term.prox(x_bar, step)
        grad_x = (x_under - x_bar) * (1.0 / step)
    # x⁺ = x + α(x_under - x⁺) - η_x ∇ₓf, solved for x⁺
    x = (state.x + p.alpha * x_under - p.eta_x * grad_x) * (1.0 / (1.0 + p.alpha))
    return XState(x, x_bar)


def solve_nested(goal: InnerGoal, nested: Problem, inner: str, memory: Any) -> tuple[InnerPoint, NestedMemory]:
    """Solve the inner problem of BAM by BAM, if y holds several blocks.

    A(v) is strongly convex and smooth in each of them. With λ = 1/((κ_x)μ) and the same μ in all blocks of y, block i
    has the condition number (κ_i + κ_x)/(1 + κ_x) in A. By Theorem 2.2 a solve takes the square root of that, times a
    logarithm, calls of block i's gradient. So over the whole run block i takes O(max(√κ_x, √κ_i) log 1/ε) of them, up
    to logarithms, and the blocks inside it do not matter. The condition is checked where BAM knows all gradients.

    Parameters
    ----------
    goal : InnerGoal
    nested : Problem
        f(x_under, ·) as a problem of two blocks, with constants.
    inner : str
        The inner solver of the innermost block.
    memory : NestedMemory
        Of the solve before; anything else starts afresh.
    """
    size = nested.d_x
    center, shift = goal.center, goal.shift
    assert center is not None
    assert isinstance(goal.rule, ProximalCondition)
    problem = Regularized(nested, (center[:size], center[size:]), (shift, shift))
    constants = problem.constants
    assert constants is not None
    p = block_parameters(constants)
    half = YHalf(inner, constants)
    most_steps = goal.rule.most_steps(goal, 1.0 / math.log1p(p.alpha))

    def descend(start: Array) -> InnerPoint:
        nonlocal memory
        x = XState(start[:size], start[:size])
        y = half.begin(start[size:])
        if isinstance(memory, NestedMemory):
            y = y._replace(solver=memory.solver, largest_gradient=memory.largest_gradient)
        best = None
        for _ in range(most_steps):
            x_under = extrapolate(p, *x)
            (y,), evaluation = problem.fix(x_under).run_on_parts(half, (y,))
            assert isinstance(evaluation, EvaluationOfSum)
            point = goal.judge(evaluate_outside(goal.slice, evaluation.original))
            best = point if best is None else choose_better(best, point)
            if best.solved:
                break
            x = x_half(p, x_under, x, evaluation.grad_x)
        memory = NestedMemory(y.solver, y.largest_gradient)
        assert best is not None
        return best

    point = descend(goal.start)
    if not point.solved:
        point = choose_better(point, descend(center))
    return point, memory
