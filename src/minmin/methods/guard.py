"""When BAM takes over a run that its theory would have ended long ago."""

from __future__ import annotations

import math

from minmin.core.constants import Constants
from minmin.methods.theory import block_parameters


def can_guard(constants: Constants) -> bool:
    """Whether BAM can take over."""
    finite = math.isfinite(constants.L_x) and math.isfinite(constants.L_y)
    return finite and constants.mu_x > 0.0 and constants.mu_y > 0.0


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
