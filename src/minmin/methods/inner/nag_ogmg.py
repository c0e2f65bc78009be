"""Inner solver "nag-ogmg", half accelerated gradient and half OGM-G: that of Kovalev, Gasnikov and Malinovsky,
arXiv:2212.14439.
"""

from __future__ import annotations

import math

from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.inner.nag import learn_between
from minmin.methods.needs import KNOWN_CONSTANTS, Feature
from minmin.methods.ogmg import nag_ogm_g_points

_STEPS_PER_ROOT = 2.38
"""√(4√2), rounded up: half of T in units of √(1 + λL_y), as derived in the class below."""


class NagOgmgSolver(InnerSolver):
    """N/2 steps of Nesterov's method from the centre, then N/2 of OGM-G (Section 3 of the paper).

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
