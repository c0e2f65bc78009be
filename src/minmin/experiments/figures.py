"""The figures of the report as PNG and PDF: those of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, and more."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import format_level, levels
from minmin.experiments.settings import GROUPS, Setting
from minmin.experiments.styles import style_of
from minmin.experiments.summary import KINDS, Summary, best_of_grid, spread, theory_line

_LABELS = {
    "grad_x": "calls of $\\nabla_x f$",
    "grad_y": "calls of $\\nabla_y f$",
    "seconds": "seconds",
}
_GAP = "$(f - f^*)\\,/\\,(f(0) - f^*)$"
_DASHES = (0, (3.5, 1.5))
_FIGURE_OF_GROUP = {"diagonal": 1, "coupled": 1, "paper": 2, "tight": 2}


def draw_figures(summary: Summary) -> dict[str, Figure]:
    """All figures of a report, by the names of their files."""
    races = [group for group in summary.groups if group in _FIGURE_OF_GROUP]
    drawn = {f"figure-{_FIGURE_OF_GROUP[group]}-{group}": _race_figure(summary, group) for group in races}
    if races:
        drawn["figure-3-seconds"] = _seconds_figure(summary, races)
    if "kappa_x" in summary.groups:
        drawn["figure-4-scaling"] = _scaling_figure(summary)
    if "clients" in summary.groups:
        drawn["figure-5-federated"] = _federated_figure(summary)
    return drawn


def render(figure: Figure) -> dict[str, bytes]:
    """A figure as the bytes of a PNG and of a PDF file; without dates, so that they are the same each time."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # both files use the layout that was computed above
    files = {}
    for kind, metadata in (("png", {}), ("pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=130, metadata=metadata)
        files[kind] = buffer.getvalue()
    return files


def _race_figure(summary: Summary, group: str) -> Figure:
    titles = {setting: _math(setting.label) for setting in summary.group(group)}
    return _rows_of_kinds(summary, titles, {kind: _LABELS[kind] for kind in KINDS}, GROUPS[group])


def _federated_figure(summary: Summary) -> Figure:
    """Rounds and bytes; of each method only the best step size."""
    settings = [*summary.group("clients"), *summary.group("squares")]
    titles = {setting: f"{GROUPS[setting.group].split(',')[0]}\n{setting.label}" for setting in settings}
    kinds = {"grad_x": "rounds", "kilobytes": "kilobytes sent, both ways, all clients"}
    title = "Rounds and bytes of federated methods, each with its best step size"
    return _rows_of_kinds(summary, titles, kinds, title)


def _rows_of_kinds(summary: Summary, titles: dict[Setting, str], kinds: dict[str, str], title: str) -> Figure:
    """One row of panels per kind of cost and one column per setting, as in the paper."""
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    panels = figure.subplots(2, len(titles), sharey=True)
    labels = _label_curves(summary, list(titles), list(kinds))
    for row, kind in zip(panels, kinds, strict=True):
        for axis, setting in zip(row, titles, strict=True):
            _draw_curves(axis, summary, setting, kind, labels)
            axis.set_xlabel(kinds[kind])
        row[0].set_ylabel(_GAP)
    for axis, text in zip(panels[0], titles.values(), strict=True):
        axis.set_title(text)
    return _finish(figure, title)


def _seconds_figure(summary: Summary, groups: list[str]) -> Figure:
    """One row of panels per group."""
    figure = Figure(figsize=(11, 1.2 + 2.8 * len(groups)), layout="constrained")
    panels = np.atleast_2d(figure.subplots(len(groups), 3, sharey=True))
    labels = _label_curves(summary, [setting for group in groups for setting in summary.group(group)], ["seconds"])
    for row, group in zip(panels, groups, strict=True):
        for axis, setting in zip(row, summary.group(group), strict=True):
            _draw_curves(axis, summary, setting, "seconds", labels)
            axis.set_title(f"{GROUPS[group]}\n{_math(setting.label)}", fontsize="small")
        row[0].set_ylabel(_GAP)
    for axis in panels[-1]:
        axis.set_xlabel(_LABELS["seconds"])
    return _finish(figure, "Seconds, one thread per run")


def _scaling_figure(summary: Summary) -> Figure:
    figure = Figure(figsize=(10, 7.6), layout="constrained")
    panels = figure.subplots(2, 2)
    for column, group in enumerate(("kappa_x", "kappa_y")):
        for axis, kind in zip(panels[:, column], KINDS, strict=True):
            _draw_scaling(axis, summary, group, kind)
            axis.set_ylabel(f"{_LABELS[kind]} to the gap {format_level(summary.tol)}")
    fixed = {"kappa_x": "\\kappa_y = 10^4", "kappa_y": "\\kappa_x = 10^2"}
    for axis, group in zip(panels[0], fixed, strict=True):
        axis.set_title(f"${fixed[group]}$ fixed, $\\{group}$ grows")
    return _finish(figure, "Calls against condition numbers, coupled quadratics, $L_x = L_y = 1$", columns=3)


def _label_curves(summary: Summary, settings: list[Setting], kinds: list[str]) -> dict[str, str]:
    """The methods of a figure with their labels; of those whose curves are the same in every panel only the first."""
    labels: dict[str, str] = {}
    first_with: dict[tuple[bytes, ...], str] = {}
    for method in settings[0].methods:
        label = CONTESTANTS[method].label
        if _is_tuned(method):
            labels[method] = label.partition(",")[0]  # only the best step size is drawn
            continue
        curves = tuple(summary.matrix(setting.key, method, kind).tobytes() for setting in settings for kind in kinds)
        first = first_with.setdefault(curves, method)
        if first == method:
            labels[method] = label
        else:
            labels[first] += f", also{label.rpartition(',')[2]}"
    return labels


def _draw_curves(axis: Axes, summary: Summary, setting: Setting, kind: str, labels: dict[str, str]) -> None:
    gaps = np.array(levels(summary.tol))
    for method in best_of_grid(summary, setting):
        if method not in labels:
            continue
        rows = summary.matrix(setting.key, method, kind)
        low, middle, high = spread(rows)
        reached = np.isfinite(middle)
        axis.plot(middle[reached], gaps[reached], **_line(method), label=labels[method])
        if len(rows) > 1:
            axis.fill_betweenx(
                gaps, low, high, where=np.isfinite(high), color=style_of(method).colour, alpha=0.18, lw=0
            )
    axis.set(xscale="log", yscale="log")
    axis.grid(alpha=0.3)


def _draw_scaling(axis: Axes, summary: Summary, group: str, kind: str) -> None:
    settings = summary.group(group)
    kappas = np.array([setting.varied for setting in settings])
    for method in settings[0].methods:
        low, middle, high = np.array([summary.at(s.key, method, summary.tol, kind) for s in settings]).T
        axis.plot(kappas, middle, marker="o", markersize=3.5, **_line(method), label=CONTESTANTS[method].label)
        axis.fill_between(kappas, low, high, color=style_of(method).colour, alpha=0.18, lw=0)
    axis.plot(
        kappas,
        theory_line(summary, group, kind),
        color="k",
        lw=1,
        ls=":",
        label="bound of Theorem 2.2 for BAM, up to a constant",
    )
    axis.set(xscale="log", yscale="log", xlabel=f"$\\{group}$")
    axis.grid(alpha=0.3)


def _line(method: str) -> dict[str, Any]:
    _, colour, dash, width = style_of(method)
    return {
        "color": colour,
        "linestyle": _DASHES if dash and not _is_tuned(method) else "-",
        "linewidth": width,
    }


def _is_tuned(method: str) -> bool:
    """Whether a method is run with several step sizes, of which a figure shows the best."""
    return "step_size" in CONTESTANTS[method].options


def _finish(figure: Figure, title: str, columns: int = 4) -> Figure:
    """Add a title and a legend with an entry per curve."""
    figure.suptitle(title)
    lines = [line for axis in figure.axes for line in axis.get_lines() if np.size(line.get_xdata())]
    entries = {str(line.get_label()): line for line in lines}
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _math(label: str) -> str:
    """The label of a setting as a formula."""
    symbol, _, value = label.replace("μ", "\\mu").partition(" = ")
    return f"${symbol} = {value}$"
