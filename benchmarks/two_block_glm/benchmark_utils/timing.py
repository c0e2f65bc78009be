"""Seconds to a relative gap: every peer under falling tolerances, until its answer is good enough."""

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
    """What a peer took: to prepare its own form of the data, and to solve; and the gap it reached.

    And seconds and gaps of all tolerances that were tried, for a curve.
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
    """The median seconds under the loosest tolerance that brings the peer's relative gap to `gap` or below.

    The tolerances fall until that happens; the one halfway (geometrically) to the last failure is then tried too. Where
    none suffices, or all runs so far took more than max_seconds, the timing is of the best answer and says so. Runs on
    as many threads as the peer says; a first run, untimed, lets it compile. On a busy machine time.process_time is a
    better clock for one thread.
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
    """One untimed fit on the peer's threads, its warnings left out."""
    peer.load()
    with threadpool_limits(limits=peer.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.fit(*model, tol=tol)
