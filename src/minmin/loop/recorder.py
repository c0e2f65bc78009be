"""Records a run: values of f that count as monitoring, what they refute, the history, the callback, the progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from minmin.core.arrays import Array
from minmin.core.bound import UNKNOWN, VALUE_PRECISION, Constants
from minmin.core.counting import Tally
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, copy_vector, norm, square
from minmin.errors import GRADIENT_MAY_BE_WRONG, ConstantsError, NonFiniteError, UserCodeError
from minmin.loop.progress import Clock, Progress
from minmin.loop.stopping import End
from minmin.methods.base import Candidate
from minmin.result import History, Record

_LOWER, _UPPER = 0.98, 1.02
"""Constants may be off by 1 %, as between two points of a run; a square doubles that."""


class SeenValue(NamedTuple):
    """A value of f, and the norms of the point where it was seen."""

    value: float = math.inf
    x_norm: float = 0.0
    y_norm: float = 0.0

    def size(self, constants: Constants) -> float:
        """The size of the terms that are summed in it, as far as L tells, or else mu."""
        c = constants
        L_x, L_y = (c.mu_x, c.mu_y) if math.isinf(c.L_x + c.L_y) else (c.L_x, c.L_y)
        return abs(self.value) + L_x * (self.x_norm * self.x_norm) + L_y * (self.y_norm * self.y_norm)


class SeenValues(NamedTuple):
    """The value at the start, the lowest value, and the highest proved lower bound on f."""

    start: SeenValue = SeenValue()
    lowest: SeenValue = SeenValue()
    lower_bound: float = -math.inf

    def add(self, value: float, x: Vector, y: Vector) -> SeenValues:
        """With one more value; the first is that of the start. NaN, for a function without values, changes nothing."""
        if not value < self.lowest.value:
            return self
        seen = SeenValue(value, norm(x), norm(y))
        return SeenValues(seen if math.isinf(self.start.value) else self.start, seen, self.lower_bound)

    def error(self, seen: SeenValue, constants: Constants) -> float:
        """How far a value may be off, in the lowest precision that f may have.

        Where terms cancel, as in log(eˣ + e⁻ˣ) - log 2 near 0, their size shows at the start alone.
        """
        return VALUE_PRECISION * (seen.size(constants) + self.start.size(constants))

    def prove(self, record: Record, constants: Constants) -> SeenValues:
        """With the lower bound that a record's bound proves by the constants; raise if a value is below it."""
        here, c = SeenValue(record.value, norm(record.x), norm(record.y)), constants
        lower_bound = max(self.lower_bound, here.value - record.gap_bound - self.error(here, c))
        if self.lowest.value + self.error(self.lowest, c) < lower_bound:
            _report(self.lowest.value, f", below {lower_bound:.10g}, a lower bound", c, "mu")
        return SeenValues(self.start, self.lowest, lower_bound)

    def check_start(self, record: Record, start: tuple[Vector, Vector], constants: Constants, *, smooth: bool) -> None:
        """Raise if f at the start does not fit to a record whose bound is proved by the constants.

        Let a be the start, b the record's point, g its bound, z* the minimiser, and |v|_μ² = μ_x|v_x|² + μ_y|v_y|². By
        Assumption 1.2 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, |b - z*|_μ² <= 2g and
        f(a) >= f* + |a - z*|_μ²/2, so f(a) >= f(b) - g + (|a - b|_μ - √(2g))²/2. In the same way Assumption 1.1 bounds
        f(a) from above, for an f without terms (``smooth``).
        """
        here, gap, c = SeenValue(record.value, norm(record.x), norm(record.y)), max(record.gap_bound, 0.0), constants
        value, error = self.start.value, self.error(self.start, c) + self.error(here, c)
        in_x, in_y = square(norm(record.x - start[0])), square(norm(record.y - start[1]))
        rise = max(math.sqrt(c.mu_x * in_x + c.mu_y * in_y) - math.sqrt(2.0 * gap), 0.0)
        least = here.value - gap + 0.5 * _LOWER * square(rise)
        if value + error < least:
            _report(value, f" at its start, below {least:.10g}, the least that it can be there", c, "mu")
        most_curved = max(L / mu if mu > 0.0 else math.inf for L, mu in ((c.L_x, c.mu_x), (c.L_y, c.mu_y)))
        rise = math.sqrt(c.L_x * in_x + c.L_y * in_y) + (math.sqrt(2.0 * gap * most_curved) if gap > 0.0 else 0.0)
        most = here.value + 0.5 * _UPPER * square(rise)
        if smooth and value - error > most:
            _report(value, f" at its start, above {most:.10g}, the most that it can be there", c, "L")


def _report(value: float, told: str, constants: Constants, kind: str) -> None:
    named = " and ".join(
        f"{constants.name(kind, bool(y))} = {getattr(constants, f'{kind}_{block}'):g}" for y, block in enumerate("xy")
    )
    raise ConstantsError(
        f"this run saw f = {value:.10g}{told} if {named} hold and the gradients belong to f; "
        f"a constant or {GRADIENT_MAY_BE_WRONG}"
    )


_STEPS_PER_PERCENT = 100
"""The history has a row for every step up to twice this, and later one row for every 1/100 more steps: computing f of a
large GLM costs half as much as a step."""


class ExtraMetrics(Protocol):
    """Further columns of the history: numbers or tuples of numbers, by name."""

    def update(self, x: Vector) -> None:
        """Measure at x if a measurement is due. It may send messages, and may end the run."""

    def read(self) -> Mapping[str, Any]:
        """The newest numbers, always under the same names."""


class Recorded(NamedTuple):
    """A candidate, the number of its step, and its record."""

    step: int
    candidate: Candidate
    record: Record


@dataclass(eq=False)
class Recorder:
    """Records candidates with the blocks in the user's order, while the clock is paused.

    Parameters
    ----------
    problem : Problem
        With the blocks in the user's order.
    outer : Outer
        The block that the method calls x.
    clock : Clock
    tally : Tally
        Counts what the method computes.
    callback, progress
        Both see the records.
    extra : ExtraMetrics, optional
    """

    problem: Problem
    outer: Outer
    clock: Clock
    tally: Tally
    callback: Callable[[Record], Any] | None
    progress: Progress | None
    extra: ExtraMetrics | None

    def __post_init__(self) -> None:
        self._monitor = Tally()
        self._monitored = self.problem.counted(self._monitor)
        self.history = History(self._read_extra())
        self.last: Recorded | None = None
        self.seen = SeenValues()
        self._start: tuple[Vector, Vector] | None = None

    @property
    def values_computed(self) -> int:
        """The number of values of f computed only for records."""
        return self._monitor["value"]

    def restore(self, rows: tuple[tuple[Any, ...], ...], values: int, seen: SeenValues, last: Recorded | None) -> None:
        """Continue after the records of a checkpoint."""
        self.history.restore(rows)
        self._monitor.counts["value"] = values
        self.seen = seen
        self.last = last

    def is_due(self, step: int) -> bool:
        """Whether a step belongs in the history: the first 200 do, then about one for every 1 % more steps."""
        return step <= _STEPS_PER_PERCENT or step % (step // _STEPS_PER_PERCENT) == 0

    def measure(self, candidate: Candidate) -> None:
        """Update the extra metrics."""
        if self.extra is not None:
            with self.clock.pause():
                self.extra.update(self.outer.pair(candidate.x, candidate.y)[0])

    def _read_extra(self) -> Mapping[str, Any]:
        return {} if self.extra is None else self.extra.read()

    def record(self, candidate: Candidate, step: int) -> Record:
        """Compute f at a candidate if its method has not, and make its record."""
        seconds = self.clock.elapsed()
        x, y = self.outer.pair(candidate.x, candidate.y)
        value = math.nan
        if self.problem.has_value:
            value = self._compute_value(x, y, candidate.cache) if candidate.value is None else candidate.value
            if not math.isfinite(value):
                reason = f"f may have no minimum, or {GRADIENT_MAY_BE_WRONG}" if step else "is f defined at the start?"
                reason = self.problem.evaluate(x, y).cause_of_infinity or reason
                raise NonFiniteError(f"f(x, y) = {value} after {step} iterations; {reason}")
        bound = UNKNOWN if candidate.not_convex else candidate.bound  # every bound needs a convex f
        record = Record(*self._count_gradients(), value, bound, seconds, x, y)
        self.last = Recorded(step, candidate, record)
        self._start = self._start or (x, y)
        self.seen = self.seen.add(value, x, y)
        return record

    def _compute_value(self, x: Vector, y: Vector, cache: tuple[Array, ...]) -> float:
        with self.clock.pause():
            return self._monitored.evaluate(x, y, cache).value

    def _count_gradients(self) -> tuple[int, int]:
        counts = self.tally.counts
        return counts.get("grad_x", 0), counts.get("grad_y", 0)

    def record_without_value(self, candidate: Candidate, step: int) -> Recorded:
        """The record of a candidate if f can no longer be computed."""
        x, y = self.outer.pair(candidate.x, candidate.y)
        bound = UNKNOWN if candidate.not_convex else candidate.bound
        counts = self._count_gradients()
        return Recorded(step, candidate, Record(*counts, math.nan, bound, self.clock.elapsed(), x, y))

    def show(self, record: Record, step: int) -> End | None:
        """Add a record to the history if it is due, and show it; the end of the run, if the callback asks for it."""
        if self.is_due(step):
            self.history.append(record, self._read_extra().values())
        self.compare_with_bound(record)
        if self.progress is not None:
            self.progress.show(record)
        if self.callback is not None and step > 0 and self._asks_to_stop(record):
            return End("interrupted", "the callback asked to stop")
        return None

    def finish(self, record: Record) -> Record:
        """The record with the final counts and time, which becomes the history's last row."""
        grad_x, grad_y = self._count_gradients()
        record = record._replace(grad_x=grad_x, grad_y=grad_y, seconds=self.clock.elapsed())
        self.history.finish(record, self._read_extra().values())
        if self.progress is not None:
            self.progress.show(record, last=True)
        return record

    def show_point(self, record: Record) -> tuple[Any, Any]:
        """A copy of a record's point, as the user sees it."""
        return self.problem.to_user(copy_vector(record.x), copy_vector(record.y))

    def compare_with_bound(self, record: Record, *, last: bool = False) -> None:
        """Raise if a value of f contradicts what the constants prove; ``last`` compares the value at the start, too.

        During a run two of its points name a wrong constant better than the start does.
        """
        problem = self.problem
        constants = problem.constants if record.bound.basis == "constants" else None
        if constants is None or problem.has_noisy_gradients:
            return
        self.seen = self.seen.prove(record, constants)
        if last and self._start is not None:
            smooth = not (problem.has_terms or problem.y_is_remote or math.isinf(constants.L_x + constants.L_y))
            self.seen.check_start(record, self._start, constants, smooth=smooth)

    def refute_estimate(self) -> str | None:
        """Why the last record's estimated bound is wrong: f was lower before by more than that."""
        assert self.last is not None
        record = self.last.record
        values = self.history.value[~np.isnan(self.history.value)]
        if values.size == 0:
            return None
        lowest, rounding = float(values.min()), VALUE_PRECISION * float(np.abs(values).max())
        if not record.value - lowest > record.gap_bound + rounding:
            return None
        return (
            f"f(x, y) = {record.value:.10g} cannot be within the estimated bound, since f was {lowest:.10g} before: "
            f"f may not be convex, or {GRADIENT_MAY_BE_WRONG}"
        )

    def _asks_to_stop(self, record: Record) -> bool:
        assert self.callback is not None
        with self.clock.pause():
            try:
                x, y = self.show_point(record)
                returned = self.callback(record._replace(x=x, y=y))
            except Exception as error:
                raise UserCodeError(f"the callback raised {type(error).__name__}: {error}") from error
        return isinstance(returned, bool | np.bool_) and bool(returned)
