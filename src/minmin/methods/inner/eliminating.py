"""Minimisation over several blocks one inside the other, for the reduced methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from minmin.core.arrays import Array
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, YTask, evaluate_outside
from minmin.core.vectors import norm
from minmin.methods.inner.curved import LbfgsSolver
from minmin.methods.inner.objective import InnerObjective, InnerPoint
from minmin.numerics.lbfgs import Pairs

if TYPE_CHECKING:
    from minmin.methods.inner.partial_minimum import PartialMinimum


class EliminatingMemory(NamedTuple):
    """What is kept between two solves: the curvature pairs of the outer block, and the memory of the blocks inside."""

    pairs: Pairs
    inside: Any


class _Eliminated(InnerObjective):
    """The outer block v of y ↦ min over the blocks inside of f(x, y)."""

    def __init__(self, objective: PartialMinimum, nested: Problem, task: YTask, memory: Any):
        super().__init__(objective.slice, objective.start[: nested.d_x])
        self._objective = objective
        self._nested = nested
        self._task = task
        self.memory = memory
        constants = nested.constants
        self.smoothness = None if constants is None else constants.L_x
        self.convexity = None if constants is None else constants.mu_x
        self.overshoot = objective.overshoot
        self.most_gradients = objective.most_gradients

    def at(self, v: Array) -> InnerPoint:
        self.gradients += 1
        (self.memory,), inside = self._nested.fix(v).run_on_parts(self._task, (self.memory,))
        solved = self._objective.judge(evaluate_outside(self.slice, inside)).solved
        return InnerPoint(v, inside, inside.grad_x, norm(inside.grad_x), solved)

    def judge(self, evaluation: Evaluation) -> InnerPoint:
        return self._objective.judge(evaluation)

    def begin(self) -> InnerPoint:
        point = self.at(self.start)
        self._objective.largest_gradient = max(self._objective.largest_gradient, point.residual)
        return point

    def is_worthwhile(self, slope: float, *, informed: bool) -> bool:
        return self._objective.is_worthwhile(slope, informed=informed)

    def limit_step(self, point: InnerPoint, step: Array, last: Array) -> Array:
        return self._objective.limit_step(point, step, last)

    def is_too_far(self, point: InnerPoint) -> bool:
        return self._objective.is_too_far(point)

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Keep the curvature if it is positive: the blocks inside are minimised inexactly, so it may be wrong."""
        if product > 0.0:
            self._objective.keep_curvature(new, product, size)


def eliminate(
    objective: PartialMinimum, nested: Problem, task: YTask, memory: Any
) -> tuple[InnerPoint, EliminatingMemory]:
    """Minimise over the outer block of y by L-BFGS, and over the blocks inside it at every point, by a task."""
    if not isinstance(memory, EliminatingMemory):
        start = objective.start
        memory = EliminatingMemory(Pairs.none(start[: nested.d_x]), task.begin(start[nested.d_x :]))
    reduced = _Eliminated(objective, nested, task, memory.inside)
    point, pairs = LbfgsSolver().solve(reduced, memory.pairs)
    end = objective.judge(evaluate_outside(objective.slice, point.evaluation))
    objective.include(reduced.memory)
    return end, EliminatingMemory(pairs, reduced.memory)
