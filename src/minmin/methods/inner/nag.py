"""Inner solver "nag": accelerated gradient for a strongly convex A, started from the last offset."""

from __future__ import annotations

import math

from minmin.methods.inner.base import InnerSolver, Offset
from minmin.methods.inner.subproblem import Subproblem, Trial, better
from minmin.space import Array, dot


class NagInner(InnerSolver):
    """Nesterov's method with constant momentum on A (Nesterov 2018, scheme 2.2.22).

    Started from the last offset, and from the centre if that took longer than T_max; the restart
    succeeds within T_max in exact arithmetic, so an outer step costs at most 2 T_max + 2 gradients.
    """

    name = "nag"

    def init(self, y: Array) -> Offset:
        return Offset(0.0 * y)

    def solve(self, problem: Subproblem, memory: Offset) -> tuple[Trial, Offset]:
        trial = descend(problem, problem.center + memory.offset)
        if not trial.accepted:
            trial = better(trial, descend(problem, problem.center))
        return trial, Offset(trial.v - problem.center)


def descend(problem: Subproblem, start: Array) -> Trial:
    """T_max steps of accelerated gradient at most; the first accepted trial, or the best."""
    root = math.sqrt(problem.smoothness / problem.convexity)
    momentum = (root - 1.0) / (root + 1.0)
    trial = best = problem.at(start)
    before = start
    for _ in range(problem.most_steps):
        if trial.accepted:
            return trial
        after = trial.v - trial.gradient * (1.0 / problem.smoothness)
        trial, last = problem.at(after + momentum * (after - before)), trial
        before = after
        watch(problem, last, trial)
        best = better(best, trial)
    return trial if trial.accepted else best


def watch(problem: Subproblem, old: Trial, new: Trial) -> None:
    """See whether the constants hold between two trials."""
    step = new.v - old.v
    problem.watch(new, dot(new.gradient - old.gradient, step), dot(step, step))
