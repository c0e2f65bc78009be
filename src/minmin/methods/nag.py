"""NAG: Nesterov's accelerated gradient method on (x, y) jointly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.constants import metric
from minmin.methods.base import Answer, Method, require_constants, require_flag, theory_patience
from minmin.methods.watch import Seen, watched
from minmin.oracle import Problem
from minmin.space import Vector, square


class NagState(NamedTuple):
    """The point where both gradients come next, the answer, and the newest gradients (none at first)."""

    x_under: Vector
    y_under: Vector
    answer: Answer
    seen: tuple[Seen, ...]


@dataclass(frozen=True)
class Nag(Method):
    """Nesterov's method for strongly convex functions, all variables alike.

    Problem: min f(z), z = (x, y), in the metric |x|² + w|y|².

    Algorithm: z̄⁺ = z_under - ∇f(z_under)/L, z_under⁺ = z̄⁺ + β(z̄⁺ - z̄) with β = (√κ - 1)/(√κ + 1).

    Guarantee: f(z̄ᵏ) - f* <= (1 - 1/√κ)ᵏ · 2(f(z⁰) - f*), κ = max(L_x, L_y/w)/min(μ_x, μ_y/w). Rescaled, κ is
    max(κ_x, κ_y); both gradients are asked for equally often.

    Reference: Nesterov, "Lectures on convex optimization" (2018), scheme 2.2.22.

    Parameters
    ----------
    rescale : bool
        The paper's block rescaling y' = √(μ_y/μ_x)·y, as the metric w = μ_y/μ_x; w = 1 without it.
    """

    name: ClassVar[str] = "nag"
    rescale: bool = False

    def __post_init__(self) -> None:
        require_flag("rescale", self.rescale)

    def check(self, problem: Problem) -> None:
        require_constants(self.name, problem)

    def init(self, problem: Problem, x: Vector, y: Vector) -> NagState:
        return NagState(x, y, Answer(x, y, math.inf), ())

    def step(self, problem: Problem, state: NagState) -> NagState:
        constants = problem.constants
        assert constants is not None
        m = metric(constants, self.rescale)
        evaluation = problem.fix(state.x_under).at(state.y_under)
        seen = watched(evaluation, constants, state.seen)
        x_bar = state.x_under - (1.0 / m.smoothness) * evaluation.grad_x
        y_bar = state.y_under - (1.0 / (m.weight_y * m.smoothness)) * evaluation.grad_y
        root = math.sqrt(m.smoothness / m.mu)
        momentum = (root - 1.0) / (root + 1.0)
        # The descent lemma carries the bound from z_under to z̄.
        descent = (square(evaluation.grad_x_norm) + square(evaluation.grad_y_norm) / m.weight_y) / (2.0 * m.smoothness)
        return NagState(
            x_bar + momentum * (x_bar - state.answer.x),
            y_bar + momentum * (y_bar - state.answer.y),
            Answer(x_bar, y_bar, problem.gap_bound(evaluation) - descent, problem.gap_floor(evaluation)),
            seen,
        )

    def patience(self, problem: Problem) -> int:
        m = metric(require_constants(self.name, problem), self.rescale)
        return theory_patience(math.sqrt(m.mu / m.smoothness), m.smoothness / m.mu)
