"""Linear Coupling: the accelerated coordinate descent method NU_ACDM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from minmin.core.problem import Problem
from minmin.methods.coordinate import CoordinateMethod, CoordinateState, Pair, block_step, probability
from minmin.methods.theory import Metric


@dataclass(frozen=True)
class LinCoupling(CoordinateMethod):
    """NU_ACDM, coordinate descent by linear coupling of a gradient and a mirror step.

    Problem: min f(z), σ-strongly convex, with L_x and L_y for the blocks; S = √L_x + √L_y.

    Algorithm: τ = 2/(1 + √(4S²/σ + 1)), η = 1/(τS²). From u = τv + (1-τ)z a gradient step in the drawn block i
    gives z, and v⁺ = (v + ησu - η/p_i·∇_i f(u))/(1 + ησ).

    Guarantee: E[f(z) - f*] = O((1-τ)ᵏ), τ ≈ √σ/S.

    Reference: Allen-Zhu, Qu, Richtárik and Yuan, "Even faster accelerated coordinate descent using non-uniform
    sampling" (2016), Algorithm 1 with β = 0.
    """

    name: ClassVar[str] = "lincoupling"

    def _advance(self, problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair, float]:
        tau = 2.0 / (1.0 + math.sqrt(4.0 * m.root_sum**2 / m.mu + 1.0))
        eta = 1.0 / (tau * m.root_sum**2)
        u = state.v.plus(tau, Pair(state.candidate.x, state.candidate.y), 1.0 - tau)
        bar, gradient = block_step(problem, m, in_x, u)
        shrink = 1.0 / (1.0 + eta * m.mu)
        step = shrink * eta / probability(m, in_x)
        return bar, state.v.plus(shrink, u, shrink * eta * m.mu).move(in_x, step * gradient), state.ratio
