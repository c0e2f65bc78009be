"""Worst cases by semidefinite programming: PEPit states the program, and Clarabel solves it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import cvxpy as cp
from PEPit.pep import PEP

from minmin.errors import SolverError

SOLVER = "CLARABEL"
_MOST_DIFFERENCE = 1e-6
"""Between the bounds from above and from below, relative to the larger of the first one and 1.
Measured: docs/benchmarks/tuning.md."""


def find_largest(problem: PEP, last: Any, *, first: Any) -> float:
    """The largest value of ``last`` where ``first`` <= 1, over all functions and starts; infinite if there is no bound.

    The solver bounds it from above by a proof, and from below by an example. They are equal but for its accuracy, and
    the larger one is returned.
    """
    problem.add_constraint(first <= 1)
    problem.set_performance_metric(last)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the solver says of its accuracy is checked below
        try:
            above = problem.solve(verbose=0, solver=SOLVER)
        except cp.SolverError as error:
            raise SolverError(_explain("it stopped early")) from error
    status = problem.wrapper.prob.status
    if status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        return math.inf
    if above is None:
        raise SolverError(_explain(f"its status is {status!r}"))
    below = float(problem.wrapper.objective.value)
    if not abs(above - below) <= _MOST_DIFFERENCE * max(1.0, abs(above)):
        raise SolverError(_explain(f"its bounds from above and below are {above:.9g} and {below:.9g}"))
    return max(float(above), below)


def _explain(what: str) -> str:
    return f"Clarabel did not solve the semidefinite program: {what}; try smaller condition numbers or fewer steps"
