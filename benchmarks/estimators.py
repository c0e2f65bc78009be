"""BlockLogisticRegression.fit() against its peers, seconds to a relative gap of 1e-9; a first fit against a second.

One thread each. Every peer gets the loosest tolerance that reaches the gap; then all of them run in turns. Peers get
their own form of the data before the clock starts; ours is one scipy.sparse matrix of all columns, or a frame, and
everything that fit() does with it is timed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils import clicks, real
from benchmark_utils.model import Model, minimum
from benchmark_utils.peers import PEERS
from benchmark_utils.timing import Timing, time_to_gap
from report import print_machine

Clock = Callable[[], float]

GAP = 1e-9
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
FIT = "minmin estimator"
OURS = [FIT, "minmin estimator, frame", "minmin reduced-newton"]
OTHERS = [
    "scikit-learn newton-cg",
    "scikit-learn lbfgs",
    "scikit-learn liblinear",
    "liblinear-official",
    "glum lbfgs",
    "glum irls-ls",
    "cyanure",
]
REAL_PENALTIES = {
    "a9a": [(1e-3, 1e-5), (1e-5, 1e-7)],
    "w8a": [(1e-3, 1e-5), (1e-5, 1e-7)],
    "criteo": [(1e-3, 1e-5), (1e-5, 1e-7)],
}
FRESH = """
import sys, time
from minmin import datasets, estimators

X, labels = datasets.load_a1a()
for _ in range(2):
    start = time.perf_counter()
    getattr(estimators, sys.argv[1])([slice(0, 100)]).fit(X, labels > 0)
    print(time.perf_counter() - start)
"""


def sets() -> dict[str, Callable[[], Model]]:
    """All of them by name, each loaded when asked for."""
    generated: dict[str, Callable[[], Model]] = {
        f"first kind, {name}": lambda penalties=penalties: Model(*clicks.first_kind(), *penalties)
        for name, penalties in clicks.FIRST_KIND_PENALTIES.items()
    }
    generated["second kind"] = lambda: Model(*clicks.second_kind(), *clicks.SECOND_KIND_PENALTIES)
    found = {
        f"{name}, {alpha_x:g}, {alpha_y:g}": lambda name=name, pair=(alpha_x, alpha_y): Model(*real.load(name), *pair)
        for name, pairs in REAL_PENALTIES.items()
        for alpha_x, alpha_y in pairs
        if real.missing(name) is None
    }
    return {**generated, **found}


def compared(model: Model, names: list[str], repeats: int, max_seconds: float, clock: Clock) -> dict[str, Timing]:
    """Each peer's timing, with the median of runs that took turns where it reached the gap."""
    best = minimum(model)
    timings = {
        name: time_to_gap(PEERS[name], model, best, GAP, repeats=1, max_seconds=max_seconds, clock=clock)
        for name in names
        if PEERS[name].why_not(model.X.shape[1] + model.Y.shape[1]) is None
    }
    solves = {name: PEERS[name].prepare(*model) for name, timing in timings.items() if timing.reached}
    seconds: dict[str, list[float]] = {name: [] for name in solves}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            for name, solve in solves.items():
                if timings[name].seconds < max_seconds / repeats:
                    start = clock()
                    solve(timings[name].tol)
                    seconds[name].append(clock() - start)
    return {
        name: timing._replace(seconds=statistics.median(seconds[name])) if seconds.get(name) else timing
        for name, timing in timings.items()
    }


def row(timings: dict[str, Timing]) -> Iterator[str]:
    """Ours in seconds; the best peer's, and how many times as long as fit(); then every other peer's seconds."""
    cells = {name: f"{'' if t.reached else '> '}{t.seconds:.3g}" for name, t in timings.items()}
    there = {name: t.seconds for name, t in timings.items() if name in OTHERS and t.reached}
    yield from (cells.get(name, "–") for name in OURS)
    if there:
        best = min(there, key=lambda name: there[name])
        yield f"**{there[best] / timings[FIT].seconds:.2f} ×** {best}, {cells[best]}"
    else:
        yield "none"
    yield ", ".join(f"{name} {cell}" for name, cell in cells.items() if name in OTHERS)


def fresh_fits(kind: str, processes: int) -> tuple[float, float]:
    """Median seconds of the first fit of a process, and of the second."""
    command = [sys.executable, "-c", FRESH, kind]
    runs = [
        [float(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
        for _ in range(processes)
    ]
    first, second = (statistics.median(column) for column in zip(*runs, strict=True))
    return first, second


def main() -> None:
    known = sets()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(known), choices=known)
    parser.add_argument("--peers", nargs="*", default=OTHERS, choices=OTHERS)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--max-seconds", type=float, default=15.0, help="for all tolerances of one peer together")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor time is less moved by other work")
    parser.add_argument("--processes", type=int, default=5, help="fresh ones, for first fits")
    arguments = parser.parse_args()
    print_machine("scikit-learn", "liblinear-official", "cyanure", "glum")
    print(
        f"{arguments.clock} seconds to (f - f*)/(f(0) - f*) <= {GAP:g}, medians of {arguments.repeats} runs in turns; "
        "> : not reached\n"
    )
    print("| data | fit, sparse | fit, frame | minimize | best peer's time / fit's | peers |")
    print(f"|{'---|' * 6}")
    for name in arguments.sets:
        peers, clock = [*OURS, *arguments.peers], CLOCKS[arguments.clock]
        timings = compared(known[name](), peers, arguments.repeats, arguments.max_seconds, clock)
        print(f"| {name} | {' | '.join(row(timings))} |", flush=True)
    print("\n| a1a, fresh process | first fit | second fit | difference |\n|---|---|---|---|")
    for kind in ("BlockLogisticRegression", "BlockRidge", "BlockPoissonRegressor"):
        first, second = fresh_fits(kind, arguments.processes)
        print(f"| {kind} | {first:.3f} | {second:.3f} | {first - second:.3f} |", flush=True)


if __name__ == "__main__":
    main()
