"""The inner problem of sliding: g, with f linearised around the centre, and a proximal term.

It is BAM's inner problem with z = (x, y) in place of y, so BAM's inner solvers and stopping condition serve it, too.
"""

from __future__ import annotations

from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice
from minmin.core.second_order import SplitProblem
from minmin.core.term import Term
from minmin.core.vectors import Parts
from minmin.core.wrapped import WrappedEvaluation
from minmin.methods.inner.goal import InnerGoal
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.sliding_parameters import SlidingParameters


class SlidingCondition(ProximalCondition):
    """|∇A(z)| <= σ|z - z_under|/λ for A(z) = <∇f̃(z_under), z> + g̃(z) + |z - z_under|²/(2λ).

    Parameters
    ----------
    parameters : SlidingParameters
    slope_noise : float
        The expected rounding error in ∇f̃(z_under).
    """

    place = "in g, "

    def __init__(self, parameters: SlidingParameters, slope_noise: float):
        super().__init__(parameters)
        self._parameters, self._slope_noise = parameters, slope_noise

    def noise(self, goal: InnerGoal, evaluation: Evaluation) -> float:
        assert isinstance(evaluation, LinearizedEvaluation)
        of_g = self._parameters.find_noise(evaluation.original, self._parameters.of_g)
        return self._slope_noise + self._parameters.join_norms(*of_g)


def make_sliding_goal(
    problem: SplitProblem, at_center: Evaluation, offset: Parts, parameters: SlidingParameters, term: Term | None
) -> InnerGoal:
    """The inner problem of sliding: min_z A(z), from the centre z_under plus ``offset``.

    ``at_center`` is the evaluation of f at z_under, and ``term`` is that in z.
    """
    center = parameters.join(at_center.x, at_center.y)
    slice_ = _LinearizedSlice(problem, center, parameters.find_gradient(at_center, -1.0), parameters, term)
    slope_noise = parameters.join_norms(*parameters.find_noise(at_center, parameters.of_f))
    return SlidingCondition(parameters, slope_noise).make_goal(slice_, center, offset)


class _LinearizedSlice(Slice):
    """z ↦ <slope, z> + g̃(z), with the slope ∇f̃(z_under)."""

    __slots__ = ("_parameters", "_problem", "_slope", "term_y")

    def __init__(
        self, problem: SplitProblem, center: Parts, slope: Parts, parameters: SlidingParameters, term: Term | None
    ):
        super().__init__(center[0])
        self._problem, self._slope, self._parameters, self.term_y = problem, slope, parameters, term

    def at(self, y: Parts) -> Evaluation:
        return LinearizedEvaluation(self._problem.evaluate_g(*y), self, y, self._slope, self._parameters)


class LinearizedEvaluation(WrappedEvaluation):
    """∇f̃(z_under) + ∇g̃(z) as the gradient in y, which is all of z; ``original`` is the evaluation of g."""

    __slots__ = ("_parameters", "_slope")

    def __init__(self, original: Evaluation, slice_: Slice, z: Parts, slope: Parts, parameters: SlidingParameters):
        super().__init__(original, slice_)
        self.y = z
        self._slope, self._parameters = slope, parameters

    def _compute_grad_y(self) -> Parts:
        return self._slope + self._parameters.find_gradient(self.original, 1.0)
