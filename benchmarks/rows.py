"""Rows on disk and on Dask: time and memory relative to rows in memory, growth, killed workers, and a cost model.

Every fit runs in a process of its own, and stops when a relative gap of 1e-6 is proved. Own memory is RssAnon, sampled
every 5 ms, minus what it is when the data are open: pages of mapped files do not count, since the system can drop them
at any time. Fits from disk may not have more data than ``--limit`` MB (RLIMIT_DATA), less than the largest data take.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import expit

import minmin
from minmin.estimators import BlockLogisticRegression
from report import print_machine
from rows_on_cluster import check_cost_model, compare_on_cluster

COLUMNS, PER_ROW, FULL, ALPHA, TOL = 100_000, 100, 4, 1e-5, 1e-6
ROWS_PER_CHUNK = 50_000


def make_chunks(rows: int) -> Iterator[tuple[Any, Any]]:
    """Rows with 96 of 99,996 sparse columns, some of them much more frequent than others, and 4 full columns."""
    truth = np.random.default_rng(0).standard_normal(COLUMNS)
    for start in range(0, rows, ROWS_PER_CHUNK):
        rng, count, drawn = np.random.default_rng([1, start]), min(ROWS_PER_CHUNK, rows - start), PER_ROW - FULL
        ranks = np.exp(rng.random((count, drawn)) * np.log(COLUMNS - FULL))  # j with density about 1/j
        sparse = np.minimum(ranks, COLUMNS - FULL - 1).astype(np.int32)
        full = np.broadcast_to(np.arange(COLUMNS - FULL, COLUMNS, dtype=np.int32), (count, FULL))
        values = np.hstack([np.full((count, drawn), drawn**-0.5), rng.standard_normal((count, FULL))])
        pointers = np.arange(0, count * PER_ROW + 1, PER_ROW, dtype=np.int32)
        indices = np.hstack([sparse, full])
        X = scipy.sparse.csr_array((values.reshape(-1), indices.reshape(-1), pointers), shape=(count, COLUMNS))
        X.sum_duplicates()
        yield X, (rng.random(count) < expit(X @ truth)).astype(np.int8)


class MemoryWatch:
    """The largest RssAnon in MB since :meth:`start`, minus what it was then."""

    def __init__(self) -> None:
        self.peak = self._before = 0.0
        self._end = threading.Event()

    def start(self) -> None:
        self._before = _own_memory()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._end.wait(0.005):
            self.peak = max(self.peak, _own_memory() - self._before)

    def stop(self) -> float:
        self._end.set()
        return self.peak


def _own_memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1024


def fit(folder: Path, kind: str, limit: float | None) -> dict[str, Any]:
    """One fit in this process: of mapped rows, of rows in memory, or by scikit-learn."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 2**20),) * 2)
    start = time.perf_counter()
    parts = minmin.datasets.open_partitions(folder)
    opened = time.perf_counter() - start
    X: Any = parts.X
    size = X.nbytes / 2**20
    if kind != "disk":
        X = scipy.sparse.vstack(X.partitions, format="csr")
    elif limit is None:
        for partition in X.partitions:  # warm: all pages are in memory
            partition.data.sum()
    watch = MemoryWatch()
    watch.start()
    start = time.perf_counter()
    if kind == "scikit-learn":
        return {**_fit_peer(X, parts.y, start), "own": watch.stop(), "size": size}
    model = BlockLogisticRegression(alpha=ALPHA, tol=TOL).fit(X, parts.y)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "run": model.result_.seconds,
        "opened": opened,
        "own": watch.stop(),
        "size": size,
        "certified": model.result_.certified and model.result_.success,
        "bound": model.gap_bound_,
        "fun": model.result_.fun,
        "gain": _null_value(parts.y) - model.result_.fun,
        "calls": model.calls_,
        "nit": model.n_iter_,
        "norm": float(np.linalg.norm(model.coef_)),
    }


def _null_value(y: Any) -> float:
    """The mean loss of the intercept alone."""
    share = float(np.mean(y))
    return -share * math.log(share) - (1.0 - share) * math.log1p(-share)


def _fit_peer(X: Any, y: Any, start: float) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=1.0 / (len(y) * ALPHA), max_iter=1000, tol=1e-4).fit(X, y)
    seconds = time.perf_counter() - start
    margins = X @ model.coef_[0] + model.intercept_
    value = np.mean(np.logaddexp(0.0, np.where(y > 0, -margins, margins))) + 0.5 * ALPHA * np.sum(model.coef_**2)
    return {"seconds": seconds, "fun": float(value), "nit": int(model.n_iter_[0])}


def run(folder: Path, kind: str, limit: float | None = None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", kind, "--folder", str(folder)]
    done = subprocess.run([*command, *(["--limit", str(limit)] if limit else [])], capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--non-zeros", type=float, nargs=3, default=[2e7, 4e7, 8e7], help="three sizes")
    parser.add_argument("--limit", type=float, default=700.0, help="MB of data that a fit from disk may have")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("rows"), help="where the data are written, and removed")
    parser.add_argument("--worker", choices=["disk", "memory", "scikit-learn"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        limit = options.limit if "--limit" in sys.argv else None
        print(json.dumps(fit(options.folder, options.worker, limit)))
        return
    print_machine()
    options.folder.mkdir()
    try:
        folders = [options.folder / f"{size:g}" for size in options.non_zeros]
        for folder, size in zip(folders, options.non_zeros, strict=True):
            start = time.perf_counter()
            minmin.datasets.write_partitions(folder, make_chunks(int(size / PER_ROW)))
            print(f"{size:g} numbers written in {time.perf_counter() - start:.1f} s", flush=True)
        _compare(folders[1], options.repeat)
        _grow(folders, options.limit)
        compare_on_cluster(folders[1])
        check_cost_model(folders[0])
    finally:
        shutil.rmtree(options.folder)


def _compare(folder: Path, repeat: int) -> None:
    print(f"\n{folder.name} non-zeros, in turns: seconds, own memory / data", flush=True)
    pairs = []
    for _ in range(repeat):
        disk, memory = run(folder, "disk"), run(folder, "memory")
        pairs.append((disk, memory))
        print(
            f"disk {disk['seconds']:.2f} s, of which the run {disk['run']:.2f} (opened in {disk['opened']:.2f}), "
            f"own memory {disk['own'] / disk['size']:.3f}; memory {memory['seconds']:.2f} s, of which the run "
            f"{memory['run']:.2f}, own memory {memory['own'] / disk['size']:.3f}; "
            f"same calls: {disk['calls'] == memory['calls']}; ratio {disk['seconds'] / memory['seconds']:.3f}; "
            f"|w| {abs(disk['norm'] / memory['norm'] - 1):.1e}, bound {abs(disk['bound'] / memory['bound'] - 1):.1e}",
            flush=True,
        )
    for what, title in (("seconds", "whole fits"), ("run", "runs alone")):
        disk, memory = (min(pair[i][what] for pair in pairs) for i in (0, 1))
        print(f"fastest of {repeat} {title}: {disk:.2f} and {memory:.2f} s, ratio {disk / memory:.3f}", flush=True)


def _grow(folders: list[Path], limit: float) -> None:
    print(f"\nfrom disk, with at most {limit:g} MB of data, and scikit-learn in memory without a limit", flush=True)
    sizes, times = [], []
    for folder in folders:
        disk, peer = run(folder, "disk", limit), run(folder, "scikit-learn")
        if "failed" in disk:
            print(f"{folder.name}: {disk['failed']}", flush=True)
            continue
        sizes.append(disk["size"])
        times.append(disk["seconds"])
        gap = (peer["fun"] - disk["fun"]) / disk["gain"]
        print(
            f"{folder.name}: {disk['size']:.0f} MB; {disk['seconds']:.1f} s, {disk['nit']} iterations, "
            f"{disk['calls']['passes']} passes, own memory {disk['own']:.0f} MB = {disk['own'] / disk['size']:.3f} of "
            f"the data, relative bound {disk['bound'] / disk['gain']:.1e}, certified: {disk['certified']}; "
            f"scikit-learn {peer['seconds']:.1f} s, {peer['nit']} iterations, relative gap {gap:.1e}, "
            f"own memory {peer['own'] / disk['size']:.3f} besides the data",
            flush=True,
        )
    if len(sizes) > 1:
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        print(f"time grows with the size to the power of {exponent:.2f}", flush=True)


if __name__ == "__main__":
    main()
