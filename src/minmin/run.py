"""One run of one method on one problem: the loop, with stopping, recording, certificates and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minmin.checkpoint import Checkpoint
from minmin.errors import CheckpointError, ConstantsError, MinMinError, NonFiniteError, UserCodeError
from minmin.methods import STATE_TYPES, Answer, Method
from minmin.oracle import Ability, Problem
from minmin.progress import Progress
from minmin.result import History, Record, Result, Status
from minmin.space import dtype_name, first_array, machine_eps, norm, own_copy, square
from minmin.stops import BudgetedTally, Clock, RunEnded, Stops
from minmin.tally import Tally

_VALUE_PRECISION = 1e-5
"""Values of f may come from single precision, whatever the dtype of x and y."""


class _End(NamedTuple):
    status: Status
    message: str


class Snapshot(NamedTuple):
    """A run between two iterations: all that a checkpoint keeps."""

    state: Any
    best: Answer
    steps: int
    worst_bounds: tuple[float, float]
    known_range: tuple[float, float]
    lowest_at_floor: float
    counts: tuple[tuple[str, int], ...]
    monitor: int
    looked: bool
    rows: tuple[tuple[float, ...], ...]
    seconds: float


class Run:
    """One run of one method on one problem."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        why: str,
        stops: Stops,
        clock: Clock,
        callback: Callable[[Record], Any] | None,
        progress: Progress | None,
        file: Checkpoint | None,
    ):
        self.method = method
        self.why = why
        self.stops = stops
        self.clock = clock
        self.callback = callback
        self.progress = progress
        self.file = file
        self.snapshot: Snapshot | None = None
        self.original = problem
        self.patience = method.patience(problem)
        self.has_values = Ability.VALUE in problem.abilities
        self.looks_always = stops.target_value is not None or callback is not None or progress is not None
        self.monitor_tally = Tally()
        self.monitored = problem.counted(self.monitor_tally)
        self.history = History(problem.meters())
        self.steps = 0
        self.worst_bound, self.worst_bound_before = 0.0, math.inf
        self.lower_bound, self.lowest_value = -math.inf, math.inf
        self.lowest_at_floor = math.inf
        self.seen: Record | None = None
        self.tally = BudgetedTally(stops, clock)
        self.problem = problem.counted(self.tally)

    def go(self, x: Any, y: Any) -> Result:
        # What overflows is reported by name, and what underflows is zero, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            try:
                end = self._iterate_and_save(x, y)
                try:
                    return self._result(end)
                except RunEnded:  # whoever ended the run cannot be asked any more either
                    return self._made_of(self.seen or self._unseen(), end)
            except MinMinError as error:
                if self.seen is not None:
                    error.result = self._last_finite_result(self.seen, _End("interrupted", str(error)))
                raise

    def _iterate_and_save(self, x: Any, y: Any) -> _End:
        """However the iterations end, what they reached is in the checkpoint then."""
        try:
            return self._iterate(x, y)
        finally:
            if self.file is not None and self.snapshot is not None:
                self.file.write(self.snapshot)

    def _last_finite_result(self, seen: Record, end: _End) -> Result:
        """The best answer of a run that failed, or the last one looked at where not even that has a value."""
        try:
            return self._result(end)
        except MinMinError:
            return self._made_of(seen, end)

    def _iterate(self, x: Any, y: Any) -> _End:
        try:
            state, end = self._begin(x, y)
            while end is None:
                state = self.method.step(self.problem, state)
                self.steps += 1
                self.answer = state.answer
                end = self._after_step()
                self._keep(state)
        except RunEnded as ended:
            return _End(ended.status, str(ended))
        except KeyboardInterrupt:
            return _End("interrupted", "interrupted from the keyboard")
        return end

    def _begin(self, x: Any, y: Any) -> tuple[Any, _End | None]:
        """The first state, or the one that a checkpoint holds."""
        state = self.method.init(self.problem, x, y)
        self.answer = self.best = state.answer
        kept = None if self.file is None else self.file.read((*STATE_TYPES, Snapshot), first_array(x))
        if kept is None:
            end = self._look()
            self._keep(state)
            return state, end
        self._require_same_values(kept)
        self.snapshot = kept
        self.best, self.steps = kept.best, kept.steps
        self.worst_bound, self.worst_bound_before = kept.worst_bounds
        self.lower_bound, self.lowest_value = kept.known_range
        self.lowest_at_floor = kept.lowest_at_floor
        self.tally.counts.update(kept.counts)
        self.clock.advance(kept.seconds)
        self.history.restore(kept.rows)
        self.answer = kept.state.answer
        record = self._record(self.answer)
        self.seen = record if kept.looked else None
        self.monitor_tally.counts["value"] = kept.monitor
        return kept.state, self._converged() or self._reached(record)

    def _require_same_values(self, kept: Snapshot) -> None:
        """Callables have no fingerprint, but f at the start tells most of them apart."""
        now, then = self._record(self.answer).value, kept.rows[0][2]
        if self.has_values and not math.isclose(now, then, rel_tol=1e-6):
            raise CheckpointError(
                f"the checkpoint belongs to another problem: f at the start was {then:.10g} and is {now:.10g}"
            )

    def _keep(self, state: Any) -> None:
        """Take a snapshot between two iterations, and write it if that is due."""
        if self.file is None:
            return
        self.snapshot = Snapshot(
            state,
            self.best,
            self.steps,
            (self.worst_bound, self.worst_bound_before),
            (self.lower_bound, self.lowest_value),
            self.lowest_at_floor,
            tuple(self.tally.counts.items()),
            self.monitor_tally["value"],
            self.seen is not None and self.seen.x is self.answer.x and self.seen.y is self.answer.y,
            self.history.rows(),
            self.clock.elapsed(),
        )
        with self.clock.stopped():
            self.file.write_when_due(self.snapshot)

    def _after_step(self) -> _End | None:
        if self.answer.gap_bound <= self.best.gap_bound:
            self.best = self.answer
        looks = self.looks_always or self._is_recorded() or self._at_rounding_level()
        seen = self._look() if looks else None
        end = self._converged() or self._stalled()
        return end if end is not None and end.status == "converged" else seen or end

    def _is_recorded(self) -> bool:
        return self.steps <= 100 or self.steps % (self.steps // 100) == 0

    def _converged(self) -> _End | None:
        bound, tol = self.answer.gap_bound, self.stops.tol
        if tol > 0.0 and bound <= tol:
            known = "is estimated, without proof, and" if self.answer.estimated else "is"
            return _End("converged", f"f(x, y) - f* <= {bound:.3g} {known} within tol = {tol:g}")
        return None

    def _stalled(self) -> _End | None:
        """The end of what floating point allows, or of what the constants explain."""
        bound = self.best.gap_bound
        if self.answer.exhausted or (self._at_rounding_level() and not self._still_falls()):
            single = dtype_name(first_array(self.answer.x)) == "float32"
            remedy = "give float64 data" if single else "ask for a larger tol"
            return _End(
                "stalled",
                f"rounding errors hide further progress below a bound of {bound:.3g}; {remedy}",
            )
        if math.isfinite(self.answer.gap_bound):
            self.worst_bound = max(self.worst_bound, self.answer.gap_bound)
        if self.steps % self.patience == 0 and math.isinf(bound) and self._bounds_are_due():
            return _End("stalled", f"no bound was found in {self.steps} iterations; is f bounded below?")
        if self.steps % self.patience == 0 and self.worst_bound > 0.0:
            if self.worst_bound > 0.5 * self.worst_bound_before:
                return _End(
                    "stalled",
                    f"over {self.patience} iterations the bound has not halved, which theory rules out; it is "
                    f"{bound:.3g} at best: rounding errors, or wrong constants (minmin.check(problem) looks for them)",
                )
            self.worst_bound_before, self.worst_bound = self.worst_bound, 0.0
        return None

    def _bounds_are_due(self) -> bool:
        """Whether somebody waits for a bound, and none is known to be coming."""
        return self.stops.tol > 0.0 and self.stops.target_value is None

    def _at_rounding_level(self) -> bool:
        """Both gradients are below their own rounding errors, and the bound that somebody waits for is out of reach."""
        floor = self.answer.gap_floor
        by_value = self.stops.tol == 0.0 and self.stops.target_value is not None
        return self.stops.tol < floor and self.answer.gap_bound <= 4.0 * floor and not by_value

    def _still_falls(self) -> bool:
        """Whether f is lower than at any earlier look at rounding level: errors are often smaller than expected.

        Then bounds say less than f does, and the answer is the best so far.
        """
        if not self.has_values:
            return False
        assert self.seen is not None
        value = self.seen.value
        visible = 4.0 * machine_eps(self.seen.x) * abs(value)
        if self.answer.gap_floor > visible and value < self.lowest_at_floor - visible:
            self.lowest_at_floor, self.best = value, self.answer
            return True
        return False

    def _look(self) -> _End | None:
        """Record the answer through the uncounted problem, and ask whoever wants to see it."""
        record = self._record(self.answer)
        if self._is_recorded():
            with self.clock.stopped():
                self.history.append(record, self.original.meters(record.x).values())
        self._check_certificate(record)
        if self.progress is not None:
            self.progress.show(record)
        stop = self.callback is not None and self.steps > 0 and self._callback_says_stop(record)
        return self._reached(record) or (_End("interrupted", "the callback asked to stop") if stop else None)

    def _reached(self, record: Record) -> _End | None:
        if self.stops.target_value is not None and record.value <= self.stops.target_value:
            return _End("converged", f"f(x, y) = {record.value:.10g} is at target_value or below")
        return None

    def _record(self, answer: Answer) -> Record:
        seconds = self.clock.elapsed()
        with self.clock.stopped():
            value = self._value_at(answer) if self.has_values else math.nan
        if self.has_values and not math.isfinite(value):
            raise NonFiniteError(f"f(x, y) = {value} after {self.steps} iterations")
        counts = self.tally["grad_x"], self.tally["grad_y"]
        self.seen_answer = answer
        self.seen = Record(*counts, value, answer.gap_bound, seconds, answer.x, answer.y)
        return self.seen

    def _unseen(self) -> Record:
        """The answer of a run that ended before anybody could look at it."""
        self.seen_answer = self.answer
        counts = self.tally["grad_x"], self.tally["grad_y"]
        return Record(*counts, math.nan, self.answer.gap_bound, self.clock.elapsed(), self.answer.x, self.answer.y)

    def _value_at(self, answer: Answer) -> float:
        return self.monitored.resumed(answer.x, answer.y, answer.carried).value

    def _check_certificate(self, record: Record) -> None:
        """No value of f may lie below what a bound from the constants, of any time, proved to be the minimum."""
        if self.answer.estimated or self.answer.by_data:
            return
        constants = self.original.constants
        if constants is None or not math.isfinite(constants.L_x):
            return
        terms = constants.L_x * square(norm(record.x)) + constants.L_y * square(norm(record.y))
        rounding = _VALUE_PRECISION * (abs(record.value) + terms)
        self.lower_bound = max(self.lower_bound, record.value - record.gap_bound - rounding)
        self.lowest_value = min(self.lowest_value, record.value + rounding)
        if self.lowest_value < self.lower_bound:
            raise ConstantsError(
                f"this run saw f = {self.lowest_value:.10g}, below {self.lower_bound:.10g}, a lower bound if mu_x = "
                f"{constants.mu_x:g} and mu_y = {constants.mu_y:g} hold and the gradients belong to f; "
                "minmin.check(problem) looks for what is wrong"
            )

    def _callback_says_stop(self, record: Record) -> bool:
        assert self.callback is not None
        with self.clock.stopped():
            try:
                answer = self.callback(record._replace(x=own_copy(record.x), y=own_copy(record.y)))
            except Exception as error:
                raise UserCodeError(f"the callback raised {type(error).__name__}: {error}") from error
        return isinstance(answer, bool | np.bool_) and bool(answer)

    def _result(self, end: _End) -> Result:
        """A converged run hands back its newest answer, any other the one with the lowest bound."""
        newest = end.status == "converged" or self.original.y_elsewhere
        answer = self.answer if newest else self.best
        record = self.seen
        if record is None or record.x is not answer.x or record.y is not answer.y:
            record = self._record(answer)
        return self._made_of(record, end)

    def _made_of(self, record: Record, end: _End) -> Result:
        seconds = self.clock.elapsed()
        record = record._replace(grad_x=self.tally["grad_x"], grad_y=self.tally["grad_y"], seconds=seconds)
        self.history.finish(record, self.original.meters(record.x).values())
        if self.progress is not None:
            self.progress.show(record, last=True)
        return Result(
            x=record.x,
            y=record.y,
            fun=record.value,
            gap_bound=record.gap_bound,
            certified=math.isfinite(record.gap_bound) and self._is_proved(self.seen_answer),
            status=end.status,
            message="; ".join(part for part in (end.message, self.seen_answer.note, self.why) if part),
            method=self.method.name,
            nit=self.steps,
            seconds=seconds,
            calls={
                "grad_x": 0,
                "grad_y": 0,
                "value": 0,
                **self.tally.counts,
                "monitor": self.monitor_tally["value"],
            },
            history=self.history,
        )

    def _is_proved(self, answer: Answer) -> bool:
        """Whether an answer's bound follows from the data, or from constants that were given or proved."""
        if answer.by_data or answer.estimated:
            return not answer.estimated
        constants = self.original.constants
        return constants is not None and constants.source != "estimated"
