"""The inner problem of BAM, min_v A(v) = f(x_under, v) + |v - y_under|²/(2λ), and its stopping condition.

See Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, for the numbered condition and theorem.
"""

from __future__ import annotations

import math
from functools import cached_property

from minmin.core.arrays import Array
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Slice
from minmin.core.rounding import rounding_error
from minmin.core.vectors import norm
from minmin.errors import NonFiniteError
from minmin.methods.inner.objective import InnerObjective, InnerPoint
from minmin.methods.secants import fits_y_secant, report_y_secant
from minmin.methods.sliding_parameters import SlidingParameters
from minmin.methods.theory import BlockParameters
from minmin.methods.triple_momentum import TripleParameters


class ProximalObjective(InnerObjective):
    """A(v) for one outer step. A point is good enough if condition (2) holds: |∇A(v)| <= |v - y_under|/λ.

    The proof of Theorem 2.2 needs only that condition, so it covers every inner solver.

    Parameters
    ----------
    slice_ : Slice
        v ↦ f(x_under, v).
    center : array
        y_under.
    offset : array
        v - y_under of the previous solve; this solve starts there.
    parameters : BlockParameters, TripleParameters or SlidingParameters
        λ, the constants, and the accuracy.
    largest_gradient : float
        The largest ∇ᵧf of the run so far.
    """

    overshoot = 0.9
    """Hardly matters: 0.1 to 0.99 take 6588 to 6610 calls of ∇ᵧ on the paper's quadratics, and all the same on a1a."""

    def __init__(
        self,
        slice_: Slice,
        center: Array,
        offset: Array,
        parameters: BlockParameters | TripleParameters | SlidingParameters,
        largest_gradient: float = 0.0,
    ):
        super().__init__(slice_, center + offset)
        self.center = self.restart = center
        self.lam = parameters.lam
        self.constants = parameters.constants
        self.accuracy = parameters.accuracy
        self.shift = 1.0 / self.lam
        self.smoothness: float = self.constants.L_y + self.shift
        self.convexity: float = self.constants.mu_y + self.shift
        self.largest_gradient = largest_gradient

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """|x_under| and |y_under|."""
        return norm(self.slice.x), norm(self.center)

    @cached_property
    def most_gradients(self) -> int:  # type: ignore[override]
        """T_max: accelerated gradient from the centre succeeds within this many steps.

        √κ_A ln(8 κ_A (λ L_A/c)²) with κ_A the condition number of A, and the accuracy c. If it takes more, the cause is
        rounding or a wrong L_y.
        """
        return self.most_steps(math.sqrt(self.smoothness / self.convexity))

    def most_steps(self, time: float) -> int:
        """The same for any method whose distance to the minimum shrinks by e in ``time`` steps."""
        kappa = self.smoothness / self.convexity
        return max(2, math.ceil(time * math.log(8.0 * kappa * (self.lam * self.smoothness / self.accuracy) ** 2)))

    def begin(self) -> InnerPoint:
        point = self.at(self.start)
        if not point.residual < math.inf:
            raise NonFiniteError(explain_nonfinite(point.evaluation))
        return point

    def judge(self, evaluation: Evaluation) -> InnerPoint:
        v = evaluation.y
        away = v - self.center
        gradient = evaluation.grad_y + away * self.shift
        target = None if self.term is None else self._find_target(v, gradient)
        if target is None:
            residual, distance = norm(gradient), norm(away)
        else:
            residual, distance = self.smoothness * norm(v - target), norm(target - self.center)
        solved = self.meets_condition(residual, distance) or residual <= self._noise(evaluation, distance)
        return InnerPoint(v, evaluation, gradient, residual, solved, target)

    def finish(self, point: InnerPoint) -> tuple[InnerPoint, Array]:
        """The point where the solve ends, and the (sub)gradient of f, with its term, in y there.

        With a term q it is the target of the point, ȳ = prox_q(v - ∇A(v)/L, 1/L). So L(v - ȳ) - ∇A(v) is a subgradient
        of q at ȳ. With it, the subgradient of A + q at ȳ is at most L|v - ȳ|, since v ↦ v - ∇A(v)/L does not
        increase distances. That is what condition (2) was checked with.
        """
        if point.target is None:
            return point, point.evaluation.grad_y
        end = self.at(point.target)
        subgradient = self.smoothness * (point.v - point.target) - point.gradient
        return end, end.evaluation.grad_y + subgradient

    def meets_condition(self, residual: float, distance: float) -> bool:
        """Condition (2) of the paper, |∇A(v)| <= |v - y_under|/λ, with its right-hand side times the accuracy."""
        return residual * self.lam <= self.accuracy * distance

    def _noise(self, evaluation: Evaluation, distance: float) -> float:
        """The expected rounding error in ∇A at this distance from the centre, which condition (2) may be below."""
        x_norm, center_norm = self._norms
        rounding = evaluation.rounding
        _, noise = self.constants.gradient_noise(rounding, x_norm)
        return noise + rounding_error(rounding.eps, 2.0 * center_norm + distance) / self.lam

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Check that L_y and mu_y hold over the step; ∇A differs from ∇ᵧf by a known term."""
        seen = product - size / self.lam
        if not fits_y_secant(self.constants, seen, size):
            largest = max(self.largest_gradient, new.evaluation.grad_y_norm)
            noise = self._noise(new.evaluation, norm(new.v - self.center))
            report_y_secant(self.constants, seen, size, largest, new.evaluation.rounding.eps, noise)
