"""The time of the first fit in a new process, compared with the second."""

from __future__ import annotations

import statistics
import subprocess
import sys

_FRESH = """
import sys, time
from minmin import datasets, estimators

X, labels = datasets.load_a1a()
for _ in range(2):
    start = time.perf_counter()
    getattr(estimators, sys.argv[1])([slice(0, 100)]).fit(X, labels > 0)
    print(time.perf_counter() - start)
"""


def print_first_fits(processes: int = 5) -> None:
    """Print the median seconds of both fits of each estimator."""
    print("| a1a, new process | first fit, s | second fit, s | difference, s |\n|---|---|---|---|")
    for kind in ("BlockLogisticRegression", "BlockRidge", "BlockPoissonRegressor"):
        first, second = _time(kind, processes)
        print(f"| {kind} | {first:.3f} | {second:.3f} | {first - second:.3f} |", flush=True)


def _time(kind: str, processes: int) -> tuple[float, float]:
    command = [sys.executable, "-c", _FRESH, kind]
    runs = [
        [float(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
        for _ in range(processes)
    ]
    first, second = (statistics.median(column) for column in zip(*runs, strict=True))
    return first, second
