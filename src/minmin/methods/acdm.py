"""ACDM: the accelerated coordinate descent method of Nesterov and Stich."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from minmin.core.problem import Problem
from minmin.methods.coordinate import CoordinateMethod, CoordinateState, Pair, block_step, probability
from minmin.methods.theory import Metric


@dataclass(frozen=True)
class Acdm(CoordinateMethod):
    """Accelerated coordinate descent over the two blocks.

    Problem: min f(z), σ-strongly convex, with L_x and L_y for the blocks; S = √L_x + √L_y.

    Algorithm: a²S² = A⁺B⁺ with A⁺ = A + a and B⁺ = B + σa, from A = 0 and B = 1; α = a/A⁺ and β = σa/B⁺. A gradient
    step in the drawn block i from u = ((1-α)z + α(1-β)v)/(1-αβ) gives z; v⁺ = (1-β)v + βu - a/(B⁺π_i)·∇_i f(u).
    Only A/B is needed and kept, so nothing overflows.

    Guarantee: E[2A(f(z) - f*) + B|v - z*|²] never rises, and A grows by a factor that tends to 1/(1 - √σ/S) per
    iteration.

    Reference: Nesterov and Stich, "Efficiency of the accelerated coordinate descent method on structured optimization
    problems" (2017), with probabilities π_i ∝ √L_i.
    """

    name: ClassVar[str] = "acdm"

    def _advance(self, problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair, float]:
        ratio, sigma = state.ratio, m.mu
        # The positive root a, in units of B, of a²S² = (A/B + a)(1 + σa).
        linear = 1.0 + sigma * ratio
        square = m.root_sum**2 - sigma
        a = (linear + math.sqrt(linear**2 + 4.0 * square * ratio)) / (2.0 * square)
        alpha, beta = a / (ratio + a), sigma * a / (1.0 + sigma * a)
        scale = 1.0 / (1.0 - alpha * beta)
        bar = Pair(state.candidate.x, state.candidate.y)
        u = bar.plus((1.0 - alpha) * scale, state.v, alpha * (1.0 - beta) * scale)
        bar, gradient = block_step(problem, m, in_x, u)
        step = a / ((1.0 + sigma * a) * probability(m, in_x))
        v = state.v.plus(1.0 - beta, u, beta).move(in_x, step * gradient)
        return bar, v, (ratio + a) / (1.0 + sigma * a)
