"""Finds the loosest tolerance with which a solver reaches the gap."""

from __future__ import annotations

import time
from typing import NamedTuple

from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Solve

GAP = 1e-9
"""The relative gap (f - f*)/(f(0) - f*) that all must reach."""
TOLERANCES = [10.0**-k for k in range(-2, 15)]
_WARM_UP_TOL = 1e-2
_HOPELESS = 4.0
"""A solver is given up if a run that does not reach the gap takes this many times as long as the best solver."""
_HALVINGS = 2


class Attempt(NamedTuple):
    """One run of a solver; ``seconds`` of processor time."""

    reached: bool
    tol: float
    seconds: float
    gap: float


def attempt(solve: Solve, objective: Objective, minimum: float, tol: float) -> Attempt:
    start = time.process_time()
    try:
        coef = solve(tol)
    except (ValueError, ArithmeticError):  # some fail at extreme tolerances
        return Attempt(False, tol, time.process_time() - start, float("nan"))
    seconds = time.process_time() - start
    gap = objective.relative_gap(coef, minimum)
    return Attempt(gap <= GAP, tol, seconds, gap)


def find_tolerance(
    solve: Solve, objective: Objective, minimum: float, best_seconds: float, max_seconds: float
) -> Attempt:
    """The run with the loosest tolerance that reaches the gap; if none does, the last one.

    Tolerances fall by a factor of 10 until one suffices; then the interval between it and the one before is halved
    twice, in logarithms. ``best_seconds`` is the time of the fastest solver so far; all runs together may take
    ``max_seconds``.
    """
    attempt(solve, objective, minimum, _WARM_UP_TOL)
    left = max_seconds
    loose = TOLERANCES[0]
    for tol in TOLERANCES:
        found = attempt(solve, objective, minimum, tol)
        left -= found.seconds
        if found.reached or left < 0.0 or found.seconds > _HOPELESS * best_seconds:
            break
        loose = tol
    if found.reached and found.tol < loose and found.seconds < _HOPELESS * best_seconds:
        for _ in range(_HALVINGS):
            middle = attempt(solve, objective, minimum, (loose * found.tol) ** 0.5)
            if middle.reached:
                found = middle
            else:
                loose = middle.tol
    return found
