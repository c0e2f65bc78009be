"""What the transport page shows: flows on a map, brackets against sweeps, and a table of sweeps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _traffic import Array, Traffic
from _traffic_demand import Bracket
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap


def draw_map(traffic: Traffic, flows: Array) -> None:
    """Links as lines, shifted to the right of their direction: width by flow, colour by flow over capacity."""
    network, nodes = traffic.network, traffic.nodes
    if nodes is None:
        print("There is no map, since there is no file of nodes.")
        return
    begin, end = nodes[network.init_node], nodes[network.term_node]
    along = (end - begin) / np.maximum(np.linalg.norm(end - begin, axis=1, keepdims=True), 1e-300)
    width = 0.5 + 5.0 * flows / flows.max()
    point = np.ptp(nodes, axis=0).max() / 400.0  # about 1/72 inch in units of the map
    shift = point * (0.6 + 0.5 * width[:, None]) * np.column_stack([along[:, 1], -along[:, 0]])
    used = np.full(len(flows), np.nan)
    used[traffic.links.varies] = flows[traffic.links.varies] / traffic.links.capacity
    figure, axes = plt.subplots(figsize=(6.4, 7.0), layout="constrained")
    colours = ListedColormap(plt.get_cmap("viridis_r")(np.linspace(0.15, 1.0, 256)))  # without the palest ones
    colours = colours.with_extremes(bad="0.75")  # where the time does not depend on the flow
    lines = LineCollection(np.stack([begin + shift, end + shift], axis=1), capstyle="butt", cmap=colours, zorder=1)
    lines.set(array=used, linewidth=width)
    axes.add_collection(lines)
    if len(nodes) <= 100:
        axes.plot(*nodes.T, "o", ms=13, mfc="white", mec="0.4", zorder=2)
        for number, place in enumerate(nodes, 1):
            axes.annotate(str(number), place, ha="center", va="center", fontsize=8, zorder=3)
    axes.set(title="The wider a link, the more traffic", aspect="equal")
    axes.margins(0.06)
    axes.axis("off")
    figure.colorbar(lines, ax=axes, label="flow / capacity; at capacity, a link is 15 % slower", shrink=0.6)


def draw_brackets(panels: dict[str, dict[str, Bracket]]) -> None:
    """A panel for each demand, a line for each method: a colour for each kind of method."""
    figure, row = plt.subplots(1, len(panels), figsize=(2.5 * len(panels), 4.4), sharey=True, layout="constrained")
    styles = _choose_styles(list(dict.fromkeys(name for brackets in panels.values() for name in brackets)))
    for axes, (title, brackets) in zip(row, panels.items(), strict=True):
        for name, bracket in brackets.items():
            sweeps = np.arange(1, len(bracket.history) + 1)
            widths = np.maximum(bracket.history, 0.6 * bracket.goal)  # all curves end inside the picture
            axes.plot(sweeps, widths, label=name, marker="o", ms=3, markevery=[-1], **styles[name])
        axes.axhline(bracket.goal, color="0.5", lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel="sweeps", title=title, ylim=(0.5 * bracket.goal, 3.0))
        axes.set_xlim(0.8, max(axes.get_xlim()[1], 12.0))  # tick labels overlap on less than a decade
    row[0].set_ylabel("width of the bracket, relative")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)


def print_table(panels: dict[str, dict[str, Bracket]]) -> None:
    """A row for each method, a column for each demand."""
    print(f"{'sweeps':26}" + "".join(f"{title:>20}" for title in panels))
    for name in dict.fromkeys(name for brackets in panels.values() for name in brackets):
        cells = [brackets[name].outcome if name in brackets else "" for brackets in panels.values()]
        print((f"{name:26}" + "".join(f"{cell:>20}" for cell in cells)).rstrip())


def show() -> None:
    """Open windows with the pictures. Tests and the documentation draw into memory, by agg, which has none."""
    if plt.get_backend().lower() != "agg":
        plt.show()


def _choose_styles(names: list[str]) -> dict[str, dict[str, str]]:
    """The same colour for names that are the same up to a comma."""
    kinds = [name.partition(",")[0] for name in names]
    colours = {kind: f"C{i}" for i, kind in enumerate(dict.fromkeys(kinds))}
    dashes = [("-", "--", ":")[kinds[:i].count(kind)] for i, kind in enumerate(kinds)]
    return {n: {"color": colours[k], "ls": dash} for n, k, dash in zip(names, kinds, dashes, strict=True)}
