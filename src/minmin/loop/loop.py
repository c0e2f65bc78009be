"""The loop: steps of one method on one problem until something ends it."""

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
"""Values of one function at one point agree to this, whatever the library: single precision gives seven digits."""


class Best(NamedTuple):
    """The candidate with the lowest bound, and the step that it came from."""

    candidate: Candidate
    step: int


class Snapshot(NamedTuple):
    """A run between two iterations: all that a checkpoint keeps.

    Attributes
    ----------
    state : NamedTuple
        The method's.
    best : Best
    steps : int
    progress : Progressing
    known_range : pair of float
        The lower bound on f that was proved, and the lowest value seen.
    counts : tuple of pairs
        What was computed, by kind.
    values : int
        How many values were computed for the history alone.
    recorded_step : int
        The step that was recorded last; -1 where none was.
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
"""What every checkpoint holds, beside the types of the method's state."""


class Loop:
    """One run of one method on one problem.

    Parameters
    ----------
    problem : Problem
        The user's, in the user's order of the blocks.
    method : Method
        Checked against the problem.
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
        Why this method was taken, for the message.
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
        # What overflows is reported by name, and what underflows is zero, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            try:
                end = self._iterate_and_save()
                try:
                    return self._result(end)
                except RunEnded:  # whoever ended the run cannot be asked any more either
                    last = self._recorder.last
                    return self._make_result(
                        last or self._recorder.record_without_value(self._candidate, self._steps), end
                    )
            except MinMinError as error:
                if self._recorder.last is not None:
                    error.result = self._last_finite_result(self._recorder.last, End("interrupted", str(error)))
                raise

    def _iterate_and_save(self) -> End:
        """However the iterations end, what they reached is in the checkpoint then."""
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
                end = self._after_step()
                self._keep(state)
        except RunEnded as ended:
            with contextlib.suppress(RunEnded):  # this is the last moment to measure
                self._recorder.measure(self._candidate)
            return ended.end
        except KeyboardInterrupt:
            return End("interrupted", "interrupted from the keyboard")
        return end

    def _begin(self) -> tuple[Any, End | None]:
        """The first state, or the one that a checkpoint holds."""
        state = self._method.init(self._problem, self._candidate.x, self._candidate.y)
        types = (*self._method.state_types, *SNAPSHOT_TYPES)
        kept = None if self._file is None else self._file.read(types, first_array(self._candidate.x))
        if kept is None:
            with contextlib.suppress(RunEnded):  # the first step asks the same clients, and ends for the same reason
                self._recorder.measure(self._candidate)
            end = self._observe()
            self._keep(state)
            return state, end
        self._restore(kept)
        record = self._recorder.record(self._candidate, self._steps)
        last = self._recorder.last if kept.recorded_step == self._steps else None
        self._recorder.restore(kept.rows, kept.values, kept.known_range, last)
        return kept.state, self._rules.converged(self._candidate.bound) or self._rules.reached(record.value)

    def _restore(self, kept: Snapshot) -> None:
        """Callables have no fingerprint, but f at the start tells most of them apart."""
        now, then = self._recorder.record(self._candidate, 0).value, kept.rows[0][2]
        if not math.isnan(now) and not math.isclose(now, then, rel_tol=_SAME_VALUE):
            raise CheckpointError(
                f"the checkpoint belongs to another problem: f at the start was {then:.10g} and is {now:.10g}"
            )
        self._snapshot = kept
        self._candidate, self._best, self._steps = kept.state.candidate, kept.best, kept.steps
        self._rules.progress = kept.progress
        self._tally.counts = dict(kept.counts)
        self._clock.advance(kept.seconds)

    def _keep(self, state: Any) -> None:
        """Take a snapshot between two iterations, and write it if that is due."""
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
        with self._clock.stopped():
            self._file.write_when_due(self._snapshot)

    def _after_step(self) -> End | None:
        candidate = self._candidate
        if candidate.bound.value <= self._best.candidate.bound.value:
            self._best = Best(candidate, self._steps)
        at_floor = self._rules.is_at_rounding_level(candidate.bound)
        observes = self._observes_always or self._recorder.is_due(self._steps) or at_floor
        asked = self._observe() if observes else None
        converged = self._rules.converged(candidate.bound)
        if converged is not None:
            return self._find_refutation() or converged
        falls = at_floor and self._rules.still_falls(candidate, self._last_value())
        if falls:
            self._best = Best(candidate, self._steps)
        best = self._best.candidate.bound
        return asked or self._rules.stalled(self._steps, candidate, best, hidden=at_floor and not falls)

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
        """Record the candidate, and hear what whoever sees it says."""
        record = self._recorder.record(self._candidate, self._steps)
        asked = self._recorder.show(record, self._steps)
        return self._rules.reached(record.value) or asked

    def _result(self, end: End) -> Result:
        """A converged run hands back its newest candidate, any other the one with the lowest bound."""
        newest = end.status == "converged" or self._newest_only
        chosen = Best(self._candidate, self._steps) if newest else self._best
        last = self._recorder.last
        if last is None or last.step != chosen.step:
            self._recorder.record(chosen.candidate, chosen.step)
            last = self._recorder.last
        assert last is not None
        return self._make_result(last, end)

    def _last_finite_result(self, last: Recorded, end: End) -> Result:
        """The best candidate of a run that failed, or the last one recorded where not even that has a value."""
        try:
            return self._result(end)
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
