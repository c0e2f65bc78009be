"""Times BlockLogisticRegression.fit() against other packages, and the first fit in a process against the second.

Seconds to a relative gap of 1e-9, one thread each. Each package gets the loosest tolerance that reaches the gap; then
all of them run in turns. The data are converted to the form of each other package before the clock starts. fit() gets
all columns in one scipy.sparse matrix or data frame, and everything that it does is timed.
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
    """Functions that load the data sets, by name."""
    generated: dict[str, Callable[[], Model]] = {
        f"first kind, {name}": lambda penalties=penalties: Model(*clicks.first_kind(), *penalties)
        for name, penalties in clicks.FIRST_KIND_PENALTIES.items()
    }
    generated["second kind"] = lambda: Model(*clicks.second_kind(), *clicks.SECOND_KIND_PENALTIES)
    real_sets = {
        f"{name}, {alpha_x:g}, {alpha_y:g}": lambda name=name, pair=(alpha_x, alpha_y): Model(*real.load(name), *pair)
        for name, pairs in REAL_PENALTIES.items()
        for alpha_x, alpha_y in pairs
        if real.missing(name) is None
    }
    return {**generated, **real_sets}


def time_peers(model: Model, names: list[str], repeats: int, max_seconds: float, clock: Clock) -> dict[str, Timing]:
    """The timing of each package; if it reached the gap, its seconds are the median of runs in turns."""
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
    """The seconds of minmin, of the fastest other package with its ratio to fit(), and of all others."""
    cells = {name: f"{'' if t.reached else '> '}{t.seconds:.3g}" for name, t in timings.items()}
    others = {name: t.seconds for name, t in timings.items() if name in OTHERS and t.reached}
    yield from (cells.get(name, "–") for name in OURS)
    if others:
        best = min(others, key=lambda name: others[name])
        yield f"**{others[best] / timings[FIT].seconds:.2f} ×** {best}, {cells[best]}"
    else:
        yield "none"
    yield ", ".join(f"{name} {cell}" for name, cell in cells.items() if name in OTHERS)


def time_first_fits(kind: str, processes: int) -> tuple[float, float]:
    """Median seconds of the first fit in a process, and of the second."""
    command = [sys.executable, "-c", FRESH, kind]
    runs = [
        [float(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
        for _ in range(processes)
    ]
    first, second = (statistics.median(column) for column in zip(*runs, strict=True))
    return first, second


def main() -> None:
    loaders = sets()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(loaders), choices=loaders)
    parser.add_argument("--peers", nargs="*", default=OTHERS, choices=OTHERS)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--max-seconds", type=float, default=15.0, help="limit for all tolerances of one package")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor time depends less on other work")
    parser.add_argument("--processes", type=int, default=5, help="how many new processes to start for first fits")
    arguments = parser.parse_args()
    print_machine("scikit-learn", "liblinear-official", "cyanure", "glum")
    print(
        f"{arguments.clock} seconds to (f - f*)/(f(0) - f*) <= {GAP:g}, medians of {arguments.repeats} runs in turns; "
        "> means not reached\n"
    )
    print("| data | fit, sparse | fit, frame | minimize | fastest other / fit | others |")
    print(f"|{'---|' * 6}")
    for name in arguments.sets:
        peers, clock = [*OURS, *arguments.peers], CLOCKS[arguments.clock]
        timings = time_peers(loaders[name](), peers, arguments.repeats, arguments.max_seconds, clock)
        print(f"| {name} | {' | '.join(row(timings))} |", flush=True)
    print("\n| a1a, new process | first fit | second fit | difference |\n|---|---|---|---|")
    for kind in ("BlockLogisticRegression", "BlockRidge", "BlockPoissonRegressor"):
        first, second = time_first_fits(kind, arguments.processes)
        print(f"| {kind} | {first:.3f} | {second:.3f} | {first - second:.3f} |", flush=True)


if __name__ == "__main__":
    main()
