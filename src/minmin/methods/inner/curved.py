"""Inner solvers "lbfgs" and "newton": steps that use curvature, with accelerated gradient as a fallback."""

from __future__ import annotations

import math

import numpy as np

from minmin.core.arrays import Array, identity, namespace_of
from minmin.core.bound import is_same_point
from minmin.core.second_order import SecondOrderEvaluation
from minmin.core.term import Term
from minmin.core.vectors import dot, norm
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, first_step, grow_where_flat
from minmin.methods.inner.nag import start_again
from minmin.methods.needs import Need
from minmin.methods.proximal_step import find_proximal_step
from minmin.numerics.lbfgs import Pairs, inverse_times, remember
from minmin.numerics.prox_model import DenseHessian, minimise_model
from minmin.numerics.step_search import StepSearch


class LbfgsSolver(InnerSolver):
    """L-BFGS whose curvature pairs are kept between outer steps, since f(x, ·) changes little from one x to the next.

    It needs only gradients: the objective is convex, so the slope at a step's end tells whether the step was too long.
    In BAM, after T_max gradients the accelerated gradient method from the centre takes over. So an outer step costs at
    most 2 T_max + 2 gradients, and the worst case is still that of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.
    """

    name = "lbfgs"

    def init(self, y: Array, seed: int = 0) -> Pairs:
        return Pairs()

    def _step(self, goal: InnerGoal, point: InnerPoint, memory: Pairs) -> tuple[Array, bool]:
        """The step to take, and whether its length is based on known curvature."""
        if memory.number:
            return -inverse_times(memory, point.gradient), True
        return first_step(point.gradient, point.v, goal.smoothness), False

    def _propose(self, goal: InnerGoal, point: InnerPoint, memory: Pairs, flat_length: float) -> tuple[Array, bool]:
        """The step to take after one that had ``flat_length`` if it showed no curvature, and was zero otherwise."""
        if goal.term is not None:
            step, informed = self._step_with_term(goal, goal.term, point, memory, flat_length)
            # A proximal step that does not move starts at a minimum, so the gain is known to be zero.
            informed = informed or norm(step) == 0.0
        else:
            step, informed = self._step(goal, point, memory)
            if flat_length > 0.0:
                return grow_where_flat(step, flat_length), False
        if memory.number and flat_length == 0.0:
            step = goal.limit_step(point, step, memory.rows[0][-1])
        return step, informed

    def _step_with_term(
        self, goal: InnerGoal, term: Term, point: InnerPoint, memory: Pairs, flat_length: float
    ) -> tuple[Array, bool]:
        """The same as :meth:`_step`, where the goal has a term."""
        units = goal.units
        L = goal.smoothness if isinstance(units, float) else math.inf
        v, gradient = units * point.v, point.gradient * (1.0 / units)
        step = find_proximal_step(term, v, gradient, memory, L, flat_length, units) * (1.0 / units)
        return step, memory.number > 0 and flat_length == 0.0

    def solve(self, goal: InnerGoal, memory: Pairs) -> tuple[InnerPoint, Pairs]:
        point = goal.begin()
        term, units, flat_length = goal.term, goal.units, 0.0
        while not point.solved:
            step, informed = self._propose(goal, point, memory, flat_length)
            search = StepSearch(point.v, point.gradient, step, term, units, goal.rule.overshoot)
            if not goal.rule.is_worthwhile(search.slope, informed=informed) or goal.gradients > goal.most_gradients:
                break
            known = memory
            while True:
                moved = goal.at(search.v)
                is_short = search.measure(moved.gradient)
                goal.learn(moved, search.product, dot(search.step, search.step))
                memory = remember(memory, units * search.step, search.change * (1.0 / units))
                found = is_short or moved.solved or goal.gradients > goal.most_gradients
                if found or not search.shorten():
                    break
            distance = norm(moved.v)
            if not math.isfinite(distance + moved.residual):
                break
            has_stopped = not found or is_same_point(units * point.v, units * moved.v, point.evaluation.rounding.eps)
            flat_length = norm(units * (moved.v - point.v)) if memory is known else 0.0
            point = moved
            if has_stopped or goal.is_too_far(distance):
                break
        return start_again(goal, point), memory


class NewtonSolver(LbfgsSolver):
    """Newton's method with the problem's y-Hessian; an L-BFGS step if that is singular.

    With a term it is the proximal Newton method of Lee, Sun and Saunders (2014), "Proximal Newton-type methods for
    minimizing composite functions": a step minimises the quadratic model plus the term.
    """

    name = "newton"
    needs = frozenset({Need.Y_HESSIAN})

    def _step(self, goal: InnerGoal, point: InnerPoint, memory: Pairs) -> tuple[Array, bool]:
        try:
            step = -namespace_of(point.v).linalg.solve(_find_hessian(goal, point), point.gradient)
        except (np.linalg.LinAlgError, RuntimeError):
            return super()._step(goal, point, memory)
        return (step, True) if dot(point.gradient, step) < 0.0 else super()._step(goal, point, memory)

    def _step_with_term(
        self, goal: InnerGoal, term: Term, point: InnerPoint, memory: Pairs, flat_length: float
    ) -> tuple[Array, bool]:
        hessian = DenseHessian(_find_hessian(goal, point))
        if not hessian.largest > 0.0:
            return super()._step_with_term(goal, term, point, memory, flat_length)
        return minimise_model(term.prox, point.v, point.gradient, hessian) - point.v, True


def _find_hessian(goal: InnerGoal, point: InnerPoint) -> Array:
    """The Hessian of the goal's function."""
    evaluation = point.evaluation
    assert isinstance(evaluation, SecondOrderEvaluation)
    hessian = evaluation.hess_yy()
    if goal.shift > 0.0:
        return hessian + goal.shift * identity(point.v.shape[0], point.v)
    return hessian if evaluation.gauge is None else evaluation.gauge.make_invertible(hessian)
