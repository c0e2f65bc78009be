"""The inner problem of BAM, min_v A(v) = f(x_under, v) + |v - y_under|²/(2λ), and its stopping condition."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

from minmin.constants import BlockParameters
from minmin.errors import NonFiniteError
from minmin.oracle import Evaluation, Slice
from minmin.space import Array, machine_eps, norm


class Trial(NamedTuple):
    """One point of the inner problem where a gradient has been computed.

    Attributes
    ----------
    v : array
    evaluation : Evaluation
        f at (x_under, v).
    gradient : array
        ∇A(v).
    residual : float
        |∇A(v)|.
    distance : float
        |v - y_under|.
    accepted : bool
        Condition (2), |∇A(v)| <= |v - y_under|/λ, holds, or rounding hides the difference.
    """

    v: Array
    evaluation: Evaluation
    gradient: Array
    residual: float
    distance: float
    accepted: bool


class Subproblem:
    """A(v) for one outer step, with what theory knows of it.

    Parameters
    ----------
    slice_ : Slice
        v ↦ f(x_under, v).
    center : array
        y_under.
    parameters : BlockParameters
    """

    def __init__(self, slice_: Slice, center: Array, parameters: BlockParameters):
        self.slice = slice_
        self.center = center
        self.lam = parameters.lam
        self.constants = parameters.constants
        self.smoothness = self.constants.L_y + 1.0 / self.lam
        self.convexity = self.constants.mu_y + 1.0 / self.lam

    @cached_property
    def _scale(self) -> tuple[float, float, float]:
        """Machine epsilon, |x_under| and |y_under|."""
        return machine_eps(self.center), norm(self.slice.x), norm(self.center)

    @cached_property
    def most_steps(self) -> int:
        """T_max: started from the centre, accelerated gradient must succeed within this many steps.

        √κ_A ln(8 κ_A (λ L_A)²) with κ_A the condition number of A; needing more means rounding, or a wrong L_y.
        """
        kappa = self.smoothness / self.convexity
        bound = math.sqrt(kappa) * math.log(8.0 * kappa * (self.lam * self.smoothness) ** 2)
        return max(2, math.ceil(bound))

    def gradient_noise(self, distance: float) -> float:
        """Rounding error to expect in ∇A at this distance from the centre."""
        eps, x_norm, center_norm = self._scale
        _, slack = self.constants.gradient_rounding(eps, x_norm, center_norm + distance)
        return slack + 4.0 * eps * (2.0 * center_norm + distance) / self.lam

    def at(self, v: Array) -> Trial:
        """Compute one gradient, and test the condition with it."""
        evaluation = self.slice.at(v)
        shift = v - self.center
        gradient = evaluation.grad_y + shift * (1.0 / self.lam)
        residual, distance = norm(gradient), norm(shift)
        if not residual < math.inf:
            raise NonFiniteError("∇ᵧf is NaN or infinite; is f defined and finite around the start?")
        accepted = residual * self.lam <= distance or residual <= self.gradient_noise(distance)
        return Trial(v, evaluation, gradient, residual, distance, accepted)


def better(first: Trial, second: Trial) -> Trial:
    """The trial to keep where neither is accepted."""
    return second if second.residual < first.residual else first
