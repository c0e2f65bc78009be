"""Finds the loosest tolerance with which a solver reaches the gap."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from estimator_benchmark.limit import limit_seconds
from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Solve

GAP = 1e-9
"""The relative gap (f - f*)/(f(0) - f*) that all must reach."""
TOLERANCES = [10.0**-k for k in range(-2, 15)]
_HOPELESS = 2.5
"""A solver is given up when a run takes this many times as long as the fastest solver."""
_AT_LEAST = 0.05
"""No run is given up before these seconds."""
_HALVINGS = 2


class Attempt(NamedTuple):
    """One run of a solver; ``seconds`` of processor time."""

    reached: bool
    tol: float
    seconds: float
    gap: float


def attempt(solve: Solve, objective: Objective, minimum: float, tol: float, max_seconds: float) -> Attempt:
    """One run; it does not reach the gap if it is stopped or fails, as some solvers do at extreme tolerances."""
    start = time.process_time()
    try:
        with limit_seconds(max_seconds):
            coef = solve(tol)
    except (TimeoutError, ValueError, ArithmeticError):
        return Attempt(False, tol, time.process_time() - start, math.inf)
    seconds = time.process_time() - start
    gap = objective.relative_gap(coef, minimum)
    return Attempt(gap <= GAP, tol, seconds, gap)


def find_tolerance(
    solve: Solve,
    objective: Objective,
    minimum: float,
    best_seconds: float,
    max_seconds: float,
    other_form: Attempt | None = None,
) -> Attempt:
    """The run with the loosest tolerance that reaches the gap; if none does, the longest one.

    Tolerances fall by a factor of 10 until one suffices; then the interval between it and the one before is halved
    twice, in logarithms. ``best_seconds`` is the time of the fastest solver so far; all runs together may take
    ``max_seconds``. ``other_form`` is what was found for the same solver with the data in another form: since that
    differs in rounding only, its tolerance is tried first.
    """
    limit = min(max(_HOPELESS * best_seconds, _AT_LEAST), max_seconds)
    attempt(solve, objective, minimum, TOLERANCES[0], limit)  # to warm up
    first = TOLERANCES[0] if other_form is None else other_form.tol
    runs: list[Attempt] = []
    for tol in [first, *(tol for tol in TOLERANCES if tol < first)]:
        runs.append(attempt(solve, objective, minimum, tol, limit))
        if runs[-1].reached or runs[-1].seconds >= limit or sum(run.seconds for run in runs) > max_seconds:
            break
    if not runs[-1].reached:
        return max(runs, key=lambda run: run.seconds)
    return runs[0] if len(runs) == 1 else _loosen(solve, objective, minimum, runs[-1], runs[-2].tol, limit)


def _loosen(
    solve: Solve, objective: Objective, minimum: float, found: Attempt, too_loose: float, limit: float
) -> Attempt:
    for _ in range(_HALVINGS):
        middle = attempt(solve, objective, minimum, (too_loose * found.tol) ** 0.5, limit)
        if middle.reached:
            found = middle
        else:
            too_loose = middle.tol
    return found
