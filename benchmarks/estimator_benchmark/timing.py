"""Times minmin and the peers on one objective, with checks that every time is of a sufficient fit."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from estimator_benchmark import ours
from estimator_benchmark.cache import Cache
from estimator_benchmark.minimum import Minimum, find_minimum
from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Peer, find_peers
from estimator_benchmark.tolerance import GAP, Attempt, attempt, find_tolerance

_CONTENDS = 1.6
"""Peers that are within this factor of the fastest are timed again, in turns with minmin."""
_FORM_CONTENDS = 1.2
"""The same, for the same solver with the data in another form."""
_ENOUGH_SECONDS = 30.0
_FEWEST_TURNS = 3
"""After these turns no other begins if the turns have taken so long: long runs vary less."""
_STALE = "if the tolerance comes from a cache, delete the cache"


@dataclass(frozen=True)
class PeerTime:
    """The time of a peer. If it did not reach the gap, it takes longer than ``seconds``.

    ``runs`` is the number of runs in turns; 0 for a peer that was far from the fastest and ran once, before.
    """

    name: str
    form: str
    reached: bool
    tol: float
    seconds: float
    runs: int


@dataclass(frozen=True)
class Row:
    """All that is measured on one objective."""

    name: str
    loss: str
    rows: int
    blocks: tuple[int, ...]
    classes: int
    nnz: int
    seconds: float
    turns: int
    passes: int
    steps: int
    gap: float
    why_not_certified: str | None
    peers: tuple[PeerTime, ...]

    @property
    def best(self) -> PeerTime | None:
        """The fastest peer that reached the gap; only those that ran in turns with minmin can be it."""
        return min((peer for peer in self.peers if peer.runs), key=lambda peer: peer.seconds, default=None)

    @property
    def ratio(self) -> float | None:
        """The time of the best peer, divided by ours."""
        return None if self.best is None else self.best.seconds / self.seconds

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "best": self.best and self.best.name, "ratio": self.ratio}


def time_fits(
    name: str, objective: Objective, *, repeats: int, max_seconds: float, cache_folder: Path | None, with_peers: bool
) -> Row:
    """Median seconds of processor time, on one thread, until (f - f*)/(f(0) - f*) <= GAP; ours must be proved."""
    cache = Cache(cache_folder, objective)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimum = _find_minimum(objective, cache)
        peers = [peer for peer in find_peers(objective) if peer.installed] if with_peers else []
        for peer in peers:
            peer.load()
        with threadpool_limits(limits=1):
            _require_one_thread()
            found = _find_tolerances(peers, objective, minimum.value, max_seconds, cache)
            contenders = _choose_contenders(found)
            tol = GAP * (objective.start_value - minimum.value - minimum.error)
            model = ours.fit(objective, GAP)
            tasks: dict[Any, Callable[[], object]] = {"ours": lambda: ours.fit(objective, GAP)}
            for peer in contenders:
                solve = peer.prepare(objective)
                if not attempt(solve, objective, minimum.value, found[peer].tol, math.inf).reached:
                    raise RuntimeError(f"{peer.title} no longer reaches the gap with tol {found[peer].tol:g}; {_STALE}")
                tasks[peer] = partial(solve, found[peer].tol)
            seconds, turns = _time_in_turns(tasks, repeats)
    coef = model.coef_[0] if objective.loss == "logistic" else model.coef_
    gap = objective.relative_gap(coef, minimum.value)
    times = [
        PeerTime(peer.name, peer.form, a.reached, a.tol, seconds.get(peer, a.seconds), turns * (peer in contenders))
        for peer, a in found.items()
    ]
    return Row(
        name=name,
        loss=objective.loss,
        rows=objective.data.matrix.shape[0],
        blocks=tuple(objective.data.sizes()),
        classes=objective.shape[0] if objective.loss == "softmax" else 1,
        nnz=objective.data.nnz,
        seconds=seconds["ours"],
        turns=turns,
        passes=model.calls_["passes"],
        steps=model.n_iter_,
        gap=gap,
        why_not_certified=ours.why_not_certified(model, tol) or (None if gap <= GAP else f"the gap is {gap:.1e}"),
        peers=tuple(_choose_best_forms(times)),
    )


def _find_minimum(objective: Objective, cache: Cache) -> Minimum:
    known = cache.get("minimum")
    if known is None:
        known = find_minimum(objective)
        cache.put("minimum", known)
    return Minimum(*known)


def _find_tolerances(
    peers: Sequence[Peer], objective: Objective, minimum: float, max_seconds: float, cache: Cache
) -> dict[Peer, Attempt]:
    """The run of each peer with its loosest sufficient tolerance."""
    found: dict[Peer, Attempt] = {}
    other_forms: dict[str, Attempt] = {}
    best = math.inf
    for peer in peers:
        key = f"{peer.title} {peer.version}"
        known = cache.get(key)
        if known is None:
            other = other_forms.get(peer.name)
            known = find_tolerance(peer.prepare(objective), objective, minimum, best, max_seconds, other)
            cache.put(key, known)
        found[peer] = other_forms[peer.name] = Attempt(*known)
        if found[peer].reached:
            best = min(best, found[peer].seconds)
    return found


def _choose_contenders(found: Mapping[Peer, Attempt]) -> list[Peer]:
    """The peers that may be the fastest."""
    reached = {peer: a for peer, a in found.items() if a.reached}
    fastest = min((a.seconds for a in reached.values()), default=0.0)
    of_solver = {peer.name: min(a.seconds for p, a in reached.items() if p.name == peer.name) for peer in reached}
    return [
        peer
        for peer, a in reached.items()
        if a.seconds <= _CONTENDS * fastest and a.seconds <= _FORM_CONTENDS * of_solver[peer.name]
    ]


def _time_in_turns(tasks: Mapping[Any, Callable[[], object]], repeats: int) -> tuple[dict[Any, float], int]:
    """Median seconds of each task, and the number of turns.

    All run in turns, and each turn starts with another task, so that none gains by its place in the order.
    """
    seconds: dict[Any, list[float]] = {key: [] for key in tasks}
    keys = list(tasks)
    for turn in range(repeats):
        if turn >= _FEWEST_TURNS and sum(map(sum, seconds.values())) > _ENOUGH_SECONDS:
            break
        first = turn % len(keys)
        for key in keys[first:] + keys[:first]:
            start = time.process_time()
            tasks[key]()
            seconds[key].append(time.process_time() - start)
    return {key: statistics.median(times) for key, times in seconds.items()}, len(seconds[keys[0]])


def _choose_best_forms(times: list[PeerTime]) -> list[PeerTime]:
    """For each solver, its time with the form of the data that suits it best; fast solvers first."""
    by_name: dict[str, PeerTime] = {}
    for peer in sorted(times, key=lambda peer: (not peer.reached, not peer.runs, peer.seconds)):
        by_name.setdefault(peer.name, peer)
    return list(by_name.values())


def _require_one_thread() -> None:
    several = [library["filepath"] for library in threadpool_info() if library["num_threads"] > 1]
    if several:
        raise RuntimeError(f"these libraries use several threads: {', '.join(several)}")
