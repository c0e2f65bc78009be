"""Rows on a Dask cluster with two workers on this machine: traffic, killed workers, peers, and a cost model."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import nnls

import minmin
from minmin.estimators import BlockLogisticRegression

ALPHA, TOL, WORKERS, KILLS = 1e-5, 1e-6, 2, 10


@contextmanager
def start_cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    here = "127.0.0.1"
    listening = {"host": here, "dashboard_address": f"{here}:0", "worker_dashboard_address": f"{here}:0"}
    options: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": None}
    with LocalCluster(**options, **listening) as cluster, Client(cluster) as client:
        yield client


def read_partition(folder: str, number: int, rows: int | None, columns: int | None) -> Any:
    """A partition of a folder in memory, or some rows and columns of it."""
    partition = minmin.datasets.open_partitions(folder).X.partitions[number]
    copied = scipy.sparse.csr_array(
        (np.array(partition.data), np.array(partition.indices), np.array(partition.indptr)), shape=partition.shape
    )
    return copied[:rows, :columns]


def open_on_cluster(folder: Path, rows: int | None = None, columns: int | None = None) -> tuple[Any, Any]:
    """X and y of a folder as Dask arrays that workers read."""
    import dask
    import dask.array

    parts = minmin.datasets.open_partitions(folder)
    starts, width = parts.X.starts, columns or parts.X.shape[1]
    sizes = [min(int(size), rows or int(size)) for size in np.diff(starts)]
    read = dask.delayed(read_partition)
    blocks = [
        dask.array.from_delayed(read(str(folder), i, rows, columns), (size, width), meta=scipy.sparse.csr_array((0, 0)))
        for i, size in enumerate(sizes)
    ]
    y = np.concatenate([parts.y[start : start + size] for start, size in zip(starts, sizes, strict=False)])
    return dask.array.concatenate(blocks), y


def fit(X: Any, y: Any, tol: float = TOL) -> BlockLogisticRegression:
    return BlockLogisticRegression(alpha=ALPHA, tol=tol).fit(X, y)


def compare_on_cluster(folder: Path) -> None:
    print(f"\n{folder.name} numbers on Dask, {WORKERS} workers", flush=True)
    parts = minmin.datasets.open_partitions(folder)
    here = fit(scipy.sparse.vstack(parts.X.partitions, format="csr"), parts.y)
    with start_cluster() as client:
        X, y = open_on_cluster(folder)
        X = client.persist(X)
        start = time.perf_counter()
        there = fit(X, y)
        seconds = time.perf_counter() - start
        _print_run(there, here, seconds)
        _fit_dask_ml(client)
    _kill_workers(folder, there)


def _print_run(there: Any, here: Any, seconds: float) -> None:
    history, passes = there.result_.history, there.calls_["passes"]
    sent, received = history.bytes_sent[-1], history.bytes_received[-1]
    most = (there.result_.x.size + there.result_.y.size) * 8 * WORKERS * 2
    print(
        f"fit {seconds:.1f} s, run {there.result_.seconds:.2f} s (in one process {here.result_.seconds:.2f}); "
        f"{history.exchanges[-1]:.0f} exchanges, {passes} passes; calls / the busiest worker's work: "
        f"{history.exchange_seconds[-1] / history.worker_seconds[-1]:.2f}; waiting {history.waiting[-1]:.0%}; "
        f"{sent / 1e6:.0f} MB sent, {received / 1e6:.0f} received, per pass {(sent + received) / passes / most:.2f} x "
        f"(d_x + d_y) x 8 x workers x 2; coefficients {_difference(there, here):.1e} apart, same counts: "
        f"{(there.n_iter_, there.calls_) == (here.n_iter_, here.calls_)}, bound "
        f"{abs(there.gap_bound_ / here.gap_bound_ - 1):.1e} apart",
        flush=True,
    )


def _difference(a: Any, b: Any) -> float:
    return float(np.abs(a.coef_ - b.coef_).max() / np.abs(b.coef_).max())


def _kill_workers(folder: Path, expected: Any) -> None:
    """Kill a worker at a random moment of a fit, on a new cluster each time; the rows are read again from the files."""
    random.seed(0)
    worst, same = 0.0, True
    for _ in range(KILLS):
        with start_cluster() as client:
            X, y = open_on_cluster(folder)
            worker = random.choice(list(client.run(os.getpid).values()))
            killer = threading.Timer(random.uniform(0.0, 2.0) * expected.result_.seconds, _kill, (worker,))
            killer.start()
            found = fit(X, y)
            killer.join()
        worst = max(worst, _difference(found, expected))
        same = same and (found.n_iter_, found.calls_) == (expected.n_iter_, expected.calls_)
    print(f"{KILLS} killed workers: coefficients at most {worst:.1e} apart, same counts: {same}", flush=True)


def _kill(worker: int) -> None:
    os.kill(worker, signal.SIGKILL)


def _fit_dask_ml(client: Any) -> None:
    """dask-ml refuses CSR blocks, so it gets dense data of its own."""
    try:
        from dask_ml.linear_model import LogisticRegression
    except ImportError:
        print("dask-ml is not installed", flush=True)
        return
    import dask.array

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 50))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ rng.standard_normal(50)))).astype(int)
    there, labels = client.persist(
        [dask.array.from_array(X, chunks=(50_000, 50)), dask.array.from_array(y, chunks=50_000)]
    )
    best = fit(X, y, tol=1e-12).result_.fun
    share = y.mean()
    null = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
    for solver in ("admm", "lbfgs", "newton"):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                peer = LogisticRegression(solver=solver, C=1.0 / (len(X) * ALPHA)).fit(there, labels)
            except Exception as error:
                print(f"dask-ml {solver}: {type(error).__name__}: {error}"[:150], flush=True)
                continue
        seconds = time.perf_counter() - start
        margins = X @ np.ravel(peer.coef_) + peer.intercept_
        value = np.mean(np.logaddexp(0.0, np.where(y > 0, -margins, margins))) + 0.5 * ALPHA * np.sum(peer.coef_**2)
        print(f"dask-ml {solver}, dense 200,000 x 50: {seconds:.1f} s, gap {(value - best) / (null - best):.1e}")
    start = time.perf_counter()
    ours = fit(there, labels)
    print(f"minmin, the same: {time.perf_counter() - start:.1f} s, proved {ours.gap_bound_ / (null - best):.1e}")


def check_cost_model(folder: Path) -> None:
    """seconds = numbers per worker x passes / speed + exchanges x latency + bytes / bandwidth, fitted and checked."""
    print(f"\nCost model, parts of {folder.name} numbers, {WORKERS} workers", flush=True)
    fitted = [(2_000, None), (10_000, None), (40_000, 20_000), (10_000, 20_000), (30_000, 50_000), (40_000, None)]
    checked = [(25_000, None), (20_000, 50_000)]
    with start_cluster() as client:
        rows, seconds = zip(*(_measure(client, folder, *size) for size in [*fitted, *checked]), strict=True)
    factors = np.array(rows)
    scale = 1.0 / np.array(seconds)
    cost, _ = nnls(factors[: len(fitted)] * scale[: len(fitted), None], np.ones(len(fitted)))
    print(
        f"{1e9 * cost[0]:.2f} ns per number and pass, {1e3 * cost[1]:.2f} ms per exchange, {1e9 * cost[2]:.2f} ns/byte"
    )
    for size, row, measured, predicted in zip([*fitted, *checked], rows, seconds, factors @ cost, strict=True):
        kind = "checked" if size in checked else "fitted"
        print(
            f"{kind}: {row[0]:.2e} numbers x passes per worker, {row[1]:.0f} exchanges, {row[2] / 1e6:.0f} MB: "
            f"{measured:.2f} s, predicted {predicted:.2f} ({predicted / measured:.2f} x)",
            flush=True,
        )


def _measure(client: Any, folder: Path, rows: int, columns: int | None) -> tuple[tuple[float, float, float], float]:
    from distributed import futures_of

    X, y = open_on_cluster(folder, rows, columns)
    X = client.persist(X)
    numbers = sum(client.gather([client.submit(_count, block) for block in futures_of(X)]))
    runs = []
    for _ in range(3):
        history = (model := fit(X, y)).result_.history
        work = numbers / WORKERS * (model.calls_["passes"] + model.calls_["hess_yy"])
        travelled = history.bytes_sent[-1] + history.bytes_received[-1]
        runs.append((history.exchange_seconds[-1], (work, history.exchanges[-1], travelled)))
    seconds, row = min(runs)
    return row, seconds


def _count(block: Any) -> int:
    return int(block.nnz)
