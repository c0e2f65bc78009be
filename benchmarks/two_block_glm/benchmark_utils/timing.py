"""Seconds to a relative gap: each package runs with falling tolerances until it reaches the gap."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from benchmark_utils.model import Model, Vector
from benchmark_utils.peers import Peer

TOLERANCES = [10.0**-k for k in range(-2, 15)]
WARM_UP_TOL = 1e-3


class Timing(NamedTuple):
    """Whether a package reached the gap, its seconds to solve and to prepare the data, its tolerance and its gap.

    ``curve`` has the seconds and gaps of all tolerances that were tried.
    """

    reached: bool
    seconds: float
    prepare_seconds: float
    tol: float
    gap: float
    curve: tuple[tuple[float, float], ...] = ()


def time_to_gap(
    peer: Peer,
    model: Model,
    minimum: float,
    gap: float = 1e-9,
    tolerances: Sequence[float] = TOLERANCES,
    repeats: int = 3,
    max_seconds: float = 100.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """The median seconds with the loosest tolerance that brings the relative gap of the peer to `gap` or below.

    The tolerances fall until one suffices; then the geometric mean of it and the one before is tried, too. If none
    suffices, or all runs together take more than max_seconds, the timing is of the run with the smallest gap, and
    `reached` is False. The peer sets the number of threads. An untimed first run lets it compile. On a busy machine,
    time.process_time is the better clock for one thread.
    """
    peer.load()
    with threadpool_limits(limits=peer.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock()
        solve = peer.prepare(*model)
        prepare_seconds = clock() - start
        solve(WARM_UP_TOL)

        def run(tol: float) -> Timing:
            start = clock()
            x, y = solve(tol)
            seconds = clock() - start
            reached = model.relative_gap(x, y, minimum)
            return Timing(reached <= gap, seconds, prepare_seconds, tol, reached)

        timings: list[Timing] = []
        for tol in tolerances:
            timings.append(run(tol))
            if timings[-1].reached or sum(t.seconds for t in timings) > max_seconds:
                break
        best = min(timings, key=lambda timing: timing.gap)
        best = best._replace(curve=tuple((timing.seconds, timing.gap) for timing in timings))
        if not best.reached:
            return best
        if len(timings) > 1:
            halfway = run((timings[-2].tol * best.tol) ** 0.5)
            best = halfway._replace(curve=best.curve) if halfway.reached else best
        affordable = repeats if best.seconds < max_seconds / 10 else 1
        again = [run(best.tol).seconds for _ in range(affordable - 1)]
    return best._replace(seconds=statistics.median([best.seconds, *again]))


def fit(peer: Peer, model: Model, tol: float) -> tuple[Vector, Vector]:
    """One untimed fit, with the threads of the peer and without its warnings."""
    peer.load()
    with threadpool_limits(limits=peer.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.fit(*model, tol=tol)
