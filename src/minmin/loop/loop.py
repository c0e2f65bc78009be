"""The loop: runs one method on one problem until a stopping rule, an error or the user ends it."""

from __future__ import annotations

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np

from minmin.core.bound import Bound
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, first_array
from minmin.errors import CheckpointError, MinMinError
from minmin.loop.checkpoint import Checkpoint
from minmin.loop.clock import Clock
from minmin.loop.progress import Progress
from minmin.loop.recorder import ExtraMetrics, Recorded, Recorder
from minmin.loop.stopping import BudgetedTally, End, Progressing, RunEnded, StoppingCriteria, StoppingRules
from minmin.methods.base import Candidate, Method
from minmin.result import Result

_SAME_VALUE = 1e-6
"""Two values of the same f at the same point agree to this, whatever the library: single precision has seven digits."""


class Best(NamedTuple):
    """The candidate with the lowest bound, and the number of its step."""

    candidate: Candidate
    step: int


class Snapshot(NamedTuple):
    """A run between two iterations: everything that a checkpoint holds.

    Attributes
    ----------
    state : NamedTuple
        The state of the method.
    best : Best
    steps : int
    progress : Progressing
    known_range : pair of float
        The highest proved lower bound on f, and the lowest value seen.
    counts : tuple of pairs
        How often each kind of quantity was computed.
    values : int
        How many values were computed for the history alone.
    recorded_step : int
        The step that was recorded last; -1 if none was.
    rows : tuple of tuples
        The history.
    seconds : float
    """

    state: Any
    best: Best
    steps: int
    progress: Progressing
    known_range: tuple[float, float]
    counts: tuple[tuple[str, int], ...]
    values: int
    recorded_step: int
    rows: tuple[tuple[Any, ...], ...]
    seconds: float


SNAPSHOT_TYPES = (Snapshot, Best, Progressing, Candidate, Bound)
"""The NamedTuples in every checkpoint, besides those of the method's state."""


class Loop:
    """One run of one method on one problem.

    Parameters
    ----------
    problem : Problem
        With the blocks in the user's order.
    method : Method
        Already checked against the problem.
    outer : Outer
        The block that the method calls x.
    start : pair of vectors
        x and y, in the user's order.
    criteria : StoppingCriteria
    clock : Clock
        Running.
    callback, progress, extra_metrics
        See :class:`Recorder`.
    file : Checkpoint, optional
    why : str
        Why this method was chosen, for the message.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        outer: Outer,
        start: tuple[Vector, Vector],
        criteria: StoppingCriteria,
        clock: Clock,
        *,
        callback: Any = None,
        progress: Progress | None = None,
        extra_metrics: ExtraMetrics | None = None,
        file: Checkpoint | None = None,
        why: str = "",
    ):
        self._method = method
        self._why = why
        self._clock = clock
        self._file = file
        self._tally = BudgetedTally(criteria, clock)
        self._problem = outer.orient(problem.counted(self._tally))
        self._recorder = Recorder(problem, outer, clock, self._tally, callback, progress, extra_metrics)
        self._rules = StoppingRules(criteria, method.patience(self._problem))
        self._observes_always = criteria.target_value is not None or self._recorder.is_watched()
        self._newest_only = problem.y_is_remote
        self._steps = 0
        self._candidate = Candidate(*outer.pair(*start))
        self._best = Best(self._candidate, 0)
        self._snapshot: Snapshot | None = None

    def run(self) -> Result:
        """Run from the start, or resume from the checkpoint."""
        # Overflow is reported by our own errors, and underflow is harmless, so NumPy's warnings are not needed.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            try:
                end = self._iterate_and_save()
                try:
                    return self._choose_result(end)
                except RunEnded:  # the clients that ended the run cannot compute f either
                    last = self._recorder.last
                    return self._make_result(
                        last or self._recorder.record_without_value(self._candidate, self._steps), end
                    )
            except MinMinError as error:
                if self._recorder.last is not None:
                    error.result = self._recover_result(self._recorder.last, End("interrupted", str(error)))
                raise

    def _iterate_and_save(self) -> End:
        """Iterate, and write the checkpoint however the iterations end."""
        try:
            return self._iterate()
        finally:
            if self._file is not None and self._snapshot is not None:
                self._file.write(self._snapshot)

    def _iterate(self) -> End:
        try:
            state, end = self._begin()
            while end is None:
                state = self._method.step(self._problem, state)
                self._steps += 1
                self._candidate = state.candidate
                self._recorder.measure(self._candidate)
                end = self._check_after_step()
                self._take_snapshot(state)
        except RunEnded as ended:
            with contextlib.suppress(RunEnded):  # this is the last chance to measure
                self._recorder.measure(self._candidate)
            return ended.end
        except KeyboardInterrupt:
            return End("interrupted", "interrupted from the keyboard")
        return end

    def _begin(self) -> tuple[Any, End | None]:
        """The first state, or the state in the checkpoint."""
        state = self._method.init(self._problem, self._candidate.x, self._candidate.y)
        types = (*self._method.state_types, *SNAPSHOT_TYPES)
        snapshot = None if self._file is None else self._file.read(types, first_array(self._candidate.x))
        if snapshot is None:
            with contextlib.suppress(RunEnded):  # the first step asks the same clients and fails in the same way
                self._recorder.measure(self._candidate)
            end = self._observe()
            self._take_snapshot(state)
            return state, end
        self._restore(snapshot)
        record = self._recorder.record(self._candidate, self._steps)
        last = self._recorder.last if snapshot.recorded_step == self._steps else None
        self._recorder.restore(snapshot.rows, snapshot.values, snapshot.known_range, last)
        return snapshot.state, self._rules.check_tol(self._candidate.bound) or self._rules.check_target(record.value)

    def _restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot. Callables have no fingerprint, so f at the start is compared instead."""
        now, then = self._recorder.record(self._candidate, 0).value, snapshot.rows[0][2]
        if not math.isnan(now) and not math.isclose(now, then, rel_tol=_SAME_VALUE):
            raise CheckpointError(
                f"the checkpoint belongs to another problem: f at the start was {then:.10g} and is {now:.10g}; "
                "give another path, or remove the file to start again"
            )
        self._snapshot = snapshot
        self._candidate, self._best, self._steps = snapshot.state.candidate, snapshot.best, snapshot.steps
        self._rules.progress = snapshot.progress
        self._tally.counts = dict(snapshot.counts)
        self._clock.advance(snapshot.seconds)

    def _take_snapshot(self, state: Any) -> None:
        """Take a snapshot between two iterations, and write it if a write is due."""
        if self._file is None:
            return
        recorder = self._recorder
        self._snapshot = Snapshot(
            state=state,
            best=self._best,
            steps=self._steps,
            progress=self._rules.progress,
            known_range=(recorder.lower_bound, recorder.lowest_value),
            counts=tuple(self._tally.counts.items()),
            values=recorder.values_computed,
            recorded_step=-1 if recorder.last is None else recorder.last.step,
            rows=recorder.history.rows(),
            seconds=self._clock.elapsed(),
        )
        with self._clock.pause():
            self._file.write_when_due(self._snapshot)

    def _check_after_step(self) -> End | None:
        candidate = self._candidate
        if candidate.bound.value <= self._best.candidate.bound.value:
            self._best = Best(candidate, self._steps)
        at_floor = self._rules.is_at_rounding_level(candidate.bound)
        observes = self._observes_always or self._recorder.is_due(self._steps) or at_floor
        requested = self._observe() if observes else None
        converged = self._rules.check_tol(candidate.bound)
        if converged is not None:
            return self._find_refutation() or converged
        falls = at_floor and self._rules.still_falls(candidate, self._last_value())
        if falls:
            self._best = Best(candidate, self._steps)
        best = self._best.candidate.bound
        return requested or self._rules.check_progress(self._steps, candidate, best, hidden=at_floor and not falls)

    def _find_refutation(self) -> End | None:
        """The end of a run whose estimated bound an earlier value of f refutes."""
        if self._candidate.bound.basis != "estimate":
            return None
        last = self._recorder.last
        if last is None or last.step != self._steps:
            self._recorder.record(self._candidate, self._steps)
        reason = self._recorder.refute_estimate()
        return None if reason is None else End("stalled", reason)

    def _last_value(self) -> float:
        return math.nan if self._recorder.last is None else self._recorder.last.record.value

    def _observe(self) -> End | None:
        """Record the candidate and show it to the callback; the end of the run, if one of them asks for it."""
        record = self._recorder.record(self._candidate, self._steps)
        requested = self._recorder.show(record, self._steps)
        return self._rules.check_target(record.value) or requested

    def _choose_result(self, end: End) -> Result:
        """A converged run returns its newest candidate, any other run the one with the lowest bound."""
        newest = end.status == "converged" or self._newest_only
        chosen = Best(self._candidate, self._steps) if newest else self._best
        last = self._recorder.last
        if last is None or last.step != chosen.step:
            self._recorder.record(chosen.candidate, chosen.step)
            last = self._recorder.last
        assert last is not None
        return self._make_result(last, end)

    def _recover_result(self, last: Recorded, end: End) -> Result:
        """The best candidate of a run that failed, or the last one recorded if f cannot be computed there."""
        try:
            return self._choose_result(end)
        except MinMinError:
            return self._make_result(last, end)

    def _make_result(self, last: Recorded, end: End) -> Result:
        record = self._recorder.finish(last.record)
        return Result(
            x=record.x,
            y=record.y,
            fun=record.value,
            bound=record.bound,
            status=end.status,
            message="; ".join(part for part in (end.message, last.candidate.note, self._why) if part),
            method=self._method.name,
            nit=self._steps,
            seconds=record.seconds,
            calls={
                "grad_x": 0,
                "grad_y": 0,
                "value": 0,
                **self._tally.counts,
                "monitor": self._recorder.values_computed,
            },
            history=self._recorder.history,
        )
