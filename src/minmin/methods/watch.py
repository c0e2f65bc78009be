"""Watch: what a run without constants looks out for, since no theory tells it that something is wrong with f."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from minmin.core.bound import VALUE_PRECISION, RoundingScale, is_clearly_negative, rounding_error
from minmin.core.evaluation import Evaluation
from minmin.core.vectors import Vector, dot, norm
from minmin.errors import GRADIENT_MAY_BE_WRONG
from minmin.methods.estimates import count_stuck
from minmin.methods.inner.goal import FARTHEST
from minmin.methods.inner.partial_minimum import YMemory

_ROUNDING_LEVEL, _NOISE_MARGIN = 64.0, 4.0
"""Gradients are at rounding level if they are at most 64 times eps times the largest ones before, or 4 times the
rounding errors that the curvature seen makes one expect. Measured: docs/benchmarks/tuning.md."""
_MUCH_ABOVE_ROUNDING = 1e4
"""A run that stalls with gradients above this times their rounding level stalls for another reason.
Measured: docs/benchmarks/tuning.md."""
_STILL_MOVING, _FAR_WHERE_FLAT = 0.01, 1e8
"""A run that can make no more progress, but whose last step was longer than the first fraction of its distance from
zero, has no minimum in sight: f may fall as slowly as -log x. f then appears unbounded below from a distance of the
second number times the start's. Measured: docs/benchmarks/tuning.md."""
_LITTLE_CHANGE = 1e-3
"""f is flat over a step if its gradient changes by less than this fraction. Measured: docs/benchmarks/tuning.md."""
_LARGE_CHANGE, _SHORT, _STIFFER, _MOST_JUMPS = 0.1, 1e-5, 1e8, 3
"""A gradient changes much over a step if it changes by more than the first fraction. A step is short if it is shorter
than the second number times the longest one. The gradient jumps in two cases: it changes much over a short step, and
10⁸ times as fast as over an earlier step where it changed much; or it changes by a tenth of the largest gradient over a
step 10⁸ times shorter than the longest one. A smooth f shows that only if its condition number is about 10⁸. The run
ends at the third jump."""
_AT_EDGE = 1e-10
"""A run also ends (see ``_MOST_JUMPS``) at the third step out of f's domain that was shorter than this times the
longest step. Measured: docs/benchmarks/tuning.md."""


Both = tuple[float, float]
"""A number of each block: x, then y."""


class Visit(NamedTuple):
    """A point x that a run has visited, with ∇ₓf and f there; f is NaN if it is not known."""

    x: Vector
    gradient: Vector
    value: float


class Watch(NamedTuple):
    """What is remembered of the points visited.

    Attributes
    ----------
    start_size : float
        The norm of the start, and at least one.
    last : Visit or None
        The last point visited; None if none was yet, or f was not finite there.
    negative_curvature : float
        The least curvature seen between two points, if it was clearly negative; else zero.
    largest_gradients : pair of float
        The largest |∇ₓf| and |∇ᵧf| of all candidates.
    largest_value, lowest_value : float
        The largest |f| and the lowest f of all candidates; zero and infinite if there are no values.
    sizes, levels : pairs of float
        |∇ₓf| and |∇ᵧf| at the newest candidate, and what rounding errors may explain of them.
    at_rounding_level : int
        Candidates in a row with gradients that rounding errors may explain.
    last_length : float
        The length of the last step in x or y, whichever is longer.
    longest_visit : float
        The longest of these steps.
    longest : float
        The length of the longest step in x between two candidates.
    least_stiffness : float
        The least |change of ∇ₓf|/|step| of such steps, if the change was large.
    edges : int
        Extremely short steps that led out of f's domain.
    jumps : int
        Steps over which ∇ₓf changed extremely fast.
    """

    start_size: float
    last: Visit | None = None
    negative_curvature: float = 0.0
    largest_gradients: Both = (0.0, 0.0)
    largest_value: float = 0.0
    lowest_value: float = math.inf
    sizes: Both = (math.inf, math.inf)
    levels: Both = (0.0, 0.0)
    at_rounding_level: int = 0
    last_length: float = 0.0
    longest_visit: float = 0.0
    longest: float = 0.0
    least_stiffness: float = math.inf
    edges: int = 0
    jumps: int = 0

    def visit(
        self, evaluation: Evaluation, value: float, y: Sequence[YMemory], weights: Sequence[float], curvatures: Both
    ) -> Watch:
        """Add a point where f was lowered in y, whether it becomes a candidate or not.

        ``curvatures`` are the largest that were seen in x and in y.
        """
        new = Visit(evaluation.x, evaluation.grad_x, value)
        least, length = self.negative_curvature, 0.0
        square_in_y = before_in_y = after_in_y = 0.0
        for weight, part in zip(weights, y, strict=True):
            least, length = min(least, part.negative_curvature), max(length, part.distance)
            square_in_y += weight * (part.distance * part.distance)
            before_in_y += weight * part.slope_before
            after_in_y += weight * part.slope_after
        if self.last is None:
            return self._replace(last=new, negative_curvature=least)
        rounding, x_norm = evaluation.rounding, norm(evaluation.x)
        norms, eps = (evaluation.grad_x_norm, evaluation.grad_y_norm), rounding.eps
        terms = _term_sizes(curvatures, rounding, x_norm)
        step, change = norm(new.x - self.last.x), norm(new.gradient - self.last.gradient)
        length = max(length, step)
        if length > math.sqrt(eps) * self.longest_visit:  # otherwise the change of gradient may be rounding
            of_terms = curvatures[0] * (x_norm * x_norm) + curvatures[1] * (rounding.y_norm * rounding.y_norm)
            value_size = self.largest_value + of_terms
            largest = self._largest_with(norms)
            sizes = max(largest[0], terms[0]), max(largest[1], terms[1])
            in_y = math.sqrt(square_in_y), before_in_y, after_in_y
            least = min(least, find_negative_curvature(self.last, new, step, in_y, sizes, value_size, eps))
        return self._replace(
            last=new,
            negative_curvature=least,
            longest_visit=max(length, self.longest_visit),
            jumps=self.jumps + (step > 0.0 and self._is_jump(step, change, norms[0], terms[0], eps)),
            last_length=length,
        )

    def _is_jump(self, step: float, change: float, gradient: float, terms: float, eps: float) -> bool:
        """Whether ∇ₓf changes too much over a step for a smooth f; ``terms`` is the size of the terms in ∇ₓf."""
        largest = self.largest_gradients[0]
        if change <= _MUCH_ABOVE_ROUNDING * rounding_error(eps, min(terms, largest)):
            return False
        if change > _LARGE_CHANGE * largest and _STIFFER * step < self.longest:
            return True
        is_large = change > max(_LARGE_CHANGE * gradient, math.sqrt(eps) * largest) and step < _SHORT * self.longest
        return is_large and change / step > _STIFFER * self.least_stiffness

    def is_flat(self, change: float, gradient: float) -> bool:
        """Whether f has no curvature over a step with this change of gradient.

        Once curvature was clearly negative, every step without a curvature pair counts as flat. Before that, such a
        step shows that y is not accurate enough.
        """
        return change < _LITTLE_CHANGE * gradient or self.negative_curvature < 0.0

    def accept(self, step: float, change: float, gradient: float) -> Watch:
        """Add a step in x between two candidates: its length, the change of ∇ₓf over it, and |∇ₓf| at its end."""
        stiffness = change / step if change > _LARGE_CHANGE * gradient and step > 0.0 else math.inf
        return self._replace(longest=max(step, self.longest), least_stiffness=min(stiffness, self.least_stiffness))

    def leave(self, step: float) -> Watch:
        """Add a point where f is not finite, a step in x away from a candidate."""
        return self._replace(last=None, edges=self.edges + (step < _AT_EDGE * self.longest))

    def judge(self, evaluation: Evaluation, sizes: Both, value: float, curvatures: Both) -> Watch:
        """Add a candidate, with the sizes of its gradients, and f there, or NaN.

        ``curvatures`` are the largest that were seen in x and in y.
        """
        largest = self._largest_with(sizes)
        levels = _find_levels(largest, curvatures, evaluation)
        is_there = sizes[0] <= levels[0] and sizes[1] <= levels[1]
        visible = rounding_error(evaluation.rounding.eps, _ROUNDING_LEVEL * abs(value))
        falls = value < self.lowest_value - visible  # then a large gradient far away has raised the levels
        return self._replace(
            largest_gradients=largest,
            largest_value=self.largest_value if math.isnan(value) else max(abs(value), self.largest_value),
            lowest_value=self.lowest_value if math.isnan(value) else min(value, self.lowest_value),
            sizes=sizes,
            levels=levels,
            at_rounding_level=count_stuck(self.at_rounding_level, is_there and not falls),
        )

    def _largest_with(self, norms: Both) -> Both:
        return max(norms[0], self.largest_gradients[0]), max(norms[1], self.largest_gradients[1])

    @property
    def evidence(self) -> str:
        """What shows that f is not convex; empty if nothing does."""
        if self.negative_curvature == 0.0:
            return ""
        return f"between two points of this run it has the curvature {self.negative_curvature:.3g}"

    def find_reason(self, evaluation: Evaluation, value: float, exhausted: bool) -> str:
        """Why the run must end at the newest candidate; empty if it may continue, or if rounding is the reason."""
        if self._is_far(evaluation, exhausted) and not value > self.lowest_value:
            return (
                f"f appears unbounded below: it still falls at a distance of {_distance(evaluation):.1g} from zero; "
                f"a penalty on x and y makes a minimum; or {GRADIENT_MAY_BE_WRONG}"
            )
        if self.edges >= _MOST_JUMPS:
            return (
                "steps of any length lead to points where f or its gradient is not finite: the minimum may lie at the "
                f"edge of f's domain, or {GRADIENT_MAY_BE_WRONG}"
            )
        if self.jumps >= _MOST_JUMPS or (exhausted and self._is_above_rounding(evaluation, value)):
            return (
                f"no step lowers f much, though a gradient still has the norm {max(self.sizes):.2g}: it jumps here, as "
                f"that of |x| does at 0 (minmin.problems.Composite takes such terms), or {GRADIENT_MAY_BE_WRONG}"
            )
        return ""

    def _is_above_rounding(self, evaluation: Evaluation, value: float) -> bool:
        """Whether a gradient is so large that rounding errors are not the reason why no step makes progress."""
        if all(size <= _MUCH_ABOVE_ROUNDING * level for size, level in zip(self.sizes, self.levels, strict=True)):
            return False
        least_gain = rounding_error(evaluation.rounding.eps, abs(value))  # that can be seen; NaN without values
        return not max(self.sizes) * max(self.longest, self.longest_visit) <= least_gain

    def _is_far(self, evaluation: Evaluation, exhausted: bool) -> bool:
        """Whether the run has gone so far that f appears to have no minimum."""
        distance = _distance(evaluation)
        if exhausted and self.last_length > _STILL_MOVING * distance:
            return distance > _FAR_WHERE_FLAT * self.start_size
        return distance > FARTHEST * self.start_size


def _distance(evaluation: Evaluation) -> float:
    return max(norm(evaluation.x), evaluation.rounding.y_norm)


def _term_sizes(curvatures: Both, rounding: RoundingScale, x_norm: float) -> Both:
    """The size of the terms that are summed in ∇ₓf and ∇ᵧf, by these largest curvatures; zero if one is unknown."""
    in_x, in_y = curvatures
    is_known = 0.0 < in_x < math.inf and 0.0 < in_y < math.inf
    return rounding.term_sizes(in_x, in_y, x_norm) if is_known else (0.0, 0.0)


def _find_levels(largest: Both, curvatures: Both, evaluation: Evaluation) -> Both:
    """The sizes of ∇ₓf and ∇ᵧf that rounding errors may explain."""
    rounding = evaluation.rounding
    least, most = _ROUNDING_LEVEL * rounding.eps, math.sqrt(rounding.eps)
    in_x, in_y = [
        min(max(least * size, _NOISE_MARGIN * rounding_error(rounding.eps, terms)), most * size)
        for size, terms in zip(largest, _term_sizes(curvatures, rounding, norm(evaluation.x)), strict=True)
    ]
    return in_x, in_y


def find_negative_curvature(
    old: Visit, new: Visit, in_x: float, in_y: tuple[float, float, float], largest: Both, value_size: float, eps: float
) -> float:
    """The curvature of f between two visits in a row if it is clearly negative, else zero.

    Between two points of a convex f at distance d, <∇f(old), d> <= f(new) - f(old) <= <∇f(new), d>. ``in_x`` is the
    distance in x; ``in_y`` that in y, and what y adds to both products. ``largest`` are the largest |∇ₓf| and |∇ᵧf| of
    the run, or of the terms in them, and ``value_size`` that of f.
    """
    step = new.x - old.x
    square_distance = in_x * in_x + in_y[0] * in_y[0]
    if not 0.0 < square_distance < math.inf:
        return 0.0
    before, after = dot(old.gradient, step) + in_y[1], dot(new.gradient, step) + in_y[2]
    size = largest[0] * in_x + largest[1] * in_y[0]
    found = after - before if is_clearly_negative(after - before, size, eps) else 0.0
    change = new.value - old.value
    rounding = VALUE_PRECISION * (abs(new.value) + abs(old.value)) + math.sqrt(eps) * value_size
    half = min(change - before, after - change)
    if is_clearly_negative(half + rounding, size, eps):
        found = min(found, 2.0 * half)
    return found / square_distance
