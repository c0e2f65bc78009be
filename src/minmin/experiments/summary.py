"""Medians and bands over the runs of a report."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import Outcome, Task, levels
from minmin.experiments.settings import Setting

KINDS = ("grad_x", "grad_y")


class Spread(NamedTuple):
    """Median and 10–90 % band, as numbers or arrays; infinite if too many runs did not reach the level."""

    low: Any
    median: Any
    high: Any

    def for_json(self) -> list[float | None]:
        """The numbers with infinity replaced by None, since JSON has no infinity."""
        return [value if math.isfinite(value) else None for value in self]


@dataclass(frozen=True)
class Summary:
    """All runs of a report.

    Attributes
    ----------
    settings : list of Setting
    runs : mapping
        The outcomes of each (setting, method), by seed.
    tol : float
        The last level of the relative gap.
    """

    settings: list[Setting]
    runs: Mapping[tuple[str, str], list[Outcome]]
    tol: float

    def at(self, setting: str, method: str, level: float, kind: str) -> Spread:
        """Calls, or seconds, until the relative gap ``level``, which must be one of :func:`levels`."""
        at_level = self.matrix(setting, method, kind)[:, levels(self.tol).index(level)]
        return Spread(*map(float, spread(at_level)))

    def matrix(self, setting: str, method: str, kind: str) -> np.ndarray[Any, Any]:
        """Calls, or seconds: one row per run, one column per level; infinite if a run did not reach the level."""
        count = len(levels(self.tol))
        rows = [list(getattr(run, kind)) for run in self.runs[setting, method]]
        return np.array([row + [math.inf] * (count - len(row)) for row in rows])

    def each_run(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """The setting, method and seed of each run, and its numbers of these kinds."""
        for (setting, method), runs in self.runs.items():
            for seed, run in enumerate(runs):
                numbers = {kind: getattr(run, kind) for kind in kinds}
                yield {"setting": setting, "method": method, "seed": seed, **numbers}

    def group(self, name: str) -> list[Setting]:
        return [setting for setting in self.settings if setting.group == name]

    @property
    def methods(self) -> list[str]:
        """The keys of all contestants in these settings, in the order of CONTESTANTS."""
        used = {method for setting in self.settings for method in setting.methods}
        return [key for key in CONTESTANTS if key in used]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(setting.group for setting in self.settings))

    def slope(self, group: str, method: str, kind: str) -> float:
        """The exponent p such that the median calls grow like the varied condition number to the power p."""
        settings = self.group(group)
        calls = [self.at(setting.key, method, self.tol, kind).median for setting in settings]
        return fit_slope([setting.varied for setting in settings], calls)


def summarise(settings: list[Setting], outcomes: Mapping[Task, Outcome], tasks: Iterable[Task], tol: float) -> Summary:
    """The runs among ``tasks`` on these settings."""
    return Summary(settings, group_runs(outcomes, tasks, {setting.key for setting in settings}), tol)


def group_runs(
    outcomes: Mapping[Task, Outcome], tasks: Iterable[Task], settings: Container[str]
) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of the tasks on some settings, for each setting and method."""
    runs: dict[tuple[str, str], list[Outcome]] = {}
    for task in tasks:
        if task.setting in settings:
            runs.setdefault((task.setting, task.method), []).append(outcomes[task])
    return runs


def best_of_grid(summary: Summary, setting: Setting) -> list[str]:
    """The contestants of a setting; of those that differ only in the step size, the one with the best progress.

    That is the one that reaches the smallest gap; among equals, the one with the fewest rounds.
    """

    def rank(method: str) -> tuple[int, float]:
        medians = spread(summary.matrix(setting.key, method, "grad_x")).median
        reached = int(np.isfinite(medians).sum())
        return -reached, float(medians[reached - 1]) if reached else math.inf

    variants: dict[str, list[str]] = {}
    for method in setting.methods:
        contestant = CONTESTANTS[method]
        variants.setdefault(contestant.method if "step_size" in contestant.options else method, []).append(method)
    return [min(methods, key=rank) for methods in variants.values()]


def spread(values: np.ndarray[Any, Any]) -> Spread:
    """Quantiles along the first axis; runs that did not reach a level count as infinite."""
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(values, (0.1, 0.5, 0.9), axis=0)
    return Spread(*np.where(np.isnan(quantiles), np.inf, quantiles))


def fit_slope(varied: Any, calls: Any) -> float:
    """The slope of log ``calls`` over log ``varied``; infinite if a number of calls is."""
    if not np.isfinite(calls).all():
        return math.inf
    return float(np.polyfit(np.log(varied), np.log(calls), 1)[0])


def theory_line(summary: Summary, group: str, kind: str) -> list[float]:
    """The bound of Theorem 2.2 of arXiv:2212.14439 for BAM along a sweep.

    ∇ₓ calls are O(√κ_x) and ∇ᵧ calls O(√max(κ_x, κ_y)); κ_y is the larger one in both sweeps. The constant is the
    smallest with which the bound holds for BAM with the paper's inner solver.
    """
    settings = summary.group(group)
    slope = 0.5 if (group, kind) in (("kappa_x", "grad_x"), ("kappa_y", "grad_y")) else 0.0
    powers = [setting.varied**slope for setting in settings]
    calls = [summary.at(setting.key, "bam-paper", summary.tol, kind).median for setting in settings]
    constant = max(call / power for call, power in zip(calls, powers, strict=True))
    return [constant * power for power in powers]
