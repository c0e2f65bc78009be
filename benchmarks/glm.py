"""Logistic regression with two blocks, compared with other packages: passes, seconds to a relative gap of 1e-9, ratios.

This is a short version of the benchopt benchmark in two_block_glm/, on generated clicks. One thread each, in turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import minmin
from minmin.extend import make_start

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils import clicks
from benchmark_utils.model import Model, minimum
from benchmark_utils.peers import PEERS
from benchmark_utils.timing import Timing, time_to_gap
from report import print_machine

GAP = 1e-9
OURS = "minmin reduced-newton"
SHORT = [OURS, "scikit-learn newton-cg", "liblinear-official", "cyanure", "glum lbfgs"]
COLOURS = ["#CC79A7", "#D55E00", "#0072B2", "#009E73", "#E69F00", "#56B4E9", "#999933", "#4D4D4D", "#882255"]


def first(penalties: str) -> Callable[[int], Model]:
    return lambda seed: Model(*clicks.first_kind(seed), *clicks.FIRST_KIND_PENALTIES[penalties])


KINDS: dict[str, Callable[[int], Model]] = {
    **{f"first, {name}": first(name) for name in clicks.FIRST_KIND_PENALTIES},
    "second": lambda seed: Model(*clicks.second_kind(seed), *clicks.SECOND_KIND_PENALTIES),
}


def passes(model: Model, best: float) -> tuple[int, int]:
    """Products with X or its transpose until the gap is reached, and until it is proved."""
    problem = minmin.problems.GLM(model.X, model.Y, model.labels, alpha_x=model.alpha_x, alpha_y=model.alpha_y)
    wanted = GAP * (model.value(make_start(problem)[0], make_start(problem)[1]) - best)
    true = minmin.minimize(problem, method="reduced-newton", tol=0, target_value=best + wanted)
    proved = minmin.minimize(problem, method="reduced-newton", tol=wanted)
    return true.calls["passes"], proved.calls["passes"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--peers", nargs="*", default=SHORT, choices=PEERS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--max-seconds", type=float, default=20.0, help="limit for all tolerances of one package")
    parser.add_argument("--picture", type=Path, default=Path("report-bench.png"))
    arguments = parser.parse_args()
    print_machine("scikit-learn", "liblinear-official", "cyanure", "glum", "skglm")
    print(f"one thread each; seconds to (f - f*)/(f(0) - f*) <= {GAP:g}, medians over {arguments.seeds} seed(s)\n")
    print(f"| data | passes, gap reached / proved | {' | '.join(arguments.peers)} |")
    print(f"|{'---|' * (len(arguments.peers) + 2)}")
    curves: dict[str, dict[str, Timing]] = {}
    for kind in arguments.kinds:
        counts: list[tuple[int, int]] = []
        timings: dict[str, list[Timing]] = {name: [] for name in arguments.peers}
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            model = KINDS[kind](seed)
            best = minimum(model)
            counts.append(passes(model, best))
            for name in arguments.peers:
                if PEERS[name].why_not(model.X.shape[1] + model.Y.shape[1]) is None:
                    timings[name].append(time_to_gap(PEERS[name], model, best, GAP, max_seconds=arguments.max_seconds))
        curves[kind] = {name: of_peer[0] for name, of_peer in timings.items() if of_peer}
        print(f"| {kind} | {_range(counts)} | {' | '.join(_cells(timings, arguments.peers))} |", flush=True)
    draw(curves, arguments.picture)
    print(f"\na picture of the gap over seconds, for the first seed: {arguments.picture}")


def _range(counts: list[tuple[int, int]]) -> str:
    return " / ".join(f"{min(c)}–{max(c)}" if min(c) < max(c) else f"{c[0]}" for c in zip(*counts, strict=True))


def _cells(timings: dict[str, list[Timing]], peers: list[str]) -> list[str]:
    """Seconds, and their ratio to minmin's; > if a package did not reach the gap."""
    cells = []
    ours = statistics.median(t.seconds for t in timings[OURS]) if timings.get(OURS) else None
    for name in peers:
        if not timings[name]:
            cells.append("not installed")
            continue
        seconds = statistics.median(t.seconds for t in timings[name])
        mark = "" if all(t.reached for t in timings[name]) else "> "
        ratio = "" if ours is None or name == OURS else f" ({seconds / ours:.2g} ×)"
        cells.append(f"{mark}{seconds:.3g}{ratio}")
    return cells


def draw(curves: dict[str, dict[str, Timing]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(curves) + 0.6, 4.2), layout="constrained")
    panels: Any = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(name for timings in curves.values() for name in timings))
    for axis, (kind, timings) in zip(panels, curves.items(), strict=True):
        for name, timing in timings.items():
            seconds, gaps = zip(*timing.curve, strict=True)
            width = 2.4 if name == OURS else 1.4
            axis.plot(
                seconds, gaps, "o-", ms=3.5, lw=width, color=COLOURS[names.index(name) % len(COLOURS)], label=name
            )
        axis.set(xscale="log", yscale="log", xlabel="seconds", title=kind)
        axis.grid(alpha=0.3)
    panels[0].set_ylabel("$(f - f^*)\\,/\\,(f(0) - f^*)$")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
