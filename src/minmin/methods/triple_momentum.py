"""Triple momentum in place of Nesterov's method: the steps of BAM with ``scheme="triple-momentum"``.

With exact inner solves BAM is a gradient method on the partial Moreau envelope Φ(x, y) = min_v f(x, v) + |v - y|²/(2λ).
λ is chosen so that Φ has one condition number κ in both blocks. In the metric in which both blocks have the same
constants, this is the triple momentum method of Van Scoy, Freeman and Lynch, "The fastest known globally convergent
first-order method for minimizing strongly convex functions" (2018)::

    x_under = ξ_x + γ(ξ_x - ξ_x⁻),  y_under = ξ_y + γ(ξ_y - ξ_y⁻)            look_ahead
    ȳ ≈ argmin_v A(v) = f(x_under, v) + |v - y_under|²/(2λ)
        until |∇A(ȳ)| <= ACCURACY·|ȳ - y_under|/λ
    ξ_x⁺ = ξ_x + β(ξ_x - ξ_x⁻) - (1+ρ)/L_x ∇ₓf(x_under, ȳ)                   take_step
    ξ_y⁺ = ξ_y + β(ξ_y - ξ_y⁻) - (1+ρ)λ/s ∇ᵧf(x_under, ȳ)                    take_step

docs/theory.md says what is proved of it, and what is only certified numerically.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from minmin.core.constants import Constants
from minmin.core.vectors import Vector

ACCURACY = 0.1
"""The inner solve ends where |∇A(ȳ)| <= 0.1·|ȳ - y_under|/λ. With 0.2 the certified factor per step for κ = (100, 1000)
is 0.88 in place of 0.82, and with 0.4 no Lyapunov function is found. On the paper's quadratics 0.1, 0.2 and 0.4 take
equally many calls of ∇ₓ up to 1 %, and of ∇ᵧ up to 4 %."""
MARGIN = 1.5
"""s. An inexact inner solve makes Φ seem less smooth than it is, so the steps in y are for s times its smoothness 1/λ.
With s = 1 the runs are up to three times as long as BAM's, on 30 random quadratics with κ_y up to 10⁶. 1.15 to 1.6
take equally many calls of ∇ₓ on the paper's quadratics. The certified factors for κ = (100, 1000) and (100, 10⁵) are
0.824 and 0.833 with 1.3, 0.821 and 0.832 with 1.5, and 0.820 and 0.841 with 2."""
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
        Of the inner solves: multiplies the right-hand side of condition (2).
    """

    rho: float
    beta: float
    gamma: float
    step_x: float
    step_y: float
    lam: float
    constants: Constants
    accuracy: float = ACCURACY


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
    )


def look_ahead(p: TripleParameters, point: Vector, before: Vector) -> Vector:
    """Where the gradients come: ξ + γ(ξ - ξ⁻), for one block."""
    return (1.0 + p.gamma) * point - p.gamma * before


def take_step(p: TripleParameters, step: float, point: Vector, before: Vector, gradient: Vector) -> Vector:
    """ξ⁺ = ξ + β(ξ - ξ⁻) - step·gradient, for one block."""
    return (1.0 + p.beta) * point - p.beta * before - step * gradient
