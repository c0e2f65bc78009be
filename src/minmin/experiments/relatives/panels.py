"""The panels of the studies on relatives of BAM: their lines, for the figure and for the page, and the figure."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullLocator

from minmin.experiments.relatives.studies import Line, Study
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.styles import COLOURS
from minmin.experiments.summary import Spread

_DASHES = ("-", (0, (3.5, 1.5)), "-.")
_MARKERS = "os^"
_COLUMNS = 3


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
        colour = COLOURS[line.contender.method]
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


def draw_relatives(trials: Trials) -> Figure:
    studies = [study for study in trials.studies if study.lines]
    rows = -(-len(studies) // _COLUMNS)
    figure = Figure(figsize=(12, 3.7 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axis, study in zip(panels, studies, strict=False):
        _draw_panel(axis, trials, study)
    for axis in panels[len(studies) :]:
        axis.set_visible(False)
    figure.suptitle("Relatives and extensions of BAM (dotted: what theory promises, up to a constant)")
    return figure


def _draw_panel(axis: Axes, trials: Trials, study: Study) -> None:
    varied = [point.varied for point in study.points]
    for curve in draw_curves(trials, study):
        low, middle, high = zip(*curve.calls, strict=True)
        style, marker = _DASHES[curve.dash], _MARKERS[curve.dash]
        axis.plot(varied, middle, color=curve.colour, ls=style, marker=marker, ms=4, lw=1.8, label=_math(curve.label))
        axis.fill_between(varied, low, high, color=curve.colour, alpha=0.18, lw=0)
        if curve.promised is not None:
            axis.plot(varied, curve.promised, color="k", lw=1, ls=":")
    axis.set(xscale="log", yscale="log")
    if max(varied) <= 10.0 * min(varied):  # too few powers of ten to read the axis by
        axis.set_xticks(varied, [f"{value:g}" for value in varied])
        axis.xaxis.set_minor_locator(NullLocator())
    if axis.get_ylim()[1] < 30.0 * axis.get_ylim()[0]:  # too few here, too: plain numbers between them
        axis.yaxis.set_major_formatter(LogFormatter())
        axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axis.set(xlabel=_math(study.axis), ylabel=_math(name_calls(study)))
    axis.set_title(_math(study.title), fontsize="medium")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="x-small", frameon=True, framealpha=0.8)


def _math(text: str) -> str:
    """Symbols such as κ_x and ∇ₓ as formulas: not every font has the letters."""
    text = text.replace("∇ₓ", "$\\nabla_x$").replace("∇ᵧ", "$\\nabla_y$")
    text = re.sub("∇([₁₂₃])", lambda found: f"$\\nabla_{' ₁₂₃'.index(found[1])}$", text).replace("ρ²", "$\\rho^2$")
    text = re.sub(r"\b([Ldκ])_(\w)", r"$\1_\2$", text)
    return re.sub(r"\$κ(_\w)\$|κ", lambda found: f"$\\kappa{found[1] or ''}$", text)
