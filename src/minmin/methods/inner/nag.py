"""Inner solver "nag": accelerated gradient, which other solvers fall back to."""

from __future__ import annotations

from minmin.core.vectors import dot
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.needs import KNOWN_CONSTANTS
from minmin.methods.theory import momentum


class NagSolver(InnerSolver):
    """Nesterov's method with constant momentum (Nesterov 2018, scheme 2.2.22).

    In BAM it starts from the last offset, and starts again from the centre if that took more than T_max gradients. In
    exact arithmetic the restart succeeds within T_max, so an outer step costs at most 2 T_max + 2 gradients.
    """

    name = "nag"
    needs = KNOWN_CONSTANTS

    def solve(self, goal: InnerGoal, memory: None) -> tuple[InnerPoint, None]:
        return start_again(goal, descend(goal, goal.begin())), None


def start_again(goal: InnerGoal, point: InnerPoint) -> InnerPoint:
    """The point if it is good enough, else the better one of it and that of accelerated gradient from the centre."""
    if point.solved or goal.center is None:
        return point
    center = goal.center if goal.term is None else goal.term.project(goal.center)
    return choose_better(point, descend(goal, goal.at(center)))


def descend(goal: InnerGoal, start: InnerPoint) -> InnerPoint:
    """Take at most ``most_gradients`` accelerated steps; the first point that is good enough, or the best one."""
    beta = momentum(goal.smoothness / goal.convexity)
    point = best = start
    before = start.v
    for _ in range(goal.most_gradients):
        if point.solved:
            return point
        after = point.v - point.gradient * (1.0 / goal.smoothness) if point.target is None else point.target
        point, last = goal.at(after + beta * (after - before)), point
        before = after
        learn_between(goal, last, point)
        best = choose_better(best, point)
    return best


def learn_between(goal: InnerGoal, old: InnerPoint, new: InnerPoint) -> None:
    """Pass a step between two points to the goal."""
    step = new.v - old.v
    goal.learn(new, dot(new.gradient - old.gradient, step), dot(step, step))
