"""The plot of one run; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.errors import import_extra

if TYPE_CHECKING:
    from minmin.result import Result

_AXES = {"grad_x": "calls of $\\nabla_x f$", "grad_y": "calls of $\\nabla_y f$", "seconds": "seconds"}


def plot_result(result: Result) -> Any:
    """Plot the gap bound, and f minus its lowest value, against calls of each gradient and seconds."""
    matplotlib = import_extra("matplotlib.figure", "r.plot()", "matplotlib", "plot")
    history = result.history
    figure = matplotlib.Figure(figsize=(9.5, 3.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    curves = {
        "proved bound on $f - f^*$" if result.certified else "estimate of $f - f^*$": history.gap_bound,
    }
    if np.isfinite(history.value).any():
        curves["$f$ minus the lowest $f$ of this run"] = history.value - np.nanmin(history.value)
    styles = [{"color": "#0072B2", "linestyle": "-"}, {"color": "#D55E00", "linestyle": "--"}]
    for axis, (column, label) in zip(panels, _AXES.items(), strict=True):
        for (name, values), style in zip(curves.items(), styles, strict=False):
            shown = np.isfinite(values) & (values > 0)
            axis.plot(history[column][shown], values[shown], label=name, **style)
        axis.set(xlabel=label, yscale="log")
        axis.grid(alpha=0.3)
    panels[0].set_ylabel("gap")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(f"{result.method}: {result.status}", fontsize="medium")
    return figure
