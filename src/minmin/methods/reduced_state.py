"""The state of reduced-lbfgs, and what it decides by: how exactly y is solved, what is watched, when it gives up."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.bound import half_square_over
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import find_gap
from minmin.core.problem import Problem
from minmin.core.rounding import VALUE_PRECISION
from minmin.core.term import Term
from minmin.core.vectors import Vector, norm
from minmin.methods.bam import BamState
from minmin.methods.base import Candidate
from minmin.methods.gap_estimate import GapEstimate, least_curvature_in_x
from minmin.methods.inner.partial_minimum import YMemory
from minmin.methods.secants import SecantPoint
from minmin.methods.watch import Watch
from minmin.numerics.lbfgs import Pairs, largest_curvature

_FIRST_RATIO, _FIRST_EXACT_RATIO = 0.05, 0.001
"""The first ``inner_tolerance_ratio``; the second value if ∇ₓ is a round of communication, constants are unknown, or
there are terms. Six coupled quadratics of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, take 490 calls of ∇ₓ with
0.5, 335 with 0.1, 326 with 0.05, 319 with 0.02 and 328 with 0.001; a1a takes 103 calls of ∇ᵧ with 0.05 and 133 with
0.001. On a9a split among 20 clients, a proved 1e-6 takes 39 rounds with 0.05, 26 with 0.01, 23 with 0.001 and 22 with
1e-5. Without constants, 120 random functions take 5 % fewer calls of ∇ₓ with 0.001 than with 0.05, and three times
those of ∇ᵧ. But of 180 Poisson models of row and column effects, which x and y may share, 7 fail with 0.05, 3 with 0.01
and none with 0.001. With terms, 66 problems take 2672, 2420 and 2311 calls of ∇ₓ with 0.05, 0.01 and 0.001, and 9267,
10982 and 17037 of ∇ᵧ."""
_MOST_RESTARTS, _MOST_RESTARTS_WITHOUT_CONSTANTS = 6, 3
"""The number of times in a row that a run which does not move x lowers y again, or drops its pairs, before it ends. By
then the ratio has shrunk by 0.1⁶, a millionth, or by 0.5⁶, a 64th, if no step in x was tried. With no restart, 21 of 25
hard cases of the tests stall above 1e-12; with 2 to 6 three do, and with 10 two. Without constants a run does not know
its rounding errors. It ends sooner, since a line search at rounding level may take ten calls."""


class ReducedState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    x : vector
    gradient : vector or None
        ∇F(x); None before the first step.
    y : tuple of YMemory
        One per part of y.
    gain : float
        The estimated decrease of f that is still possible in y.
    pairs : Pairs
        The curvature pairs of F.
    min_curvature_seen : float
        The least curvature of F seen.
    inner_tolerance_ratio : float
        The fraction of the expected gain in x that may be left to gain in y.
    stuck : int
        Steps in a row that did not move x.
    calls : int
        The number of calls of ∇ₓf, to compare with BAM's guarantee.
    first_bound : float
        The first finite bound.
    candidate : Candidate
    best : Candidate
        The candidate with the lowest bound.
    estimate : GapEstimate
        Of f - f*, where no bound is proved.
    watch : Watch
        What the run has seen of f, if the constants are unknown.
    flat_length : float
        The length of the last step if it showed no curvature, else zero.
    secant_point : SecantPoint or None
    guard : BamState or None
        The state of BAM, once it has taken over.
    """

    x: Vector
    gradient: Vector | None
    y: tuple[YMemory, ...]
    gain: float
    pairs: Pairs
    min_curvature_seen: float
    inner_tolerance_ratio: float
    stuck: int
    calls: int
    first_bound: float
    candidate: Candidate
    best: Candidate
    estimate: GapEstimate
    watch: Watch
    flat_length: float
    secant_point: SecantPoint | None
    guard: BamState | None

    def largest_curvatures(self) -> tuple[float, float]:
        """The largest curvatures that were seen in x and in y."""
        return largest_curvature(self.pairs), max(part.max_curvature_seen for part in self.y)

    def estimate_gap(self, evaluation: Evaluation) -> float:
        """|∇f|²/2m in both blocks, with the least curvatures m that the run has seen; with terms see find_gap."""
        in_x = least_curvature_in_x(self.min_curvature_seen, self.pairs)
        in_y = min(part.min_curvature_seen for part in self.y)
        gain = self.gain if math.isfinite(self.gain) else 0.0
        e = evaluation
        of_x = (
            half_square_over(e.grad_x_norm, in_x)
            if e.term_x is None
            else _estimate_gap_with_term(e.term_x, e.x, e.grad_x, in_x)
        )
        of_y = (
            half_square_over(e.grad_y_norm, in_y)
            if e.term_y is None
            else _estimate_gap_with_term(e.term_y, e.y, e.grad_y, in_y)
        )
        return of_x + max(of_y, gain)


def _estimate_gap_with_term(term: Term, v: Vector, gradient: Vector, curvature: float) -> float:
    """What one block adds to the estimate; if no curvature is known, zero at a minimum and infinite elsewhere."""
    if math.isinf(curvature):
        # The step is so long that rounding does not hide it, however far v is.
        step = max(1.0, norm(v)) / norm(gradient) if norm(gradient) > 0.0 else 1.0
        return 0.0 if norm(term.prox(v - step * gradient, step) - v) == 0.0 else math.inf
    return find_gap(term, v, gradient, curvature).value


def is_watched(problem: Problem) -> bool:
    """Whether the run must find out itself what f is like: without constants, unless noise would mislead it."""
    return problem.constants is None and not problem.has_noisy_gradients


def choose_inner(inner: str, problem: Problem) -> str:
    """The solver in y. "auto" is Newton's method if y has parts, each with a Hessian."""
    has_hessians = bool(problem.part_sizes) and problem.has_y_hessian
    return inner if inner != "auto" else "newton" if has_hessians else "lbfgs"


def may_explode(problem: Problem) -> bool:
    """Whether f may rise so fast along a step, as far as its constants tell, that y goes astray at a rejected x."""
    constants = problem.constants
    return constants is not None and math.isinf(max(constants.L_x, constants.L_y))


def choose_first_ratio(problem: Problem) -> float:
    is_exact = problem.part_sizes or problem.constants is None or problem.has_terms
    return _FIRST_EXACT_RATIO if is_exact else _FIRST_RATIO


def rises(old: float, new: float) -> bool:
    """Whether f rises by more than rounding errors explain."""
    return new - old > VALUE_PRECISION * (abs(old) + abs(new))


def most_restarts(problem: Problem) -> int:
    return _MOST_RESTARTS_WITHOUT_CONSTANTS if problem.constants is None else _MOST_RESTARTS
