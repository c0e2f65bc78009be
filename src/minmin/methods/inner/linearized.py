"""The inner problem of sliding: g, with f linearised around the centre, and a proximal term.

It is BAM's inner problem with z = (x, y) in place of y, so BAM's inner solvers and stopping condition serve it, too.
"""

from __future__ import annotations

import math

from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.problem import Slice
from minmin.core.rounding import rounding_error
from minmin.core.split import SplitProblem
from minmin.core.vectors import Parts, norm
from minmin.core.wrapped import WrappedEvaluation
from minmin.errors import NonFiniteError
from minmin.methods.inner.objective import InnerPoint
from minmin.methods.inner.proximal import ProximalObjective
from minmin.methods.sliding_parameters import SlidingParameters


class LinearizedObjective(ProximalObjective):
    """A(z) = <∇f̃(z_under), z> + g̃(z) + |z - z_under|²/(2λ). A point is good enough if |∇A(z)| <= σ|z - z_under|/λ.

    Parameters
    ----------
    problem : SplitProblem
    at_center : Evaluation
        f at z_under.
    center : Parts
        z_under.
    offset : Parts
        z - z_under of the previous solve; this solve starts there.
    parameters : SlidingParameters
    constants : pair of Constants
        Of f and of g.
    """

    def __init__(
        self,
        problem: SplitProblem,
        at_center: Evaluation,
        center: Parts,
        offset: Parts,
        parameters: SlidingParameters,
        constants: tuple[Constants, Constants],
    ):
        of_f, self._of_g = constants
        slope = parameters.find_gradient(at_center, -1.0)
        super().__init__(_LinearizedSlice(problem, center, slope, parameters), center, offset, parameters)
        self._parameters = parameters
        self._center_norm = norm(center)
        self._slope_noise = parameters.join_norms(*parameters.find_noise(at_center, of_f))

    def begin(self) -> InnerPoint:
        point = self.at(self.start)
        if not point.residual < math.inf:
            raise NonFiniteError(f"in g, {explain_nonfinite(point.evaluation)}")
        return point

    def _noise(self, evaluation: Evaluation, distance: float) -> float:
        assert isinstance(evaluation, LinearizedEvaluation)
        in_g = self._parameters.join_norms(*self._parameters.find_noise(evaluation.original, self._of_g))
        of_step = rounding_error(evaluation.rounding.eps, 2.0 * self._center_norm + distance) / self.lam
        return self._slope_noise + in_g + of_step


class _LinearizedSlice(Slice):
    """z ↦ <slope, z> + g̃(z), with the slope ∇f̃(z_under)."""

    __slots__ = ("_parameters", "_problem", "_slope")

    def __init__(self, problem: SplitProblem, center: Parts, slope: Parts, parameters: SlidingParameters):
        super().__init__(center[0])
        self._problem, self._slope, self._parameters = problem, slope, parameters

    def at(self, y: Parts) -> Evaluation:
        return LinearizedEvaluation(self._problem.evaluate_g(*y), self, y, self._slope, self._parameters)


class LinearizedEvaluation(WrappedEvaluation):
    """∇f̃(z_under) + ∇g̃(z) as the gradient in y, which is all of z; ``original`` is the evaluation of g."""

    __slots__ = ("_parameters", "_slope")

    def __init__(self, original: Evaluation, slice_: Slice, z: Parts, slope: Parts, parameters: SlidingParameters):
        super().__init__(original, slice_)
        self.y = z
        self._slope, self._parameters = slope, parameters

    def _compute_value(self) -> float:
        raise TypeError("inner solvers of sliding know gradients alone")

    def _compute_grad_x(self) -> Parts:
        raise TypeError("inner solvers of sliding know one block: all of z")

    def _compute_grad_y(self) -> Parts:
        return self._slope + self._parameters.find_gradient(self.original, 1.0)
