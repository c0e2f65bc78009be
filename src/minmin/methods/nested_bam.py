"""The inner problem of BAM by BAM itself, if y holds several blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minmin.core.arrays import Array
from minmin.core.problem import Problem, evaluate_outside
from minmin.core.regularized import Regularized
from minmin.core.wrapped import WrappedEvaluation
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.theory import block_parameters

if TYPE_CHECKING:
    from minmin.methods.bam_steps import YHalf, YState


def solve_nested(goal: InnerGoal, nested: Problem, half: YHalf, before: Any) -> tuple[InnerPoint, YState]:
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
    half : YHalf
        The half of BAM's step that moves all of y.
    before : YState
        The innermost block where the solve before ended; anything else starts afresh.
    """
    size, center, rule = nested.d_x, goal.center, goal.rule
    assert center is not None
    assert isinstance(rule, ProximalCondition)
    problem = Regularized(nested, (center[:size], center[size:]), (goal.shift, goal.shift))
    assert problem.constants is not None
    half = replace(half, constants=problem.constants, scheme="nesterov")
    p = block_parameters(half.constants)
    most_steps = rule.most_steps(goal, 1.0 / math.log1p(p.alpha))

    def descend(start: Array, before: Any) -> tuple[InnerPoint, YState]:
        x, x_bar, y, best = start[:size], start[:size], half.begin(start[size:]), None
        if isinstance(before, type(y)):
            y = y._replace(solver=before.solver, largest_gradient=before.largest_gradient)
        for _ in range(most_steps):
            x_under = p.extrapolate(x, x_bar)
            (y,), evaluation = problem.fix(x_under).run_on_parts(half, (y,))
            assert isinstance(evaluation, WrappedEvaluation)
            point = goal.judge(evaluate_outside(goal.slice, evaluation.original))
            best = point if best is None else choose_better(best, point)
            if best.solved:
                break
            x, x_bar, _ = p.x_half((x, x_bar), x_under, evaluation.grad_x, problem.term_x)
        assert best is not None
        return best, y

    point, y = descend(goal.start, before)
    if not point.solved:
        other, y = descend(center, y)
        point = choose_better(point, other)
    return point, y
