"""Shared by the benchmarks: a description of the machine, and timing."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def print_machine(*others: str) -> None:
    """Print the processor and the versions of minmin, NumPy, SciPy and the given packages that are installed."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    versions = {name: _version(name) for name in ("minmin", "numpy", "scipy", *others)}
    packages = ", ".join(f"{name} {number}" for name, number in versions.items() if number is not None)
    print(f"{cpu}, {platform.system()}, Python {platform.python_version()}, {packages}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def interleaved_medians(*tasks: Callable[[], object], repeats: int = 15) -> list[float]:
    """Median seconds of each task; the tasks take turns, so that other load on the machine affects all alike."""
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, times in zip(tasks, seconds, strict=True):
            start = time.perf_counter()
            task()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in seconds]
