"""The lines in the panel of a study, for the figure and for the page."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.experiments.relatives.studies import Line, Study
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.summary import Spread

_COLOURS = {
    "bam": "#0072B2",
    "nag": "#D55E00",
    "reduced-lbfgs": "#CC79A7",
    "inexact-outer": "#4D4D4D",
    "sliding": "#009E73",
    "cutting-plane": "#E69F00",
    "alternating": "#009E73",
}
"""Colours of methods, from the palette of Okabe and Ito."""


class Curve(NamedTuple):
    """A line with its style.

    Attributes
    ----------
    label, colour : str
    dash : int
        0 for a solid line; lines of the same colour in one panel have other numbers.
    calls : list of Spread
        One per point.
    promised : list of float, or None
        What theory promises, with the smallest constant that puts it above the medians.
    """

    label: str
    colour: str
    dash: int
    calls: list[Spread]
    promised: list[float] | None


def draw_curves(trials: Trials, study: Study) -> list[Curve]:
    """The curves of a study, in the order of its lines."""
    curves: list[Curve] = []
    for line in study.lines:
        colour = _COLOURS[line.contender.method]
        dash = sum(curve.colour == colour for curve in curves)
        calls = [trials.at(study, point, line.contender, line.kind) for point in study.points]
        curves.append(Curve(_label(study, line), colour, dash, calls, _promise(study, line, calls)))
    return curves


def _label(study: Study, line: Line) -> str:
    """The contender, and the kind if the contender has lines of several kinds."""
    of_contender = {other.kind for other in study.lines if other.contender is line.contender}
    return f"{line.contender.label}, {study.kinds[line.kind]}" if len(of_contender) > 1 else line.contender.label


def _promise(study: Study, line: Line, calls: list[Spread]) -> list[float] | None:
    if line.power is None:
        return None
    powers = [point.varied**line.power for point in study.points]
    constant = max(spread.median / power for spread, power in zip(calls, powers, strict=True))
    return [constant * power for power in powers] if math.isfinite(constant) else None


def name_calls(study: Study) -> str:
    """What the lines of a study count, for its axis."""
    kinds = dict.fromkeys(line.kind for line in study.lines)
    if len(kinds) > 1:
        return "calls"
    return name_kind(study.kinds[next(iter(kinds))])


def name_kind(symbol: str) -> str:
    """Calls of a gradient; minimisations have their full name already."""
    return f"{symbol} calls" if symbol.startswith("∇") else symbol
