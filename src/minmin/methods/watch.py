"""What a run without constants watches, since no theory tells it that something is wrong with f."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from minmin.core.constants import Constants
from minmin.core.problem import Evaluation
from minmin.core.vectors import norm
from minmin.errors import GRADIENT_MAY_BE_WRONG
from minmin.methods.convexity import Visit, find_negative_curvature
from minmin.methods.inner.objective import FARTHEST
from minmin.methods.inner.partial_minimum import YMemory

_ROUNDING_LEVEL = 64.0
"""Gradients of at most this times eps times the largest ones before may be rounding errors of terms that large."""
_POINTS_AT_ROUNDING_LEVEL = 3
"""A run ends after this many points in a row with gradients at rounding level."""
_MUCH_ABOVE_ROUNDING = 1e4
"""A run that stalls with gradients above this times their rounding level stalls for another reason."""


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
    at_rounding_level : int
        Candidates in a row with gradients that rounding errors may explain.
    """

    start_size: float
    last: Visit | None = None
    negative_curvature: float = 0.0
    largest_gradients: tuple[float, float] = (0.0, 0.0)
    at_rounding_level: int = 0

    def visit(self, evaluation: Evaluation, value: float, y: Sequence[YMemory], weights: Sequence[float]) -> Watch:
        """Add a point visited, a candidate or not."""
        new = Visit(evaluation.x, evaluation.grad_x, value)
        least = min(self.negative_curvature, *(part.negative_curvature for part in y))
        if self.last is not None:
            norms = evaluation.grad_x_norm, evaluation.grad_y_norm
            eps = evaluation.rounding.eps
            found = find_negative_curvature(self.last, new, y, weights, self._raise_to(norms), eps)
            least = min(least, found)
        return self._replace(last=new, negative_curvature=least)

    def judge(self, evaluation: Evaluation, curvatures: tuple[float, float]) -> Watch:
        """Add a candidate; ``curvatures`` are the largest that were seen in x and in y."""
        norms = evaluation.grad_x_norm, evaluation.grad_y_norm
        largest = self._raise_to(norms)
        levels = _find_levels(largest, curvatures, evaluation)
        is_there = all(size <= level for size, level in zip(norms, levels, strict=True))
        return self._replace(
            largest_gradients=largest,
            at_rounding_level=self.at_rounding_level + 1 if is_there else 0,
        )

    def _raise_to(self, norms: tuple[float, float]) -> tuple[float, float]:
        return max(norms[0], self.largest_gradients[0]), max(norms[1], self.largest_gradients[1])

    @property
    def is_at_rounding_level(self) -> bool:
        return self.at_rounding_level >= _POINTS_AT_ROUNDING_LEVEL

    @property
    def evidence(self) -> str:
        """What shows that f is not convex; empty if nothing does."""
        if self.negative_curvature == 0.0:
            return ""
        return f"between two points of this run it has the curvature {self.negative_curvature:.3g}"

    def explain_distance(self, evaluation: Evaluation) -> str:
        """Why the run must end if a candidate is extremely far from the start; else empty."""
        distance = max(norm(evaluation.x), evaluation.rounding.y_norm)
        if not distance > FARTHEST * self.start_size:
            return ""
        return (
            f"f appears unbounded below: it still falls at a distance of {distance:.1g} from zero; "
            f"a penalty on x and y makes a minimum; or {GRADIENT_MAY_BE_WRONG}"
        )

    def explain_exhaustion(self, evaluation: Evaluation, curvatures: tuple[float, float]) -> str:
        """Why no step makes progress, if rounding is not the reason; else empty."""
        norms = evaluation.grad_x_norm, evaluation.grad_y_norm
        levels = _find_levels(self.largest_gradients, curvatures, evaluation)
        if all(size <= _MUCH_ABOVE_ROUNDING * level for size, level in zip(norms, levels, strict=True)):
            return ""
        return (
            f"no step lowers f, though a gradient still has the norm {max(norms):.2g}: it jumps here, as that of |x| "
            f"does at 0 (terms with kinks are not supported yet), or {GRADIENT_MAY_BE_WRONG}"
        )


def _find_levels(
    largest: tuple[float, float], curvatures: tuple[float, float], evaluation: Evaluation
) -> tuple[float, float]:
    """The sizes of ∇ₓf and ∇ᵧf that rounding errors may explain."""
    rounding = evaluation.rounding
    noise = (0.0, 0.0)
    if all(0.0 < curvature < math.inf for curvature in curvatures):
        noise = Constants(*curvatures, 0.0, 0.0).gradient_noise(rounding, norm(evaluation.x))
    level = _ROUNDING_LEVEL * rounding.eps
    return max(level * largest[0], noise[0]), max(level * largest[1], noise[1])
