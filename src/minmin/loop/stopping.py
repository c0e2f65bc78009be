"""When a run ends: tolerances, target, budgets, and rounding errors that hide further progress."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from minmin.core.arrays import dtype_name
from minmin.core.bound import Bound, rounding_error
from minmin.core.counting import Tally
from minmin.core.problem import Problem
from minmin.core.vectors import first_array, machine_eps, square
from minmin.errors import GRADIENT_MAY_BE_WRONG, InputError, UnsupportedError, as_count, as_number, show
from minmin.loop.progress import Clock
from minmin.methods.base import Candidate, require_flag
from minmin.result import Status

_PENALTY_OR_BOUNDS = "if some column has neither a penalty nor bounds on both sides, give it one of these"
"""What helps if the data prove no good bound, although the point may be good."""
_NEAR_FLOOR = 4.0
"""A bound of at most this times its floor is at rounding level. The bound is (|∇f| + error)²/2μ and the floor is
error²/2μ, so then |∇f| is no larger than its expected error."""

_STEPS_TO_MOVE, _LEAST_MOVE = 100, 1e-7
"""A run that only a bound can end as converged has stalled if in this many steps its bound, and f if there are values,
move by at most this fraction of the bound: 10⁸ such steps would not halve it."""


@dataclass(frozen=True)
class StoppingCriteria:
    """The user's stopping criteria; see :func:`minmin.minimize`."""

    tol: float
    rtol: float = 0.0
    rtol_from: float | None = None
    gtol: float | None = None
    target_value: float | None = None
    max_iterations: int | None = None
    max_grad_x: int | None = None
    max_grad_y: int | None = None
    max_seconds: float | None = None
    assume_convex: bool = True

    def __post_init__(self) -> None:
        off = {"tol": "0 switches this stop off", "rtol": "0 switches it off", "gtol": "None switches it off"}
        for name, remark in off.items():
            value = getattr(self, name)
            if (name != "gtol" or value is not None) and not 0.0 <= as_number(value, name) < math.inf:
                raise InputError(f"{name} = {show(value)} must be a number >= 0 ({remark})")
        if self.rtol_from is not None and not math.isfinite(as_number(self.rtol_from, "rtol_from")):
            raise InputError(f"rtol_from = {show(self.rtol_from)} must be a finite number, a value of f")
        if self.target_value is not None and not as_number(self.target_value, "target_value") < math.inf:
            raise InputError(f"target_value = {show(self.target_value)} must be a finite number")
        for name in ("max_iterations", "max_grad_x", "max_grad_y"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name)
        if self.max_seconds is not None and not as_number(self.max_seconds, "max_seconds") >= 0:
            raise InputError(f"max_seconds = {show(self.max_seconds)} must be a number >= 0")
        require_flag("assume_convex", self.assume_convex)

    @property
    def needs_every_value(self) -> bool:
        """Whether f is needed after every iteration."""
        return self.rtol > 0.0 or self.target_value is not None

    @property
    def needs_gradients_alone(self) -> bool:
        """Whether gtol can end the run as converged, and a bound cannot."""
        return self.tol == self.rtol == 0.0 and self.gtol is not None

    def check(self, problem: Problem) -> None:
        """Raise if a criterion needs values of f and the problem has none."""
        if not self.needs_every_value or problem.has_value:
            return
        name, remedy = ("rtol", "give tol") if self.rtol > 0.0 else ("target_value", "give tol or a budget")
        raise UnsupportedError(f"{name} needs values of f, which this problem does not have; {remedy}")


class End(NamedTuple):
    """How a run ended."""

    status: Status
    message: str


class RunEnded(Exception):  # noqa: N818 - passed between two layers, never seen by a user
    """Raised in the middle of a step if the run cannot, or must not, continue."""

    def __init__(self, status: Status, message: str):
        super().__init__(message)
        self.end = End(status, message)


def make_tally(criteria: StoppingCriteria, clock: Clock) -> Tally:
    """The counts of a run, with its budgets if it has any: without them a count takes a third of the time."""
    budgets = criteria.max_grad_x, criteria.max_grad_y, criteria.max_seconds
    return Tally() if budgets == (None, None, None) else _BudgetedTally(criteria, clock)


class _BudgetedTally(Tally):
    """Counts, and ends the run before a call that would exceed a budget."""

    def __init__(self, criteria: StoppingCriteria, clock: Clock):
        super().__init__()
        self._limits = {"grad_x": criteria.max_grad_x, "grad_y": criteria.max_grad_y}
        self._seconds = criteria.max_seconds
        self._clock = clock

    def add(self, kind: str) -> None:
        limit = self._limits.get(kind)
        if limit is not None and self[kind] >= limit:
            raise RunEnded("budget", f"max_{kind} = {limit} calls are spent")
        if self._seconds is not None and self._clock.elapsed() >= self._seconds:
            raise RunEnded("budget", f"max_seconds = {self._seconds:g} are spent")
        super().add(kind)


class Progressing(NamedTuple):
    """What is needed to see whether a run still makes progress.

    Attributes
    ----------
    largest_bound, largest_bound_before : float
        Over the iterations of the current period of patience, and of the one before.
    lowest_at_floor : float
        The lowest f seen at rounding level.
    bound_before, value_before : float
        The bound and f when they were last compared.
    """

    largest_bound: float = 0.0
    largest_bound_before: float = math.inf
    lowest_at_floor: float = math.inf
    bound_before: float = math.nan
    value_before: float = math.nan


class StoppingRules:
    """Decides whether a run ends at a candidate.

    Parameters
    ----------
    criteria : StoppingCriteria
    patience : int
        The number of iterations within which the largest bound must halve.
    problem : Problem
        Rounding errors in the values of its terms hide small gaps, but not small gradients.

    Attributes
    ----------
    first_value : float
        Where rtol measures from: ``rtol_from``, or f at the start; NaN if it is not known.
    progress : Progressing
    """

    def __init__(self, criteria: StoppingCriteria, patience: int, problem: Problem):
        self.criteria = criteria
        self._looks_at_gradients = problem.has_terms and criteria.needs_gradients_alone
        self._by_values = problem.grad_y_from_values
        self._errors, self._doubt = "rounding errors", GRADIENT_MAY_BE_WRONG
        if self._by_values:
            self._errors = "errors of differences of values in place of ∇ᵧf"
            self._doubt = f"there are {self._errors}; or {GRADIENT_MAY_BE_WRONG}"
        self.first_value = math.nan
        self.progress = Progressing()
        self._patience = patience

    def measure_from(self, first_value: float) -> None:
        """Let rtol measure from ``rtol_from``, or from f at the start if there is none."""
        self.first_value = first_value if self.criteria.rtol_from is None else self.criteria.rtol_from

    def check_bound(self, candidate: Candidate, value: float) -> End | None:
        """Whether the bound is within tol, or within rtol times what f has fallen; ``value`` is f there."""
        bound, tol, rtol = candidate.bound, self.criteria.tol, self.criteria.rtol
        if tol > 0.0 and bound.value <= tol:
            limit = f"tol = {tol:g}"
        elif rtol > 0.0 and bound.value <= rtol * (self.first_value - value):
            limit = f"rtol = {rtol:g} of {self.first_value - value:.3g}, by which f has fallen"
        else:
            return None
        if candidate.not_convex:
            return self._end_without_convexity(candidate, f"the point is stationary to within {limit}")
        if bound.basis == "estimate":
            told = f"f(x, y) - f* is about {bound.value:.3g}, if f is convex (estimated), within {limit}"
        else:
            told = f"f(x, y) - f* <= {bound.value:.3g} is within {limit}"
        return End("converged", told)

    def check_gradients(self, candidate: Candidate) -> End | None:
        """Whether both gradients are within gtol."""
        gtol, size = self.criteria.gtol, candidate.gradient_size
        if gtol is None or not size <= gtol:
            return None
        told = f"the largest entry of both gradients, {size:.3g}, is within gtol = {gtol:g}"
        return self._end_without_convexity(candidate, told) if candidate.not_convex else End("converged", told)

    def _end_without_convexity(self, candidate: Candidate, told: str) -> End:
        evidence = explain_not_convex(candidate.not_convex)
        if not self.criteria.assume_convex:
            return End("converged", f"{told}; {evidence}")
        return End(
            "stalled",
            f"{evidence}; the point may be a local minimum or a saddle point; "
            f"give assume_convex=False if a stationary point is enough; or {self._doubt}",
        )

    def check_target(self, value: float) -> End | None:
        """Whether f has reached the target value."""
        target = self.criteria.target_value
        if target is not None and value <= target:
            return End("converged", f"f(x, y) = {value:.10g} is at target_value or below")
        return None

    def check_iterations(self, steps: int) -> End | None:
        """Whether the budget of iterations is spent."""
        limit = self.criteria.max_iterations
        if limit is None or steps < limit:
            return None
        return End("budget", f"max_iterations = {limit} iterations are done")

    def is_at_rounding_level(self, bound: Bound, value: float) -> bool:
        """Whether both gradients are below their rounding errors, so that the bound cannot reach tol or rtol."""
        criteria = self.criteria
        by_value = criteria.tol == criteria.rtol == 0.0 and criteria.target_value is not None
        near = bound.value <= _NEAR_FLOOR * bound.floor
        return near and self._tolerance(value) < bound.floor and not (by_value or self._looks_at_gradients)

    def _tolerance(self, value: float) -> float:
        """The bound at which the run ends."""
        criteria = self.criteria
        return max(criteria.tol, criteria.rtol * (self.first_value - value)) if criteria.rtol > 0.0 else criteria.tol

    def still_falls(self, candidate: Candidate, value: float) -> bool:
        """Whether f is lower than at every earlier point at rounding level; False if f is NaN.

        Rounding errors are often smaller than expected. Then f tells more than the bound, and the candidate is the
        best so far.
        """
        visible = rounding_error(machine_eps(candidate.x), abs(value))
        falls = candidate.bound.floor > visible and value < self.progress.lowest_at_floor - visible
        if falls:
            self.progress = self.progress._replace(lowest_at_floor=value)
        return falls

    def check_progress(self, steps: int, candidate: Candidate, best: Bound, value: float, hidden: bool) -> End | None:
        """Whether the run has stalled, because of rounding errors or wrong constants.

        ``value`` is the last known f. ``hidden`` says that rounding errors hide the gain of the last step.
        """
        if candidate.reason:
            doubt = f"; or there are {self._errors}" if self._by_values else ""
            return End("stalled", candidate.reason + doubt)
        if candidate.exhausted or hidden:
            return End("stalled", self._explain_exhaustion(candidate, best))
        progress = self.progress
        # Near a minimum, a bound falls as fast as the square of the gradients.
        measure = square(candidate.gradient_size) if self._looks_at_gradients else candidate.bound.value
        if progress.largest_bound < measure < math.inf:
            progress = progress._replace(largest_bound=measure)
        if steps % _STEPS_TO_MOVE == 0 and self._waits_for_a_bound():
            bound, least = candidate.bound.value, _LEAST_MOVE * candidate.bound.value
            if (
                abs(bound - progress.bound_before) <= least < math.inf
                and not abs(value - progress.value_before) > least
            ):
                told = f"over {_STEPS_TO_MOVE} iterations neither f nor its bound has moved"
                return End("stalled", f"{told}: {self._explain_exhaustion(candidate, best)}")
            progress = progress._replace(bound_before=bound, value_before=value)
        if steps % self._patience == 0:
            if math.isinf(best.value) and self._waits_for_a_bound():
                return End(
                    "stalled",
                    f"no bound was found in {steps} iterations: f may be unbounded below, the method may give no bound "
                    f"(then give tol=0 and a budget or a target_value), or {self._doubt}",
                )
            if progress.largest_bound > 0.5 * progress.largest_bound_before:
                if self._looks_at_gradients:
                    return End("stalled", self._explain_exhaustion(candidate, best))
                advice = f"{_PENALTY_OR_BOUNDS}; else " if best.basis == "data" else "theory rules that out: "
                return End(
                    "stalled",
                    f"over {self._patience} iterations the bound has not halved; it is {best.value:.3g} at best: "
                    f"{advice}there are {self._errors}, wrong constants, or {GRADIENT_MAY_BE_WRONG}",
                )
            if progress.largest_bound > 0.0:
                progress = progress._replace(largest_bound=0.0, largest_bound_before=progress.largest_bound)
        self.progress = progress
        return None

    def _waits_for_a_bound(self) -> bool:
        """Whether only a bound can end the run as converged."""
        criteria = self.criteria
        return max(criteria.tol, criteria.rtol) > 0.0 and criteria.target_value is None and criteria.gtol is None

    def _explain_exhaustion(self, candidate: Candidate, best: Bound) -> str:
        if math.isinf(best.value):
            return f"no step makes progress, and no bound was found: f may have no minimum, or {self._doubt}"
        single = dtype_name(first_array(candidate.x)) == "float32"
        by_gradients = self.criteria.needs_gradients_alone
        remedy = "give float64 data" if single else f"give a larger {'gtol' if by_gradients else 'tol'}"
        remedy += ", or grad_y" if self._by_values else ""
        about = "an estimated bound" if best.basis == "estimate" else "a bound"
        told = f"{self._errors} hide further progress below {about} of {best.value:.3g}; {remedy}"
        if best.value <= _NEAR_FLOOR * best.floor:
            return told
        return f"{told}; or {_PENALTY_OR_BOUNDS if best.basis == 'data' else GRADIENT_MAY_BE_WRONG}"


def explain_not_convex(evidence: str) -> str:
    """What the message says if a run has seen that f is not convex."""
    return f"f is not convex: {evidence}"
