"""The plot of a summary: coefficients with their intervals, by block; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.errors import InputError, as_count, import_extra, shorten
from minmin.estimators.blocks import resolve_blocks

if TYPE_CHECKING:
    from minmin.estimators.summary import CoefficientTable

_MOST_ROWS = 200
_LONGEST_NAME = 40
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def plot_summary(summary: CoefficientTable, columns: Any, top: int) -> Any:
    """One line per column of X, from the top in the order of the table; one panel per class or target.

    Only the ``top`` columns of the largest ``|z|`` are shown.
    """
    matplotlib = import_extra("matplotlib.figure", "summary.plot()", "matplotlib", "plot")
    if not 0 < as_count(top, "top") <= _MOST_ROWS:
        raise InputError(f"top = {top}: a plot shows 1 to {_MOST_ROWS} columns; give one of these numbers")
    kind = next((name for name in ("class", "target") if name in summary.columns), None)
    panels = [""] if kind is None else [f"{kind} {one}" for one in dict.fromkeys(summary[kind].tolist())]
    shown = np.flatnonzero(summary["block"] != "").reshape(-1, len(panels))
    if columns is not None:
        names = summary["name"][shown[:, 0]].tolist()
        shown = shown[resolve_blocks({"columns": columns}, None, len(names), names)["columns"]]
    size = np.nan_to_num(np.abs(summary["z"][shown])).max(axis=1)
    rows = np.sort(np.argsort(-size, kind="stable")[:top])
    figure = matplotlib.Figure(figsize=(2.5 + 3.5 * len(panels), 1.3 + 0.22 * len(rows)), layout="constrained")
    if len(rows) < len(shown):
        figure.suptitle(f"{len(rows)} of {len(shown)} columns: the largest |z|", fontsize="medium")
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    names, of_rows = summary["name"][shown[rows, 0]], summary["block"][shown[rows, 0]]
    blocks = list(dict.fromkeys(of_rows.tolist()))
    heights = np.arange(len(rows))
    for axis, panel, here in zip(axes, panels, shown[rows].T, strict=True):
        for number, block in enumerate(blocks):
            middle, low, high = (summary[name][here[of_rows == block]] for name in ("coefficient", "low", "high"))
            axis.errorbar(
                middle,
                heights[of_rows == block],
                xerr=[middle - low, high - middle],
                fmt="o",
                markersize=4,
                color=_COLOURS[number % len(_COLOURS)],
                label=block,
            )
        axis.axvline(0.0, color="#888888", linewidth=1)
        axis.set(
            xlabel=f"coefficient, interval of {100.0 * summary.level:g} %", ylim=(len(rows) - 0.5, -0.5), title=panel
        )
        axis.set_yticks(heights, [shorten(name, _LONGEST_NAME) for name in names], parse_math=False)
        axis.grid(alpha=0.3, axis="x")
    if len(blocks) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return figure
