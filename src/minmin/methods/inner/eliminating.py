"""Minimisation over several blocks one inside the other, for the reduced methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minmin.core.arrays import Array
from minmin.core.problem import Problem, YTask, evaluate_outside
from minmin.core.vectors import norm
from minmin.methods.inner.curved import LbfgsSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint
from minmin.numerics.lbfgs import Pairs

if TYPE_CHECKING:
    from minmin.methods.inner.partial_minimum import YMemory


class _OuterBlock(InnerGoal):
    """The outer block v of y ↦ min over the blocks inside of f(x, y), by the same rule as all of y."""

    def __init__(self, whole: InnerGoal, nested: Problem, task: YTask, inside: YMemory):
        constants = None if nested.constants is None else nested.constants.swapped()
        start = whole.start[: nested.d_x]
        super().__init__(whole.slice, start, whole.rule, constants, largest_gradient=whole.largest_gradient)
        self._nested, self._task = nested, task
        self.inside = inside

    def at(self, v: Array) -> InnerPoint:
        self.gradients += 1
        (self.inside,), evaluation = self._nested.fix(v).run_on_parts(self._task, (self.inside,))
        point = InnerPoint(v, evaluation, evaluation.grad_x, norm(evaluation.grad_x))
        return point._replace(solved=self.rule.is_met(self, point))

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Keep the curvature if it is positive: the blocks inside are minimised inexactly, so it may be wrong."""
        if product > 0.0:
            self.rule.learn(self, new, product, size)


def eliminate(whole: InnerGoal, nested: Problem, task: YTask, before: YMemory) -> tuple[InnerPoint, Pairs, YMemory]:
    """Minimise over the outer block of y by L-BFGS, and over the blocks inside it at every point, by a task.

    Returns the point in all of y, the pairs of the outer block, and the memory of the blocks inside.
    """
    inside = task.begin(whole.start[nested.d_x :]) if before.inside is None else before.inside
    outer = _OuterBlock(whole, nested, task, inside)
    point, pairs = LbfgsSolver().solve(outer, before.solver)
    whole.largest_gradient = outer.largest_gradient
    return whole.judge(evaluate_outside(whole.slice, point.evaluation)), pairs, outer.inside
