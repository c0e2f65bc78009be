"""Minimisation of y ↦ f(x, y) for a fixed x to a given accuracy, which the constants prove."""

from __future__ import annotations

import math

from minmin.core.arrays import Array
from minmin.core.bound import half_square_over
from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Slice
from minmin.core.vectors import norm
from minmin.errors import NonFiniteError
from minmin.methods.inner.objective import InnerObjective, InnerPoint
from minmin.methods.secants import fits_y_secant, report_y_secant


class AccurateMinimum(InnerObjective):
    """y ↦ f(x, y). A point is good enough if |∇ᵧf|²/(2μ_y) <= ``accuracy``, or if ∇ᵧf may be rounding alone.

    Parameters
    ----------
    slice_ : Slice
    start : array
    accuracy : float
        How far f may be above its minimum over y; 0 for as exact as rounding allows.
    constants : Constants
        Finite and positive.
    largest_gradient : float
        The largest ∇ᵧf of the run so far.
    """

    overshoot = 0.5

    def __init__(
        self, slice_: Slice, start: Array, accuracy: float, constants: Constants, largest_gradient: float = 0.0
    ):
        super().__init__(slice_, start)
        self._accuracy = accuracy
        self._constants = constants
        self.smoothness: float = constants.L_y
        self.convexity: float = constants.mu_y
        self.largest_gradient = largest_gradient
        self.most_gradients = 1
        self._x_norm = norm(slice_.x)

    def begin(self) -> InnerPoint:
        point = self.at(self.start)
        if not point.residual < math.inf:
            raise NonFiniteError(explain_nonfinite(point.evaluation))
        self.largest_gradient = max(self.largest_gradient, point.residual)
        self.most_gradients = self._find_most_gradients(point)
        return point

    def _find_most_gradients(self, first: InnerPoint) -> int:
        """The number of accelerated steps after which a point is good enough in exact arithmetic.

        After k steps f is at most 2(1 - 1/√κ)ᵏ g above its minimum, g = |∇ᵧf|²/(2μ_y) at the start. There, and at the
        extrapolated point that follows, |∇ᵧf|²/(2μ_y) is at most 9κ² times that.
        """
        kappa = self.smoothness / self.convexity
        gap = half_square_over(first.residual, self.convexity)
        floor = half_square_over(self._noise(first), self.convexity)
        enough = max(self._accuracy, floor, first.evaluation.rounding.eps**2 * gap)
        if not gap > enough:
            return 1
        return 1 + math.ceil(math.sqrt(kappa) * math.log(18.0 * kappa**2 * gap / enough))

    def judge(self, evaluation: Evaluation) -> InnerPoint:
        residual = evaluation.grad_y_norm
        point = InnerPoint(evaluation.y, evaluation, evaluation.grad_y, residual, solved=False)
        is_accurate = half_square_over(residual, self.convexity) <= self._accuracy
        return point._replace(solved=is_accurate or residual <= self._noise(point))

    def _noise(self, point: InnerPoint) -> float:
        """The expected rounding error in ∇ᵧf."""
        return self._constants.gradient_noise(point.evaluation.rounding, self._x_norm)[1]

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Check that L_y and mu_y hold over the step."""
        if not fits_y_secant(self._constants, product, size):
            eps = new.evaluation.rounding.eps
            report_y_secant(self._constants, product, size, self.largest_gradient, eps, self._noise(new))
