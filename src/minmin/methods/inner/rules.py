"""When a point of an inner problem is good enough: condition (2) of BAM, or an accuracy that the constants prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from minmin.core.arrays import Array
from minmin.core.bound import half_square_over
from minmin.core.problem import Slice
from minmin.methods.inner.goal import InnerGoal, InnerPoint, Rule

if TYPE_CHECKING:
    from minmin.lab.triple_momentum import TripleParameters
    from minmin.methods.sliding_parameters import SlidingParameters
    from minmin.methods.theory import BlockParameters

ProximalParameters: TypeAlias = "BlockParameters | TripleParameters | SlidingParameters"
"""What an inner problem with a proximal term needs: λ, the constants of f, and the accuracy c of condition (2)."""


class ProximalCondition(Rule):
    """Condition (2) of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439: |∇A(v)| <= c|v - y_under|/λ.

    A(v) = f(x_under, v) + |v - y_under|²/(2λ). The proof of their Theorem 2.2 needs only that condition, with c = 1, so
    it covers every inner solver. What may be rounding in ∇A alone is good enough, too.
    """

    overshoot = 0.9
    """Hardly matters: 0.1 to 0.99 take 6588 to 6610 calls of ∇ᵧ on the paper's quadratics, and all the same on a1a."""

    def __init__(self, parameters: ProximalParameters):
        self.parameters, self.lam, self.accuracy = parameters, parameters.lam, parameters.accuracy

    def is_met(self, goal: InnerGoal, point: InnerPoint) -> bool:
        return point.residual * self.lam <= self.accuracy * point.distance or point.residual <= goal.noise(point)

    def most_gradients(self, goal: InnerGoal, first: InnerPoint) -> int:
        """T_max: accelerated gradient from the centre succeeds within this many steps.

        √κ_A ln(8 κ_A (λ L_A/c)²) with κ_A the condition number of A. If it takes more, the cause is rounding or a wrong
        L_y.
        """
        return self.most_steps(goal, math.sqrt(goal.smoothness / goal.convexity))

    def most_steps(self, goal: InnerGoal, time: float) -> int:
        """The same for any method whose distance to the minimum shrinks by e in ``time`` steps."""
        kappa = goal.smoothness / goal.convexity
        return max(2, math.ceil(time * math.log(8.0 * kappa * (self.lam * goal.smoothness / self.accuracy) ** 2)))

    def make_goal(self, slice_: Slice, center: Array, offset: Array, largest_gradient: float = 0.0) -> InnerGoal:
        """BAM's inner problem: min_v A(v) until this condition holds, from the centre y_under plus ``offset``."""
        constants, shift = self.parameters.constants, 1.0 / self.lam
        return InnerGoal(
            slice_, center + offset, self, constants, center=center, shift=shift, largest_gradient=largest_gradient
        )


class ProvedAccuracy(Rule):
    """|∇ᵧf|²/(2μ_y) <= ``accuracy``, so that f is at most that above its minimum over y; or ∇ᵧf may be rounding alone.

    With the accuracy 0 it is as exact as rounding allows.
    """

    def __init__(self, accuracy: float):
        self.accuracy = accuracy

    def is_met(self, goal: InnerGoal, point: InnerPoint) -> bool:
        is_accurate = half_square_over(point.residual, goal.convexity) <= self.accuracy
        return is_accurate or point.residual <= goal.noise(point)

    def most_gradients(self, goal: InnerGoal, first: InnerPoint) -> int:
        """The number of accelerated steps after which a point is good enough in exact arithmetic.

        After k steps f is at most 2(1 - 1/√κ)ᵏ g above its minimum, g = |∇ᵧf|²/(2μ_y) at the start. There, and at the
        extrapolated point that follows, |∇ᵧf|²/(2μ_y) is at most 9κ² times that.
        """
        kappa = goal.smoothness / goal.convexity
        gap = half_square_over(first.residual, goal.convexity)
        floor = half_square_over(goal.noise(first), goal.convexity)
        enough = max(self.accuracy, floor, first.evaluation.rounding.eps**2 * gap)
        if not gap > enough:
            return 1
        return 1 + math.ceil(math.sqrt(kappa) * math.log(18.0 * kappa**2 * gap / enough))
