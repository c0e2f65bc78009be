"""The figure of the studies on relatives of BAM: one panel per study that has lines."""

from __future__ import annotations

import re

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullLocator

from minmin.experiments.relatives.panels import draw_curves, name_calls
from minmin.experiments.relatives.studies import Study
from minmin.experiments.relatives.trials import Trials

_DASHES = ("-", (0, (3.5, 1.5)), "-.")
_MARKERS = "os^"
_COLUMNS = 3


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
