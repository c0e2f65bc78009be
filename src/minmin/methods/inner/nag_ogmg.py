"""Inner solver "nag-ogmg": the paper's own, half accelerated gradient and half OGM-G."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.nag import watch
from minmin.methods.inner.subproblem import Subproblem, Trial, better
from minmin.methods.ogmg import nag_momentum, ogm_g_points
from minmin.space import Array


class Nothing(NamedTuple):
    """This solver remembers nothing."""


class NagOgmgInner(InnerSolver):
    """N/2 steps of Nesterov's method from the centre, then N/2 of OGM-G (Section 3 of the paper).

    Nesterov's method leaves A - A* <= 2 L_A R²/(n+1)² after n steps, R the distance from the centre to the
    minimiser; OGM-G turns that into |∇A|² <= 4 L_A (A - A*)/(n+1)², together |∇A| <= 2√2 L_A R/(n+1)².
    Corollary 3.2 asks for R/(2λ), so n + 1 = √(4√2 (1 + λL_y)) and T = 2n <= ⌈4.76 √(1 + λL_y)⌉. The paper
    leaves its constant open; should T ever not be enough it is doubled.
    """

    name = "nag-ogmg"

    def init(self, y: Array) -> Nothing:
        return Nothing()

    def solve(self, problem: Subproblem, memory: Nothing) -> tuple[Trial, Nothing]:
        half = math.ceil(2.38 * math.sqrt(problem.lam * problem.smoothness))
        best = attempt(problem, half)
        while not best.accepted and half <= problem.most_steps:
            half *= 2
            best = better(best, attempt(problem, half))
        return best, memory


def attempt(problem: Subproblem, half: int) -> Trial:
    """The two halves once; the first accepted trial, or the last."""
    step = 1.0 / problem.smoothness
    trial = problem.at(problem.center)
    before = problem.center
    t = 1.0
    for i in range(half):
        if trial.accepted:
            return trial
        after = trial.v - trial.gradient * step
        weight, t = nag_momentum(t)
        ahead = after + weight * (after - before) if i < half - 1 else after  # OGM-G starts from the last step's end
        trial, last = problem.at(ahead), trial
        watch(problem, last, trial)
        before = after
    points = ogm_g_points(trial.v, problem.smoothness, half)
    next(points)
    for _ in range(half):
        if trial.accepted:
            return trial
        trial, last = problem.at(points.send(trial.gradient)), trial
        watch(problem, last, trial)
    return trial
