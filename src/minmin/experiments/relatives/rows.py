"""Rows of verdicts on relatives of BAM: a slope, or ratios of calls, beside a limit."""

from __future__ import annotations

import numpy as np

from minmin.experiments.claims import Row, judge
from minmin.experiments.relatives.contenders import Contender
from minmin.experiments.relatives.trials import Trials

FASTER = 1.1
"""The limit of a slope divided by the power that theory promises."""
FEWER = 1.0
FAR_FEWER = 0.8
HARDLY_MORE = 1.1
LITTLE_GROWTH = 1.25
NO_POWER = 0.1
"""Limits of ratios, as in the verdicts on the paper's own experiments; the last one is a fifth of the power of √κ."""


def slope_row(trials: Trials, key: str, contender: Contender, kind: str, power: float, where: str = "") -> Row:
    """The growth of a contender's calls, and the power of it that theory promises."""
    slope = trials.slope(trials[key], contender, kind)
    return Row(where or contender.label, f"slope {show(slope)}, promised {power:g}", judge([slope / power], FASTER))


def show(number: float) -> str:
    """Two digits; no minus sign before zero."""
    return f"{round(number, 2) + 0.0:.2f}"


def ratio_row(
    trials: Trials, key: str, kind: str, contender: Contender, other: Contender, limit: float, where: str
) -> Row:
    """The calls of a contender divided by those of another, at each point."""
    study = trials[key]
    pairs = zip(trials.medians(study, contender, kind), trials.medians(study, other, kind), strict=True)
    ratios = [float(ours / theirs) if np.isfinite(ours) else np.inf for ours, theirs in pairs]
    return Row(where, ", ".join(f"{ratio:.2f}" for ratio in ratios), judge(ratios, limit))
