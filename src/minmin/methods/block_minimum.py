"""Minimisation of f over one block, as exactly as rounding allows, for alternating minimisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, YTask
from minmin.core.vectors import dot
from minmin.methods.inner.accurate_minimum import AccurateMinimum
from minmin.methods.inner.solvers import INNER_SOLVERS
from minmin.numerics.dense import DENSE_UP_TO
from minmin.numerics.lbfgs import Pairs


class BlockMemory(NamedTuple):
    """A block or a part of it where its last minimisation ended, the solver's memory, and the largest gradient."""

    v: Array
    solver: Any
    largest_gradient: float


@dataclass(frozen=True)
class MinimizeY(YTask):
    """Minimise f over one part of y by Newton's method or L-BFGS, until ∇ᵧf is as small as its rounding error."""

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


def make_y_task(problem: Problem, constants: Constants) -> MinimizeY:
    """The task for y: by Newton's method if there are y-Hessians and they are small."""
    largest = max(problem.part_sizes or (problem.d_y,))
    inner = "newton" if problem.has_y_hessian and largest <= DENSE_UP_TO else "lbfgs"
    return MinimizeY(inner, constants)


def minimize_x(
    problem: Problem, constants: Constants, evaluation: Evaluation, memory: BlockMemory
) -> tuple[BlockMemory, float]:
    """Minimise over x from an evaluation. The new x, and a lower bound of the decrease of f, by strong convexity."""
    swapped = problem.swapped()
    task = make_y_task(swapped, constants.swapped())
    new, end = task.run(swapped.fix(evaluation.y), memory._replace(v=evaluation.x))
    step = evaluation.x - new.v
    return new, max(dot(end.grad_y, step) + 0.5 * constants.mu_x * dot(step, step), 0.0)
