"""When a run ends: tolerance, target, budgets, and rounding errors that hide further progress."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from minmin.core.arrays import dtype_name
from minmin.core.bound import Bound
from minmin.core.counting import Tally
from minmin.core.rounding import rounding_error
from minmin.core.vectors import first_array, machine_eps
from minmin.errors import GRADIENT_MAY_BE_WRONG, InputError, as_count, as_number, show
from minmin.loop.clock import Clock
from minmin.methods.base import Candidate
from minmin.result import Status

_NEAR_FLOOR = 4.0
"""A bound of at most this times its floor is at rounding level. The bound is (|∇f| + error)²/2μ and the floor is
error²/2μ, so then |∇f| is no larger than its expected error."""


@dataclass(frozen=True)
class StoppingCriteria:
    """The user's stopping criteria; see :func:`minmin.minimize`."""

    tol: float
    target_value: float | None = None
    max_grad_x: int | None = None
    max_grad_y: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= as_number(self.tol, "tol") < math.inf:
            raise InputError(f"tol = {show(self.tol)} must be a number >= 0 (0 switches the certified stop off)")
        if self.target_value is not None and not as_number(self.target_value, "target_value") < math.inf:
            raise InputError(f"target_value = {show(self.target_value)} must be a finite number")
        for name in ("max_grad_x", "max_grad_y"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name)
        if self.max_seconds is not None and not as_number(self.max_seconds, "max_seconds") >= 0:
            raise InputError(f"max_seconds = {show(self.max_seconds)} must be a number >= 0")


class End(NamedTuple):
    """How a run ended."""

    status: Status
    message: str


class RunEnded(Exception):  # noqa: N818 - passed between two layers, never seen by a user
    """Raised in the middle of a step if the run cannot, or must not, continue."""

    def __init__(self, status: Status, message: str):
        super().__init__(message)
        self.end = End(status, message)


class BudgetedTally(Tally):
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
    """

    largest_bound: float = 0.0
    largest_bound_before: float = math.inf
    lowest_at_floor: float = math.inf


class StoppingRules:
    """Decides whether a run ends at a candidate.

    Parameters
    ----------
    criteria : StoppingCriteria
    patience : int
        The number of iterations within which the largest bound must halve.
    """

    def __init__(self, criteria: StoppingCriteria, patience: int):
        self.criteria = criteria
        self.progress = Progressing()
        self._patience = patience

    def check_tol(self, bound: Bound) -> End | None:
        """Whether the bound is within tol."""
        tol = self.criteria.tol
        if tol > 0.0 and bound.value <= tol:
            verb = "is estimated, without proof, and" if bound.basis == "estimate" else "is"
            return End("converged", f"f(x, y) - f* <= {bound.value:.3g} {verb} within tol = {tol:g}")
        return None

    def check_target(self, value: float) -> End | None:
        """Whether f has reached the target value."""
        target = self.criteria.target_value
        if target is not None and value <= target:
            return End("converged", f"f(x, y) = {value:.10g} is at target_value or below")
        return None

    def is_at_rounding_level(self, bound: Bound) -> bool:
        """Whether both gradients are below their rounding errors, so that the bound cannot reach tol."""
        criteria = self.criteria
        by_value = criteria.tol == 0.0 and criteria.target_value is not None
        return criteria.tol < bound.floor and bound.value <= _NEAR_FLOOR * bound.floor and not by_value

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

    def check_progress(self, steps: int, candidate: Candidate, best: Bound, *, hidden: bool) -> End | None:
        """Whether the run has stalled, because of rounding errors or wrong constants.

        ``hidden`` says that rounding errors hide the gain of the last step.
        """
        if candidate.exhausted or hidden:
            return End("stalled", _explain_exhaustion(candidate, best))
        progress = self.progress
        if math.isfinite(candidate.bound.value):
            progress = progress._replace(largest_bound=max(progress.largest_bound, candidate.bound.value))
        if steps % self._patience == 0:
            if math.isinf(best.value) and self._waits_for_a_bound():
                return End(
                    "stalled",
                    f"no bound was found in {steps} iterations: f may be unbounded below, the method may give no bound "
                    f"(then give tol=0 and a budget or a target_value), or {GRADIENT_MAY_BE_WRONG}",
                )
            if progress.largest_bound > 0.5 * progress.largest_bound_before:
                return End(
                    "stalled",
                    f"over {self._patience} iterations the bound has not halved, which theory rules out; it is "
                    f"{best.value:.3g} at best: there are rounding errors, wrong constants, or {GRADIENT_MAY_BE_WRONG}",
                )
            if progress.largest_bound > 0.0:
                progress = progress._replace(largest_bound=0.0, largest_bound_before=progress.largest_bound)
        self.progress = progress
        return None

    def _waits_for_a_bound(self) -> bool:
        """Whether only a bound can end the run as converged."""
        return self.criteria.tol > 0.0 and self.criteria.target_value is None


def _explain_exhaustion(candidate: Candidate, best: Bound) -> str:
    if math.isinf(best.value):
        return f"no step makes progress, and no bound was found: f may have no minimum, or {GRADIENT_MAY_BE_WRONG}"
    single = dtype_name(first_array(candidate.x)) == "float32"
    remedy = "give float64 data" if single else "give a larger tol"
    told = f"rounding errors hide further progress below a bound of {best.value:.3g}; {remedy}"
    explained = best.basis == "data" or best.value <= _NEAR_FLOOR * best.floor
    return told if explained else f"{told}; or {GRADIENT_MAY_BE_WRONG}"
