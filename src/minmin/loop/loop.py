"""The loop: runs one method on one problem until a stopping rule, an error or the user ends it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minmin.core.bound import UNKNOWN, Bound
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, first_array
from minmin.errors import DATA_LOST, CheckpointError, ConstantsError, DataLostError, MinMinError
from minmin.log import LOG
from minmin.loop.checkpoint import Checkpoint
from minmin.loop.progress import Clock, Progress
from minmin.loop.recorder import ExtraMetrics, Recorded, Recorder, SeenValue, SeenValues
from minmin.loop.stopping import (
    End,
    Progressing,
    RunEnded,
    StoppingCriteria,
    StoppingRules,
    explain_not_convex,
    make_tally,
)
from minmin.methods.base import Candidate, Method, Target
from minmin.result import Record, Result

_SAME_VALUE = 1e-6
"""Two values of the same f at the same point agree to this, whatever the library: single precision has seven digits."""


class Numbered(NamedTuple):
    """A candidate and the number of its step."""

    candidate: Candidate
    step: int


class Snapshot(NamedTuple):
    """A run between two iterations: everything that a checkpoint holds.

    Attributes
    ----------
    state : NamedTuple
        The state of the method.
    best : Numbered
        The candidate with the lowest bound.
    lowest : Numbered or None
        The candidate with the lowest recorded f, which it holds; None if the problem has no values.
    steps : int
    progress : Progressing
    seen : SeenValues
    counts : tuple of pairs
        How often each kind of quantity was computed.
    values : int
        How many values were computed for the history alone.
    recorded_step : int
        The step that was recorded last; -1 if none was.
    rows : tuple of tuples
        The history.
    seconds : float
    gradient_size : float
        What :attr:`Candidate.gradient_size` of the newest candidate is at that point itself; NaN if nobody measured it.
    """

    state: Any
    best: Numbered
    lowest: Numbered | None
    steps: int
    progress: Progressing
    seen: SeenValues
    counts: tuple[tuple[str, int], ...]
    values: int
    recorded_step: int
    rows: tuple[tuple[Any, ...], ...]
    seconds: float
    gradient_size: float


SNAPSHOT_TYPES = (Snapshot, Numbered, Progressing, SeenValues, SeenValue, Candidate, Bound)
"""The NamedTuples in every checkpoint, besides those of the method's state."""


@dataclass(eq=False)
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
    about_start : str
        A remark about the start, for the message.
    """

    problem: Problem
    method: Method
    outer: Outer
    start: tuple[Vector, Vector]
    criteria: StoppingCriteria
    clock: Clock
    _: KW_ONLY
    callback: Any = None
    progress: Progress | None = None
    extra_metrics: ExtraMetrics | None = None
    file: Checkpoint | None = None
    why: str = ""
    about_start: str = ""

    def __post_init__(self) -> None:
        problem, outer, criteria, clock = self.problem, self.outer, self.criteria, self.clock
        step: Any = self.method.step
        target = Target(criteria.tol, criteria.rtol, criteria.rtol_from)
        self._step = partial(step, target=target) if self.method.takes_target else step
        self._tally = make_tally(criteria, clock)
        self._problem = outer.orient(problem.counted(self._tally))
        self._recorder = Recorder(problem, outer, clock, self._tally, self.callback, self.progress, self.extra_metrics)
        self._rules = StoppingRules(criteria, self.method.patience(self._problem), problem)
        is_watched = self.callback is not None or self.progress is not None
        self._observes_always = criteria.needs_every_value or is_watched
        self._newest_only = problem.y_is_remote
        self._steps = 0
        self._candidate = Candidate(*outer.pair(*self.start))
        self._best = Numbered(self._candidate, 0)
        self._lowest: Numbered | None = None
        self._snapshot: Snapshot | None = None

    @property
    def has_seen_not_convex(self) -> bool:
        """Whether the run has seen that f is not convex. Then nothing is known about f - f*."""
        return bool(self._candidate.not_convex)

    def run(self) -> Result:
        """Run from the start, or resume from the checkpoint."""
        why = self.why and f"; {self.why}"
        LOG.info("%s begins, with %s as the outer block%s", self.method.name, self.outer.value, why)
        # Overflow is reported by our own errors, and underflow is harmless, so NumPy's warnings are not needed.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            try:
                end = self._iterate()
                try:
                    return self._choose_result(end)
                except (DataLostError, RunEnded):  # those who ended the run cannot compute f either
                    recorder = self._recorder
                    last = recorder.last or recorder.record_without_value(self._candidate, self._steps)
                    return self._make_result(last, end)
            except MinMinError as error:
                if self._recorder.last is not None:
                    result = self._recover_result(self._recorder.last, End("interrupted", str(error)))
                    refuted = isinstance(error, ConstantsError)
                    error.result = replace(result, bound=UNKNOWN) if refuted else result
                raise

    def _iterate(self) -> End:
        """Iterate, and write the checkpoint however the iterations end."""
        try:
            state, end = self._begin()
            while (end := end or self._rules.check_iterations(self._steps)) is None:
                state = self._step(self._problem, state)
                self._steps += 1
                self._candidate = state.candidate
                self._recorder.measure(self._candidate)
                end = self._check_after_step()
                if self.file is not None:
                    self._take_snapshot(state, self.file)
        except RunEnded as ended:
            with contextlib.suppress(RunEnded):  # this is the last chance to measure
                self._recorder.measure(self._candidate)
            return ended.end
        except DataLostError as lost:
            return End("interrupted", f"{DATA_LOST}{lost}")
        except KeyboardInterrupt as stop:
            return End("interrupted", f"interrupted {str(stop) or 'from the keyboard'}")
        finally:
            if self.file is not None and self._snapshot is not None:
                self.file.write(self._snapshot)
        return end

    def _begin(self) -> tuple[Any, End | None]:
        """The first state, or the state in the checkpoint."""
        state = self.method.init(self._problem, self._candidate.x, self._candidate.y)
        types = (*self.method.state_types, *SNAPSHOT_TYPES)
        snapshot = None if self.file is None else self.file.read(types, first_array(self._candidate.x))
        if snapshot is None:
            with contextlib.suppress(RunEnded):  # the first step asks the same clients and fails in the same way
                self._recorder.measure(self._candidate)
            end = self._observe()
            self._rules.measure_from(self._last_value())
            if self.file is not None:
                self._take_snapshot(state, self.file)
            return state, end
        self._restore(snapshot)
        value = self._recorder.record(self._candidate, self._steps).value
        last = self._recorder.last if snapshot.recorded_step == self._steps else None
        self._recorder.restore(snapshot.rows, snapshot.values, snapshot.seen, last)
        return snapshot.state, self._rules.check_target(value) or self._check_convergence(value)

    def _restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot. Callables have no fingerprint, so f at the start is compared instead."""
        now, then = self._recorder.record(self._candidate, 0).value, snapshot.rows[0][2]
        if not math.isnan(now) and not math.isclose(now, then, rel_tol=_SAME_VALUE):
            raise CheckpointError(
                f"the checkpoint belongs to another problem: f at the start was {then:.10g} and is {now:.10g}; "
                "give another path, or remove the file to start again"
            )
        self._snapshot = snapshot
        self._candidate, self._steps = snapshot.state.candidate, snapshot.steps
        if not math.isnan(snapshot.gradient_size):
            self._note_gradient_size(snapshot.gradient_size)
        self._best, self._lowest = snapshot.best, snapshot.lowest
        self._rules.progress = snapshot.progress
        self._rules.measure_from(then)
        self._tally.counts = dict(snapshot.counts)
        self.clock.advance(snapshot.seconds)

    def _take_snapshot(self, state: Any, file: Checkpoint) -> None:
        """Take a snapshot between two iterations, and write it if a write is due."""
        recorder = self._recorder
        self._snapshot = Snapshot(
            state=state,
            best=self._best,
            lowest=self._lowest,
            steps=self._steps,
            progress=self._rules.progress,
            seen=recorder.seen,
            counts=tuple(self._tally.counts.items()),
            values=recorder.values_computed,
            recorded_step=-1 if recorder.last is None else recorder.last.step,
            rows=recorder.history.rows(),
            seconds=self.clock.elapsed(),
            gradient_size=math.nan if self._candidate.measured_before else self._candidate.gradient_size,
        )
        with self.clock.pause():
            file.write_when_due(self._snapshot)

    def _check_after_step(self) -> End | None:
        candidate = self._candidate
        if candidate.revokes or candidate.bound.value <= self._best.candidate.bound.value:
            self._best = Numbered(candidate, self._steps)
        observes = self._observes_always or self._recorder.is_due(self._steps)
        requested = self._observe() if observes else None
        if requested is not None and requested.status == "converged":
            return requested
        value = self._last_value()
        at_floor = self._rules.is_at_rounding_level(candidate.bound, value)
        if at_floor and not observes:
            requested, value = self._observe(), self._last_value()
        converged = self._check_convergence(value)
        if converged is not None:
            return converged
        falls = at_floor and self._rules.still_falls(candidate, value)
        if falls:
            self._best = Numbered(candidate, self._steps)
        best = self._best.candidate.bound
        return requested or self._rules.check_progress(self._steps, candidate, best, value, at_floor and not falls)

    def _check_convergence(self, value: float) -> End | None:
        """Whether the run ends by tol, rtol or gtol; ``value`` is f at the candidate."""
        converged = self._rules.check_bound(self._candidate, value)
        if converged is None:
            return None if self._rules.criteria.gtol is None else self._check_gradients()
        return self._find_refutation() or converged

    def _check_gradients(self) -> End | None:
        """Whether both gradients are within gtol; computed at the candidate itself if its method has not."""
        candidate = self._candidate
        end = self._rules.check_gradients(candidate)
        if end is None or not candidate.measured_before:
            return end
        self._note_gradient_size(self._problem.measure_gradients(candidate.x, candidate.y, candidate.cache))
        return self._rules.check_gradients(self._candidate)

    def _note_gradient_size(self, size: float) -> None:
        """Keep the size of the gradients at the newest candidate itself."""
        self._candidate = self._candidate._replace(gradient_size=size, measured_before=False)

    def _find_refutation(self) -> End | None:
        """The end of a run whose estimated bound an earlier value of f refutes; raise if one refutes the constants."""
        if self._candidate.not_convex:
            return None
        self._recorder.compare_with_bound(self._record_once(Numbered(self._candidate, self._steps)), last=True)
        if self._candidate.bound.basis != "estimate":
            return None
        reason = self._recorder.refute_estimate()
        return None if reason is None else End("stalled", reason)

    def _last_value(self) -> float:
        return math.nan if self._recorder.last is None else self._recorder.last.record.value

    def _observe(self) -> End | None:
        """Record the candidate and show it to the callback; the end of the run, if one of them asks for it."""
        record = self._record_newest()
        requested = self._recorder.show(record, self._steps)
        return self._rules.check_target(record.value) or requested

    def _record_newest(self) -> Record:
        record = self._recorder.record(self._candidate, self._steps)
        lowest = math.inf if self._lowest is None else self._lowest.candidate.value
        assert lowest is not None
        if record.value <= lowest:  # not if f is NaN, as it is for a problem without values
            candidate = self._candidate
            known = candidate if candidate.value is not None else candidate._replace(value=record.value)
            self._lowest = Numbered(known, self._steps)
        return record

    def _choose_result(self, end: End) -> Result:
        record = self._record_once(self._choose_candidate(end))
        self._recorder.compare_with_bound(record, last=True)
        assert self._recorder.last is not None
        return self._make_result(self._recorder.last, end)

    def _record_once(self, chosen: Numbered) -> Record:
        """The record of a candidate, which was the last to be recorded or is recorded now."""
        last = self._recorder.last
        return last.record if last is not None and last.step == chosen.step else self._recorder.record(*chosen)

    def _choose_candidate(self, end: End) -> Numbered:
        """A converged run returns its newest candidate, any other run the one with the lowest proved bound.

        An estimated bound may be too low anywhere. Without a proved one the lowest f counts, or the newest candidate if
        there are no values.
        """
        newest = Numbered(self._candidate, self._steps)
        if end.status == "converged" or self._newest_only:
            return newest
        if self._best.candidate.bound.basis != "estimate":
            return self._best
        if self._recorder.last is None or self._recorder.last.step != self._steps:
            self._record_newest()
        return self._lowest or newest

    def _recover_result(self, last: Recorded, end: End) -> Result:
        """The result of a run that failed; if f cannot be computed there, the point with the lowest f, or the last."""
        try:
            return self._choose_result(end)
        except MinMinError:
            if self._lowest is not None and not self._newest_only:
                self._recorder.record(*self._lowest)
            return self._make_result(self._recorder.last or last, end)

    def _make_result(self, last: Recorded, end: End) -> Result:
        not_convex = self._candidate.not_convex or last.candidate.not_convex
        record = last.record._replace(bound=UNKNOWN) if not_convex else last.record
        record = self._recorder.finish(record)
        evidence = explain_not_convex(not_convex) if not_convex and end.status != "converged" else ""
        if end.message == self._candidate.reason or evidence in end.message:  # the message has said enough
            evidence = ""
        told = (end.message, last.candidate.note, evidence, self.about_start, self.why)
        LOG.info("%s has ended as %s after %d iterations: %s", self.method.name, end.status, self._steps, end.message)
        x, y = self._recorder.show_point(record)
        layout = self._problem.blocks
        of_blocks = {} if layout is None else {f"grad_{i}": 0 for i in range(len(layout.sizes))}
        calls = {"grad_x": 0, "grad_y": 0, **of_blocks, "value": 0, **self._tally.counts}
        return Result(
            x=x,
            y=y,
            fun=record.value,
            bound=record.bound,
            status=end.status,
            message="; ".join(part for part in told if part),
            method=self.method.name,
            nit=self._steps,
            seconds=record.seconds,
            calls=calls | {"monitor": self._recorder.values_computed},
            history=self._recorder.history,
            why_method=self.why,
        )
