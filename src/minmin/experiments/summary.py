"""Medians and bands over the runs of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import Outcome, Task, levels
from minmin.experiments.settings import Setting

KINDS = ("grad_x", "grad_y")


class Spread(NamedTuple):
    """Median and 10–90 % band, numbers or arrays; infinite where that share of the runs did not get so far."""

    low: Any
    median: Any
    high: Any


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
        found = spread(self.column(setting, method, kind)[:, levels(self.tol).index(level)])
        return Spread(*map(float, found))

    def column(self, setting: str, method: str, kind: str) -> np.ndarray[Any, Any]:
        """A row for each run, a column for each level."""
        count = len(levels(self.tol))
        rows = [list(getattr(run, kind)) for run in self.runs[setting, method]]
        return np.array([row + [math.inf] * (count - len(row)) for row in rows])

    def each_run(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """Of every run who ran on what, and its numbers of these kinds."""
        for (setting, method), runs in self.runs.items():
            for seed, run in enumerate(runs):
                numbers = {kind: getattr(run, kind) for kind in kinds}
                yield {"setting": setting, "method": method, "seed": seed, **numbers}

    def group(self, name: str) -> list[Setting]:
        return [setting for setting in self.settings if setting.group == name]

    @property
    def methods(self) -> list[str]:
        """Of all settings, in the contestants' order."""
        taking_part = {method for setting in self.settings for method in setting.methods}
        return [key for key in CONTESTANTS if key in taking_part]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(setting.group for setting in self.settings))

    def slope(self, group: str, method: str, kind: str) -> float:
        """The power of the varied condition number that the median calls follow."""
        settings = self.group(group)
        calls = [self.at(setting.key, method, self.tol, kind).median for setting in settings]
        return float(np.polyfit(np.log([setting.varied for setting in settings]), np.log(calls), 1)[0])


def summarise(settings: list[Setting], outcomes: Mapping[Task, Outcome], tasks: Iterable[Task], tol: float) -> Summary:
    runs: dict[tuple[str, str], list[Outcome]] = {}
    for task in tasks:
        runs.setdefault((task.setting, task.method), []).append(outcomes[task])
    return Summary(settings, runs, tol)


def best_of_grid(summary: Summary, setting: Setting) -> list[str]:
    """Of contestants that differ only in the length of their steps the one that gets furthest in the fewest rounds."""

    def merit(method: str) -> tuple[int, float]:
        medians = spread(summary.column(setting.key, method, "grad_x")).median
        reached = int(np.isfinite(medians).sum())
        return -reached, float(medians[reached - 1]) if reached else math.inf

    alike: dict[str, list[str]] = {}
    for method in setting.methods:
        contestant = CONTESTANTS[method]
        alike.setdefault(contestant.method if "step_size" in contestant.options else method, []).append(method)
    return [min(methods, key=merit) for methods in alike.values()]


def spread(values: np.ndarray[Any, Any]) -> Spread:
    """Quantiles along the first axis, where runs that did not get so far count as infinite."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(values, (0.1, 0.5, 0.9), axis=0)
    return Spread(*np.where(np.isnan(found), np.inf, found))


def theory_line(summary: Summary, group: str, kind: str) -> list[float]:
    """What Theorem 2.2 allows BAM along a sweep, with the constant that makes it touch the paper's BAM.

    ∇ₓ calls are O(√κ_x) and ∇ᵧ calls O(√max(κ_x, κ_y)); κ_y is the larger one in both sweeps.
    """
    settings = summary.group(group)
    slope = 0.5 if (group, kind) in (("kappa_x", "grad_x"), ("kappa_y", "grad_y")) else 0.0
    powers = [setting.varied**slope for setting in settings]
    calls = [summary.at(setting.key, "bam-paper", summary.tol, kind).median for setting in settings]
    constant = max(call / power for call, power in zip(calls, powers, strict=True))
    return [constant * power for power in powers]
