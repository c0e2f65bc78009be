"""The state of reduced-lbfgs between two steps, with its estimate of f - f*."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from minmin.core.bound import half_square_over
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import find_gap
from minmin.core.vectors import Vector
from minmin.methods.bam import BamState
from minmin.methods.base import Candidate
from minmin.methods.estimates import GapEstimate
from minmin.methods.inner.partial_minimum import YMemory
from minmin.methods.secants import SecantPoint
from minmin.methods.watch import Watch
from minmin.numerics.lbfgs import Pairs, largest_curvature, least_curvature

_MOST_BELOW_SECANTS = 100.0
"""The curvature is at least the least one between two points, divided by this: the one by the pairs may be anything.
Measured: docs/benchmarks/tuning.md."""


class ReducedState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    x : vector
    y : tuple of YMemory
        One per part of y.
    candidate : Candidate
    best : Candidate
        The candidate with the lowest bound.
    inner_tolerance_ratio : float
        The fraction of the expected gain in x that may be left to gain in y.
    watch : Watch
        What the run has seen of f, if the constants are unknown.
    gradient : vector or None
        ∇F(x); None before the first step.
    gain : float
        The estimated decrease of f that is still possible in y.
    pairs : Pairs
        The curvature pairs of F.
    min_curvature_seen : float
        The least curvature of F seen.
    stuck : int
        Steps in a row that did not move x.
    calls : int
        The number of calls of ∇ₓf, to compare with BAM's guarantee.
    first_bound : float
        The first finite bound.
    estimate : GapEstimate
        Of f - f*, where no bound is proved.
    flat_length : float
        The length of the last step if it showed no curvature, else zero.
    secant_point : SecantPoint or None
    guard : BamState or None
        The state of BAM, once it has taken over.
    """

    x: Vector
    y: tuple[YMemory, ...]
    candidate: Candidate
    best: Candidate
    inner_tolerance_ratio: float
    watch: Watch
    gradient: Vector | None = None
    gain: float = math.inf
    pairs: Pairs = Pairs()
    min_curvature_seen: float = math.inf
    stuck: int = 0
    calls: int = 0
    first_bound: float = math.inf
    estimate: GapEstimate = GapEstimate()
    flat_length: float = 0.0
    secant_point: SecantPoint | None = None
    guard: BamState | None = None

    def estimate_gap(self, evaluation: Evaluation) -> float:
        """|∇f|²/2m in both blocks, with the least curvatures m that the run has seen; with terms see find_gap."""
        of_secants = self.min_curvature_seen
        in_x = min(max(least_curvature(self.pairs), of_secants / _MOST_BELOW_SECANTS), of_secants)
        in_y = min(map(attrgetter("min_curvature_seen"), self.y))
        gain = self.gain if math.isfinite(self.gain) else 0.0
        of_x = half_square_over(evaluation.grad_x_norm, in_x)
        if evaluation.term_x is not None:
            of_x = find_gap(evaluation.term_x, evaluation.x, evaluation.grad_x, in_x).value
        return of_x + max(evaluation.estimate_in_y(in_y), gain)


def largest_curvatures(pairs: Pairs, y: Sequence[YMemory]) -> tuple[float, float]:
    """The largest curvatures that were seen in x and in y."""
    return largest_curvature(pairs), max(map(attrgetter("max_curvature_seen"), y))
