"""What theory derives from the constants: step sizes, patience, and when BAM would be faster.

Theorem 2.2 is that of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from minmin.core.bound import Constants
from minmin.core.term import Term
from minmin.core.vectors import Vector


class BlockParameters(NamedTuple):
    """The parameters of BAM in Theorem 2.2, and the lines of Algorithm 1 that consist of them.

    Attributes
    ----------
    alpha, eta_x, eta_y : float
        α = √(μ_x/L_x), η_x = 1/√(μ_x L_x), η_y = α/μ_y.
    lam : float
        λ = η_y α: the inner problem's proximal term is |y - y_under|²/(2λ).
    constants : Constants
        The constants that they were derived from.
    accuracy : float
        Of the inner solves: multiplies the right-hand side of condition (2).
    """

    alpha: float
    eta_x: float
    eta_y: float
    lam: float
    constants: Constants
    accuracy: float = 1.0

    def extrapolate(self, point: Vector, bar: Vector) -> Vector:
        """x_under = αx + (1-α)x̄, and the same for y."""
        return self.alpha * point + (1.0 - self.alpha) * bar

    def y_half(self, before: tuple[Vector, Vector], y_bar: Vector, grad_y: Vector) -> tuple[Vector, Vector]:
        """y⁺ = y + α(ȳ - y⁺) - η_y ∇ᵧf, solved for y⁺, and ȳ; ``before`` holds y and the ȳ before."""
        y, _ = before
        return (y + self.alpha * y_bar - self.eta_y * grad_y) * (1.0 / (1.0 + self.alpha)), y_bar

    def x_half(
        self, before: tuple[Vector, Vector], x_under: Vector, grad_x: Vector, term: Term | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """x⁺ and x̄⁺ from ∇ₓf(x_under, ȳ), and again x̄⁺, where the bound holds; ``before`` holds x and x̄.

        With a term, x̄⁺ is a proximal gradient step, and (x_under - x̄⁺)/(η_x α) takes the place of ∇ₓf.
        """
        x, _ = before
        step = self.eta_x * self.alpha
        x_bar = x_under - step * grad_x
        if term is not None:
            x_bar = term.prox(x_bar, step)
            grad_x = (x_under - x_bar) * (1.0 / step)
        # x⁺ = x + α(x_under - x⁺) - η_x ∇ₓf, solved for x⁺
        x = (x + self.alpha * x_under - self.eta_x * grad_x) * (1.0 / (1.0 + self.alpha))
        return x, x_bar, x_bar


@functools.lru_cache(maxsize=64)
def block_parameters(constants: Constants) -> BlockParameters:
    """The parameters of BAM for these constants, which must be positive and finite."""
    alpha = math.sqrt(constants.mu_x / constants.L_x)
    eta_x, eta_y = 1.0 / math.sqrt(constants.mu_x * constants.L_x), alpha / constants.mu_y
    return BlockParameters(alpha, eta_x, eta_y, lam=eta_y * alpha, constants=constants)


def momentum(kappa: float) -> float:
    """β = (√κ - 1)/(√κ + 1) of Nesterov's method for strongly convex functions (Nesterov 2018, scheme 2.2.22)."""
    root = math.sqrt(kappa)
    return (root - 1.0) / (root + 1.0)


def theory_patience(rate: float, kappa: float) -> int:
    """The number of iterations in which the largest bound must halve, for a method with a gain of 1 + rate in each.

    In k iterations f - f* falls to 3(1 + rate)⁻ᵏ of what it was, and a bound to κ times that. So after
    ln(8κ)/ln(1 + rate) iterations the bound is 3/8 of what it was. Single bounds oscillate with the momentum, so the
    largest over that many iterations is used.
    """
    return math.ceil(math.log(8.0 * kappa) / math.log1p(rate))


def can_guard(constants: Constants) -> bool:
    """Whether BAM can take over."""
    return math.isfinite(constants.L_x + constants.L_y) and min(constants.mu_x, constants.mu_y) > 0.0


def is_behind(constants: Constants, calls: int, first_bound: float, best_bound: float) -> bool:
    """Whether BAM would certainly have reached the best bound with half the calls.

    By Theorem 2.2 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, k calls of ∇ₓf lower f - f* to 3(1 + α)⁻ᵏ of
    what it was, and the bound is at most κ times that.
    """
    if not can_guard(constants) or not math.isfinite(first_bound) or best_bound <= 0.0:
        return False
    kappa = max(constants.kappa_x, constants.kappa_y)
    needed = math.log(3.0 * kappa * first_bound / best_bound)
    return calls > 2.0 * needed / math.log1p(block_parameters(constants).alpha)
