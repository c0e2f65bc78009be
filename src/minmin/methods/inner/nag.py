"""Inner solver "nag": accelerated gradient for a strongly convex objective."""

from __future__ import annotations

import math

from minmin.core.vectors import dot
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.objective import InnerObjective, InnerPoint, choose_better


class NagSolver(InnerSolver):
    """Nesterov's method with constant momentum (Nesterov 2018, scheme 2.2.22).

    In BAM it starts from the last offset, and starts again from the centre if that took more than T_max gradients. In
    exact arithmetic the restart succeeds within T_max, so an outer step costs at most 2 T_max + 2 gradients.
    """

    name = "nag"
    needs_constants = True
    takes_term = True

    def solve(self, objective: InnerObjective, memory: None) -> tuple[InnerPoint, None]:
        point = descend(objective, objective.begin())
        if not point.solved and objective.restart is not None:
            point = choose_better(point, descend(objective, objective.at(objective.restart)))
        return point, None


def descend(objective: InnerObjective, start: InnerPoint) -> InnerPoint:
    """Take at most ``most_gradients`` accelerated steps; the first point that is good enough, or the best one."""
    assert objective.smoothness is not None
    assert objective.convexity is not None
    root = math.sqrt(objective.smoothness / objective.convexity)
    momentum = (root - 1.0) / (root + 1.0)
    point = best = start
    before = start.v
    for _ in range(objective.most_gradients):
        if point.solved:
            return point
        after = objective.advance(point)
        point, last = objective.at(after + momentum * (after - before)), point
        before = after
        learn_between(objective, last, point)
        best = choose_better(best, point)
    return best


def learn_between(objective: InnerObjective, old: InnerPoint, new: InnerPoint) -> None:
    """Pass a step between two points to the objective."""
    step = new.v - old.v
    objective.learn(new, dot(new.gradient - old.gradient, step), dot(step, step))
