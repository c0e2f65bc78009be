"""Runs one contestant on one problem and records its calls and seconds at each level of the relative gap."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from minmin import federated
from minmin.core.problem import Problem
from minmin.core.start import make_start
from minmin.errors import NonFiniteError
from minmin.experiments.contestants import CONTESTANTS, SCIPY, Contestant
from minmin.experiments.settings import EXPERIMENTS, Setting, select_settings
from minmin.federated import Client
from minmin.problems import Quadratic
from minmin.problems.sum import Sum
from minmin.result import Record, Result
from minmin.solve import minimize

_MOST_ROUNDS, _MOST_ROUNDS_OF_BASELINES = 400, 250
"""The limits on the rounds of a federated run."""
MOST_CALLS = 200_000
"""The limit on the calls of each gradient in a run."""


class Task(NamedTuple):
    """One run: a setting, a method, and the seed of both (of the problem only if it is random)."""

    setting: str
    method: str
    seed: int


@dataclass
class Outcome:
    """Calls and seconds when each level was first reached; the lists end before the first level that was not."""

    grad_x: list[int] = field(default_factory=list)
    grad_y: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Rounded to four digits."""
    kilobytes: list[float] = field(default_factory=list)
    """Sent to and by all clients together; empty if the run is not federated."""
    calls: dict[str, int] = field(default_factory=dict)
    """Of a relative of BAM: its calls until the last level, by their names in ``Result.calls``."""


def levels(tol: float) -> list[float]:
    """Relative gaps from 1 down to ``tol``, ten per decade."""
    count = math.ceil(-10.0 * math.log10(tol) - 1e-9)
    return [float(f"{10.0 ** (-k / 10.0):.4g}") for k in range(1, count)] + [tol]


def format_level(level: float) -> str:
    """Text such as 1e-8, not 1e-08."""
    return np.format_float_scientific(level, trim="-", exp_digits=1)


def race(task: Task, tol: float, a9a: Path | None = None) -> Outcome:
    """Run a task to the relative gap ``tol``, (f - f*)/(f(0) - f*); ``a9a`` is the file of a9a, if there is one."""
    setting = _settings(a9a)[task.setting]
    problem, start, minimum = _problem(task.setting, task.seed if setting.is_random else 0, a9a)
    recorder = _LevelRecorder([minimum + level * (start - minimum) for level in levels(tol)])
    contestant = CONTESTANTS[task.method]
    if contestant.method == SCIPY:
        _run_scipy(problem, recorder)
    elif contestant.federated:
        _run_federated(problem, contestant, recorder)
    else:
        minimize(
            problem,
            method=contestant.method,
            tol=0,
            target_value=recorder.values[-1],
            max_grad_x=MOST_CALLS,
            max_grad_y=MOST_CALLS,
            seed=task.seed,
            callback=recorder.callback,
            **contestant.options,
        )
    return recorder.outcome


@lru_cache(maxsize=1)
def _settings(a9a: Path | None) -> dict[str, Setting]:
    return {setting.key: setting for setting in select_settings(EXPERIMENTS, a9a)}


@lru_cache(maxsize=64)
def _problem(setting: str, seed: int, a9a: Path | None) -> tuple[Problem, float, float]:
    """The problem of a setting, with f(0) and f*."""
    problem = _settings(a9a)[setting].build(seed)
    return problem, problem.evaluate(*make_start(problem)).value, _minimum(problem)


def _minimum(problem: Problem) -> float:
    if isinstance(problem, Quadratic):
        return 0.5 * float(problem.b @ np.linalg.solve(problem.H, -problem.b))
    return minimize(problem, method="reduced-lbfgs", inner="newton", tol=1e-14).fun


class _LevelRecorder:
    """Records when a run reaches each of some decreasing values of f."""

    def __init__(self, values: list[float]):
        self.values = values
        self.outcome = Outcome()

    def callback(self, record: Record) -> bool:
        return self.record(record.value, record.grad_x, record.grad_y, record.seconds)

    def record(self, value: float, grad_x: int, grad_y: int, seconds: float) -> bool:
        """Record all values that are reached, and return whether the last one is."""
        outcome = self.outcome
        while len(outcome.grad_x) < len(self.values) and value <= self.values[len(outcome.grad_x)]:
            outcome.grad_x.append(grad_x)
            outcome.grad_y.append(grad_y)
            outcome.seconds.append(float(f"{seconds:.4g}"))
        return len(outcome.grad_x) == len(self.values)


def _run_federated(problem: Problem, contestant: Contestant, recorder: _LevelRecorder) -> None:
    """Run with one client per term of a Sum; a round counts as a call of ∇ₓ."""
    assert isinstance(problem, Sum)
    clients = [Client(term, weight) for term, weight in zip(problem.terms, problem.weights, strict=True)]
    ours = contestant.method in ("bam", "reduced-lbfgs")
    rounds = _MOST_ROUNDS if ours else _MOST_ROUNDS_OF_BASELINES
    result: Result | None
    try:
        result = federated.run(
            clients, contestant.method, tol=0, rounds=rounds, callback=recorder.callback, **contestant.options
        )
    except NonFiniteError as error:  # the local steps were too large
        result = error.result
    if result is None:
        return
    history = result.history
    both = history.bytes_up + history.bytes_down
    recorder.outcome.kilobytes = [
        round(float(both[history.grad_x <= rounds][-1]) / 1000.0) for rounds in recorder.outcome.grad_x
    ]


class _ReachedEndError(Exception):
    """Stops SciPy, which cannot stop at a target value by itself."""


def _run_scipy(problem: Problem, recorder: _LevelRecorder) -> None:
    """Run L-BFGS-B on (x, y) with 20 pairs; each evaluation counts as a call of both gradients."""
    calls, started = 0, time.perf_counter()

    def evaluate(z: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        nonlocal calls
        calls += 1
        evaluation = problem.fix(z[: problem.d_x]).at(z[problem.d_x :])
        gradient = np.concatenate([evaluation.grad_x, evaluation.grad_y])
        if recorder.record(evaluation.value, calls, calls, time.perf_counter() - started):
            raise _ReachedEndError
        return evaluation.value, gradient

    options = {"maxiter": MOST_CALLS, "maxfun": MOST_CALLS, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
    try:
        scipy.optimize.minimize(
            evaluate, np.zeros(problem.d_x + problem.d_y), jac=True, method="L-BFGS-B", options=options
        )
    except _ReachedEndError:
        return
