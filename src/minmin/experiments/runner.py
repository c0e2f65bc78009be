"""Runs all tasks of a report on all cores, and records each as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.journal import Journal
from minmin.experiments.machine import usable_cores
from minmin.experiments.race import Outcome, Task, race
from minmin.experiments.relatives.trials import is_trial, run_trial, trial_tasks
from minmin.experiments.settings import select_settings

_POLL_SECONDS = 0.5
"""Windows notices a Ctrl-C only between two waits, so at most this many seconds late."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def tasks(experiments: tuple[str, ...], seeds: int) -> list[Task]:
    """All runs of these experiments; a run without random numbers needs only one seed."""
    races = [
        Task(setting.key, method, seed)
        for setting in select_settings(experiments)
        for method in setting.methods
        for seed in range(min(seeds, setting.most_seeds) if setting.is_random or CONTESTANTS[method].draws else 1)
    ]
    return [*races, *(trial_tasks(seeds) if "relatives" in experiments else [])]


def run_missing(
    journal: Journal, wanted: list[Task], tol: float, a9a: Path | None, on_progress: Callable[[int, int], None]
) -> None:
    """Run the tasks that are not in the journal. ``on_progress`` gets the number of finished and of all runs.

    After Ctrl-C the journal still has all finished runs.
    """
    missing = [task for task in wanted if task not in journal.outcomes]
    done = len(wanted) - len(missing)
    on_progress(done, len(wanted))
    if not missing:
        return
    workers = min(usable_cores(), len(missing))
    # New processes, so that the limit on threads applies from their first import on. Leaving the pool, for any reason,
    # ends them at once.
    with _one_thread_each(), _start(workers) as pool:
        for task, outcome in _each(pool.imap_unordered(partial(_run, tol, a9a), missing)):
            journal.add(task, outcome)
            done += 1
            on_progress(done, len(wanted))


def _run(tol: float, a9a: Path | None, task: Task) -> tuple[Task, Outcome]:
    return task, run_trial(task, tol) if is_trial(task) else race(task, tol, a9a)


def _each(results: Any) -> Iterator[Any]:
    """Yield the workers' results as they come."""
    while True:
        try:
            yield results.next(_POLL_SECONDS)
        except multiprocessing.TimeoutError:
            continue
        except StopIteration:
            return


def _start(workers: int) -> Any:
    with _ctrl_c_blocked():
        return multiprocessing.get_context("spawn").Pool(workers, _live_with_parent)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Make new processes ignore Ctrl-C from their first line on: they inherit the signal mask. Windows has none."""
    if sys.platform == "win32":
        yield
    else:
        resource_tracker.ensure_running()  # otherwise the first process starts it, which unblocks the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live_with_parent() -> None:
    """Make a worker ignore Ctrl-C, which its parent handles, and end if its parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@contextmanager
def _one_thread_each() -> Any:
    """Limit workers to one thread each, since they share the cores."""
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
