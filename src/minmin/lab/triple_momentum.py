"""Triple momentum in place of Nesterov's method: the steps of BAM with ``scheme="triple-momentum"``.

With exact inner solves BAM is a gradient method on the partial Moreau envelope Φ(x, y) = min_v f(x, v) + |v - y|²/(2λ).
λ is chosen so that Φ has one condition number κ in both blocks. In the metric in which both blocks have the same
constants, this is the triple momentum method of Van Scoy, Freeman and Lynch, "The fastest known globally convergent
first-order method for minimizing strongly convex functions" (2018)::

    x_under = ξ_x + γ(ξ_x - ξ_x⁻),  y_under = ξ_y + γ(ξ_y - ξ_y⁻)            extrapolate
    ȳ ≈ argmin_v A(v) = f(x_under, v) + |v - y_under|²/(2λ)
        until |∇A(ȳ)| <= c·|ȳ - y_under|/λ, c = find_accuracy
    ξ_x⁺ = ξ_x + β(ξ_x - ξ_x⁻) - (1+ρ)/L_x ∇ₓf(x_under, ȳ)                   x_half
    ξ_y⁺ = ξ_y + β(ξ_y - ξ_y⁻) - (1+ρ)λ/s ∇ᵧf(x_under, ȳ)                    y_half

docs/explanation/theory.md says what is proved of it, and what is only certified numerically.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from minmin.core.bound import Constants
from minmin.core.term import Term
from minmin.core.vectors import Vector

_ACCURACY, _LOOSEST = 0.1, 0.5
"""The inner solve ends where |∇A(ȳ)| <= c·|ȳ - y_under|/λ, with c = 0.1√(κ_x/κ_y), but from 0.1 to 0.5.
Measured: docs/benchmarks/tuning.md."""
MARGIN = 1.5
"""s. An inexact inner solve makes Φ seem less smooth than it is, so the steps in y are for s times its smoothness 1/λ.
Measured: docs/benchmarks/tuning.md."""
_LEAST_RATIO = 2.0
"""κ is at least this times s, since λ is infinite for κ = s. It matters for κ_x below 3 only; 2 is a choice."""


class TripleParameters(NamedTuple):
    """The parameters of triple momentum on the envelope Φ(x, y) = min_v f(x, v) + |v - y|²/(2λ).

    Attributes
    ----------
    rho : float
        ρ = 1 - 1/√κ, with the condition number κ that Φ has in both blocks: κ_x, but at least 2s.
    beta, gamma : float
        β = ρ²/(2 - ρ) and γ = ρ²/((1 + ρ)(2 - ρ)): the momentum of a step, and of the point where the gradients come.
    step_x, step_y : float
        (1 + ρ)/(κμ_x), which is (1 + ρ)/L_x if κ is κ_x; and (1 + ρ)λ/s, for a smoothness of Φ in y of s/λ.
    lam : float
        λ = s/((κ - s)μ_y), for which s/λ is κ times the strong convexity μ_y/(1 + λμ_y) of Φ in y.
    constants : Constants
        The constants that they were derived from.
    accuracy : float
        c of the inner solves: multiplies the right-hand side of condition (2).
    """

    rho: float
    beta: float
    gamma: float
    step_x: float
    step_y: float
    lam: float
    constants: Constants
    accuracy: float

    def extrapolate(self, point: Vector, before: Vector) -> Vector:
        """Where the gradients come: ξ + γ(ξ - ξ⁻), for one block."""
        return (1.0 + self.gamma) * point - self.gamma * before

    def y_half(self, before: tuple[Vector, Vector], y_bar: Vector, grad_y: Vector) -> tuple[Vector, Vector]:
        """ξ_y⁺ and ξ_y, from ξ_y and ξ_y⁻; ȳ itself is not used."""
        return self._step(self.step_y, before, grad_y), before[0]

    def x_half(
        self, before: tuple[Vector, Vector], x_under: Vector, grad_x: Vector, term: Term | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """ξ_x⁺ and ξ_x, from ξ_x and ξ_x⁻, and the end of a gradient step from x_under, where the bound holds."""
        x_end = x_under - (1.0 / self.constants.L_x) * grad_x
        return self._step(self.step_x, before, grad_x), before[0], x_end

    def _step(self, step: float, before: tuple[Vector, Vector], gradient: Vector) -> Vector:
        """ξ⁺ = ξ + β(ξ - ξ⁻) - step·gradient, for one block."""
        return (1.0 + self.beta) * before[0] - self.beta * before[1] - step * gradient


@functools.lru_cache(64)  # the stages of a regularised run have constants of their own
def triple_parameters(constants: Constants, margin: float = MARGIN) -> TripleParameters:
    """The parameters for these constants, which must be positive and finite; ``margin`` is s."""
    kappa = max(constants.kappa_x, _LEAST_RATIO * margin)
    rho = 1.0 - 1.0 / math.sqrt(kappa)
    lam = margin / ((kappa - margin) * constants.mu_y)
    return TripleParameters(
        rho=rho,
        beta=rho**2 / (2.0 - rho),
        gamma=rho**2 / ((1.0 + rho) * (2.0 - rho)),
        step_x=(1.0 + rho) / (kappa * constants.mu_x),
        step_y=(1.0 + rho) * lam / margin,
        lam=lam,
        constants=constants,
        accuracy=find_accuracy(constants),
    )


def find_accuracy(constants: Constants) -> float:
    """c: the accuracy of the inner solves."""
    return min(_LOOSEST, _ACCURACY * max(1.0, math.sqrt(constants.kappa_x / constants.kappa_y)))
