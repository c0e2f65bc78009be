"""The inner problem of BAM, min_v A(v) = f(x_under, v) + |v - y_under|²/(2λ), and its stopping condition."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

from minmin.constants import BlockParameters
from minmin.errors import NonFiniteError
from minmin.methods.watch import fits_y_secant, report_y_secant
from minmin.oracle import Evaluation, Slice
from minmin.space import Array, norm


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
    largest_gradient : float
        The largest ∇ᵧf of the run so far.
    """

    def __init__(self, slice_: Slice, center: Array, parameters: BlockParameters, largest_gradient: float = 0.0):
        self.slice = slice_
        self.center = center
        self.lam = parameters.lam
        self.constants = parameters.constants
        self.smoothness = self.constants.L_y + 1.0 / self.lam
        self.convexity = self.constants.mu_y + 1.0 / self.lam
        self.largest_gradient = largest_gradient

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """|x_under| and |y_under|."""
        return norm(self.slice.x), norm(self.center)

    @cached_property
    def most_steps(self) -> int:
        """T_max: started from the centre, accelerated gradient must succeed within this many steps.

        √κ_A ln(8 κ_A (λ L_A)²) with κ_A the condition number of A; needing more means rounding, or a wrong L_y.
        """
        kappa = self.smoothness / self.convexity
        bound = math.sqrt(kappa) * math.log(8.0 * kappa * (self.lam * self.smoothness) ** 2)
        return max(2, math.ceil(bound))

    def gradient_noise(self, evaluation: Evaluation, distance: float) -> float:
        """Rounding error to expect in ∇A there, at this distance from the centre."""
        x_norm, center_norm = self._norms
        _, noise = evaluation.gradient_noise(self.constants, x_norm)
        return noise + 4.0 * evaluation.eps * (2.0 * center_norm + distance) / self.lam

    def at(self, v: Array) -> Trial:
        """Compute one gradient, and test the condition with it."""
        evaluation = self.slice.at(v)
        shift = v - self.center
        gradient = evaluation.grad_y + shift * (1.0 / self.lam)
        residual, distance = norm(gradient), norm(shift)
        if not residual < math.inf:
            raise NonFiniteError("∇ᵧf is NaN or infinite; is f defined and finite around the start?")
        accepted = residual * self.lam <= distance or residual <= self.gradient_noise(evaluation, distance)
        return Trial(v, evaluation, gradient, residual, distance, accepted)

    def watch(self, new: Trial, product: float, size: float) -> None:
        """See whether L_y and mu_y hold over a step to ``new``.

        ``product`` is that of the step and the change of ∇A, which differs from ∇ᵧf by a known term, and ``size`` is
        the step's squared length.
        """
        seen = product - size / self.lam
        if not fits_y_secant(self.constants, seen, size):
            largest = max(self.largest_gradient, new.evaluation.grad_y_norm)
            noise = self.gradient_noise(new.evaluation, new.distance)
            report_y_secant(self.constants, seen, size, largest, new.evaluation.eps, noise)


def better(first: Trial, second: Trial) -> Trial:
    """The trial to keep where neither is accepted."""
    return second if second.residual < first.residual else first
