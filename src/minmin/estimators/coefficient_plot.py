"""The plot of a summary: coefficients with their intervals, by block; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.errors import InputError, UnsupportedError, needs_extra

if TYPE_CHECKING:
    from minmin.estimators.summary import Summary

_MOST_ROWS = 200
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def plot_summary(summary: Summary) -> Any:
    """One line per column of X, from the top in the order of the table; one panel per class or target."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnsupportedError(needs_extra("summary.plot()", "matplotlib", "plot")) from error
    shown = summary["block"] != ""
    outputs = summary.columns.get("class", summary.columns.get("target", np.full(len(summary), "")))
    panels = list(dict.fromkeys(outputs.tolist()))
    rows = int(shown.sum()) // len(panels)
    if not 0 < rows <= _MOST_ROWS:
        raise InputError(f"a plot shows 1 to {_MOST_ROWS} columns, the summary has {rows}; choose some with columns=")
    figure = Figure(figsize=(2.5 + 3.5 * len(panels), 1.3 + 0.22 * rows), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    blocks = list(dict.fromkeys(summary["block"][shown].tolist()))
    for axis, panel in zip(axes, panels, strict=True):
        here = shown & (outputs == panel)
        heights = np.arange(rows)
        for number, block in enumerate(blocks):
            of_block = summary["block"][here] == block
            middle, low, high = (summary[name][here][of_block] for name in ("coefficient", "low", "high"))
            axis.errorbar(
                middle,
                heights[of_block],
                xerr=[middle - low, high - middle],
                fmt="o",
                markersize=4,
                color=_COLOURS[number % len(_COLOURS)],
                label=block,
            )
        axis.axvline(0.0, color="#888888", linewidth=1)
        axis.set(xlabel=f"coefficient, interval of {100.0 * summary.level:g} %", ylim=(rows - 0.5, -0.5), title=panel)
        axis.set_yticks(heights, summary["name"][here])
        axis.grid(alpha=0.3, axis="x")
    if len(blocks) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return figure
