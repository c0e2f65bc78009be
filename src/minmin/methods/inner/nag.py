"""Inner solvers "nag" and "nag-ogmg": accelerated gradient, alone and followed by OGM-G."""

from __future__ import annotations

import math

from minmin.core.vectors import dot
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.needs import KNOWN_CONSTANTS, Feature
from minmin.methods.ogmg import nag_ogm_g_points
from minmin.methods.theory import momentum

_STEPS_PER_ROOT = 2.38
"""√(4√2), rounded up: half of T in units of √(1 + λL_y), as derived in the class below."""


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


class NagOgmgSolver(InnerSolver):
    """N/2 steps of Nesterov's method from the centre, then N/2 of OGM-G.

    It is that of Section 3 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.

    Nesterov's method leaves A - A* <= 2 L_A R²/(n+1)² after n steps, R the distance from the centre to the
    minimiser; OGM-G turns that into |∇A|² <= 4 L_A (A - A*)/(n+1)², together |∇A| <= 2√2 L_A R/(n+1)².
    Corollary 3.2 requires R/(2λ), so n + 1 = √(4√2 (1 + λL_y)) and T = 2n <= ⌈4.76 √(1 + λL_y)⌉. The paper does not
    state its constant; if T is not enough, it is doubled.
    """

    name = "nag-ogmg"
    needs = KNOWN_CONSTANTS
    needs_center = True
    refuses = frozenset({Feature.TERM_Y})

    def solve(self, goal: InnerGoal, memory: None) -> tuple[InnerPoint, None]:
        half = math.ceil(_STEPS_PER_ROOT * math.sqrt(goal.smoothness / goal.shift))
        best = run_halves(goal, half)
        limit = goal.rule.most_gradients(goal, best)
        while not best.solved and half <= limit:
            half *= 2
            best = choose_better(best, run_halves(goal, half))
        return best, None


def run_halves(goal: InnerGoal, half: int) -> InnerPoint:
    """Run the two halves once; the first point that is good enough, or the last one."""
    points = nag_ogm_g_points(goal.center, goal.smoothness, half, half)
    point = goal.at(next(points))
    for _ in range(2 * half):
        if point.solved:
            return point
        point, last = goal.at(points.send(point.gradient)), point
        learn_between(goal, last, point)
    return point
