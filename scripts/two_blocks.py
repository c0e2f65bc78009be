"""Draw the pictures of docs/start: how a run moves in two blocks and what the tour's example costs; a result's plot.

The costs come from the code of docs/start/tour.md itself: its first two blocks are run.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import minimize as scipy_minimize

import minmin

DOCS = Path(__file__).parents[1] / "docs"
EXPENSIVE, CHEAP, GREY = "#c0392b", "#2471a3", "#8a8a8a"
START = np.array([-2.6]), np.array([1.9])
Point = tuple[float, float]


def value(x: Any, y: Any) -> Any:
    return (x - 2.0) ** 4 / 60.0 + (x - 2.0) ** 2 / 6.0 + 4.0 * (y - 0.5 * x) ** 2


def slope_x(x: Any, y: Any) -> Any:
    return (x - 2.0) ** 3 / 15.0 + (x - 2.0) / 3.0 - 4.0 * (y - 0.5 * x)


def slope_y(x: Any, y: Any) -> Any:
    return 8.0 * (y - 0.5 * x)


def trace_minmin() -> tuple[list[Point], list[Point]]:
    """The points where a run asks for the gradient in x, and for that in y."""
    in_x: list[Point] = []
    in_y: list[Point] = []

    def note(points: list[Point], slope: Any) -> Any:
        def gradient(x: Any, y: Any) -> Any:
            points.append((x[0], y[0]))
            return slope(x, y)

        return gradient

    minmin.minimize(
        lambda x, y: float(value(x, y)[0]), *START, grad_x=note(in_x, slope_x), grad_y=note(in_y, slope_y), tol=1e-2
    )
    return in_x, in_y


def trace_descent(steps: int = 14) -> list[Point]:
    """The points of steepest descent in both blocks at once, with the best step each time."""
    points = [(START[0][0], START[1][0])]
    for _ in range(steps):
        x, y = points[-1]
        d_x, d_y = -slope_x(x, y), -slope_y(x, y)
        best = scipy_minimize(lambda t, x=x, y=y, d_x=d_x, d_y=d_y: value(x + t[0] * d_x, y + t[0] * d_y), [0.1]).x[0]
        points.append((x + best * d_x, y + best * d_y))
    return points


def count_calls_of_tour() -> tuple[int, dict[str, int]]:
    """Calls of L-BFGS-B, and of minmin, on the example of the tour."""
    page = (DOCS / "start" / "tour.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]:
            exec(code, namespace)
    return namespace["calls"], namespace["r"].calls


def draw_valley(axes: Axes) -> None:
    x, y = np.meshgrid(np.linspace(-3.4, 4.4, 300), np.linspace(-2.2, 2.6, 300))
    axes.contour(x, y, value(x, y), levels=np.geomspace(0.05, 60.0, 12), colors="#d0d0d0", linewidths=0.8)
    floor = np.linspace(-3.4, 4.4, 2)
    axes.plot(floor, 0.5 * floor, color=CHEAP, linestyle="--", linewidth=1.0, label="the best y for every x")
    joint = np.array(trace_descent())
    axes.plot(*joint.T, color=GREY, linewidth=1.0, marker=".", markersize=4, label="gradient steps in both blocks")
    in_x, in_y = trace_minmin()
    path = np.array(in_y)
    axes.plot(*path.T, color=CHEAP, linewidth=1.2, marker="o", markersize=3, label=f"minmin: ∇ᵧf, {len(in_y)} calls")
    axes.plot(
        *np.array(in_x).T,
        color=EXPENSIVE,
        linestyle="none",
        marker="o",
        markersize=9,
        fillstyle="none",
        markeredgewidth=1.8,
        label=f"minmin: ∇ₓf, {len(in_x)} calls",
    )
    axes.plot(2.0, 1.0, marker="*", color="black", markersize=11, linestyle="none", label="the minimum")
    axes.set(xlabel="x, expensive", ylabel="y, cheap", title="At each x, cheap calls find the best y")
    axes.legend(loc="lower right", fontsize=8, framealpha=1.0)


def draw_costs(axes: Axes) -> None:
    scipy_calls, own = count_calls_of_tour()
    names = ["SciPy's\nL-BFGS-B,\nboth blocks\nat once", "minmin"]
    expensive, cheap = [scipy_calls, own["grad_x"]], [scipy_calls, own["grad_y"]]
    places = np.arange(2.0)
    for offset, counts, color, name in ((-0.2, expensive, EXPENSIVE, "∇ₓf"), (0.2, cheap, CHEAP, "∇ᵧf")):
        bars = axes.barh(places + offset, counts, height=0.36, color=color, label=f"calls of {name}")
        axes.bar_label(bars, padding=4)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set(xlabel="calls", xlim=(0, 1.15 * scipy_calls), title="The example of the tour")
    axes.legend(loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1.0])
    draw_valley(left)
    draw_costs(right)
    figure.savefig(DOCS / "images" / "two-blocks.png", dpi=120)
    result = minmin.minimize(minmin.problems.Quadratic.random(coupling=1.0), tol=1e-6)
    result.plot().savefig(DOCS / "images" / "result-plot.png", dpi=90)


if __name__ == "__main__":
    main()
