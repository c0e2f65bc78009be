"""What reduced-lbfgs decides by: how exactly y is solved at first, what is watched, and when a run gives up."""

from __future__ import annotations

import math

from minmin.core.problem import Problem
from minmin.core.rounding import VALUE_PRECISION

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
