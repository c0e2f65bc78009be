"""All runs of a report, on all cores, each written down as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.journal import Journal
from minmin.experiments.race import Task, race
from minmin.experiments.settings import settings

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def tasks(experiments: tuple[str, ...], seeds: int) -> list[Task]:
    """Every run of these experiments; where nothing is random one seed is enough."""
    return [
        Task(setting.experiment, setting.key, method, seed)
        for setting in settings(experiments)
        for method in setting.methods
        for seed in range(min(seeds, setting.most_seeds) if setting.is_random or CONTESTANTS[method].draws else 1)
    ]


def run_missing(journal: Journal, wanted: list[Task], tol: float, tell: Callable[[int, int], None]) -> None:
    """Run what the journal lacks. ``tell`` is called with the runs that are done and all that are wanted.

    On Ctrl-C the journal keeps whatever was finished.
    """
    missing = [task for task in wanted if task not in journal.outcomes]
    done = len(wanted) - len(missing)
    tell(done, len(wanted))
    if not missing:
        return
    with _one_thread_each(), _pool(len(missing)) as pool:
        try:
            waiting = {pool.submit(partial(race, task, tol)): task for task in missing}
            for future in as_completed(waiting):
                journal.add(waiting[future], future.result())
                done += 1
                tell(done, len(wanted))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pool(most: int) -> ProcessPoolExecutor:
    workers = min(len(os.sched_getaffinity(0)), most)
    # Fresh processes, so that the limit on threads holds from their first import on.
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupts)


def _ignore_interrupts() -> None:
    """Ctrl-C is for the parent, which then lets its workers go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _one_thread_each() -> Any:
    """Workers that share the cores must not each take all of them."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
