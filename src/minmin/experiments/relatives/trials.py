"""Runs the studies on relatives of BAM, and gathers their counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from minmin.core.problem import Problem
from minmin.core.start import make_start
from minmin.experiments.contestants import Contestant
from minmin.experiments.race import MOST_CALLS, Outcome, Task
from minmin.experiments.relatives.instances import Instance
from minmin.experiments.relatives.studies import MOST_SEEDS, STUDIES, Point, Study
from minmin.experiments.summary import Spread, fit_slope, group_runs, spread
from minmin.problems import Function
from minmin.solve import minimize

_POINTS = {study.key_of(point): (study, point) for study in STUDIES for point in study.points}


def trial_tasks(seeds: int) -> list[Task]:
    """All runs of the studies."""
    return [
        Task(study.key_of(point), contender.key, seed)
        for study in STUDIES
        for point in study.points
        for contender in study.contenders
        for seed in range(min(seeds, MOST_SEEDS))
    ]


def is_trial(task: Task) -> bool:
    return task.setting in _POINTS


def run_trial(task: Task, tol: float) -> Outcome:
    """Run a task to its relative gap, (f - f*)/(f(0) - f*); a run that does not reach it has no calls."""
    study, point = _POINTS[task.setting]
    (contender,) = (other for other in study.contenders if other.key == task.method)
    instance = _instance(task.setting, task.seed)
    problem = _take_grad_y_away(instance.problem) if contender.values_only else instance.problem
    start = problem.evaluate(*make_start(problem)).value
    gap = study.gap_of(point, tol) * (start - instance.minimum)
    # tol, too: some methods choose by it how exactly they solve in y. No bound is below the gap, so the target decides.
    result = minimize(
        problem,
        method=contender.method,
        tol=gap,
        target_value=instance.minimum + gap,
        max_grad_x=MOST_CALLS,
        max_grad_y=MOST_CALLS,
        **{**instance.options, **contender.options},
    )
    return Outcome(calls={kind: result.calls[kind] for kind in study.kinds} if result.success else {})


@lru_cache(maxsize=8)
def _instance(setting: str, seed: int) -> Instance:
    return _POINTS[setting][1].build(seed)


def _take_grad_y_away(problem: Problem) -> Problem:
    return Function(
        lambda x, y: problem.fix(x).at(y).value,
        lambda x, y: problem.fix(x).at(y).grad_x,
        None,
        d_x=problem.d_x,
        d_y=problem.d_y,
        constants=problem.constants,
    )


@dataclass(frozen=True)
class Trials:
    """The runs of all studies.

    Attributes
    ----------
    studies : tuple of Study
        Empty if the report has none.
    runs : mapping
        The outcomes of each (point, contender), by their keys.
    tol : float
        The relative gap of the report.
    """

    studies: tuple[Study, ...]
    runs: Mapping[tuple[str, str], list[Outcome]]
    tol: float

    def __getitem__(self, key: str) -> Study:
        return next(study for study in self.studies if study.key == key)

    def at(self, study: Study, point: Point, contender: Contestant, kind: str) -> Spread:
        """The calls of a kind; infinite if too many runs did not reach the gap."""
        runs = self.runs[study.key_of(point), contender.key]
        return Spread(*map(float, spread(np.array([run.calls.get(kind, math.inf) for run in runs]))))

    def medians(self, study: Study, contender: Contestant, kind: str) -> np.ndarray[Any, Any]:
        """The median calls at each point."""
        return np.array([self.at(study, point, contender, kind).median for point in study.points])

    def slope(self, study: Study, contender: Contestant, kind: str) -> float:
        """The exponent p such that the median calls grow like what varies to the power p."""
        return fit_slope([point.varied for point in study.points], self.medians(study, contender, kind))


def gather(outcomes: Mapping[Task, Outcome], tasks: list[Task], tol: float) -> Trials:
    """The trials among the outcomes of a report."""
    runs = group_runs(outcomes, tasks, _POINTS)
    return Trials(STUDIES if runs else (), runs, tol)
