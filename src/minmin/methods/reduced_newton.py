"""reduced-newton: Newton's method on F(x) = min_y f(x, y), with Hessian products only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.errors import NoMinimumError, NonFiniteError
from minmin.linalg import positive
from minmin.methods.base import Answer, Method, require_ability
from minmin.methods.cg import NewtonStep, reduced_cg
from minmin.methods.line_search import search
from minmin.methods.y_system import YSystem
from minmin.oracle import Ability, Evaluation, Problem
from minmin.space import Array, Vector, dot, norm, square

_FIRST_Y_STEPS = 3
"""So many steps at most in y alone come before the first one in x."""
_WORTH_A_Y_STEP = 0.01
"""Another one comes while y has more than this part left of what it first had to gain."""
_LOOSEST, _POWER = 0.2, 0.5
"""Conjugate gradients lower the residual to min(_LOOSEST, (|∇F|/|∇F at first|)^_POWER) of ∇F."""
_MOST_CG_STEPS = 1000
_CAUTION = 4.0
"""Estimated bounds are multiplied by this."""
_SURE, _QUIET = 0.5, 2
"""A bound is estimated only after _QUIET steps in a row that stay this near, in units of where the model holds."""
_STUCK = 3
"""After so many steps in a row that move nothing a run is at its end."""
_PATIENCE = 100
"""Within so many iterations the bound must halve."""
_SHRUNK, _STALE = 4.0, 30
"""What is carried of x is computed afresh where x has shrunk to less than 1/_SHRUNK of what it was, and after _STALE
steps: rounding errors of larger numbers stay in it."""
_LEFT = 1e-6
"""Where a y-Hessian is singular, so much of ∇ᵧf may lie outside of its range."""
_ZERO = 10.0
"""A gradient of so many times its rounding error may be zero."""
_SHORT = 0.05
"""Where so small a part of a Newton step is all that can be taken, the model's curvature is that of somewhere else."""


class NewtonState(NamedTuple):
    """The iteration between two steps.

    Attributes
    ----------
    x, y : vectors
    carried : tuple of arrays
        What the evaluation at (x, y) carries.
    gradient : tuple of vector
        ∇F(x), of the quadratic model after ``y_step``; empty before the first step.
    y_step : tuple of vector
        The Newton step in y alone that is still to be taken.
    y_gain : float
        Twice what the model expects of it.
    roots : tuple of arrays
        Of the y-Hessian; see :class:`YSystem`.
    scale : float
        |∇F| at first, in the preconditioner's norm.
    noise : float
        How large rounding errors in ∇F are expected to be.
    quiet : int
        Steps in a row that stayed where the quadratic model holds.
    softest : float
        The least curvature of F seen in them.
    estimate : float
        What the bound would be by it.
    stuck : int
        Steps in a row that moved nothing.
    peak : float
        The largest |x| or |dx| since what is carried was computed afresh.
    age : int
        Steps since then.
    answer : Answer
    """

    x: Vector
    y: Vector
    carried: tuple[Array, ...]
    gradient: tuple[Vector, ...]
    y_step: tuple[Vector, ...]
    y_gain: float
    roots: tuple[Array, ...]
    scale: float
    noise: float
    quiet: int
    softest: float
    estimate: float
    stuck: int
    peak: float
    age: int
    answer: Answer


@dataclass(frozen=True)
class ReducedNewton(Method):
    """Newton's method on F(x) = min_y f(x, y), its systems solved by conjugate gradients.

    Problem: min f(x, y), f convex, with products of its Hessian; constants are not needed.

    Algorithm: the Newton step of (x, y) jointly, y eliminated: S dx = -∇F with S = H_xx - H_xy H_yy⁻¹ H_yx, the Hessian
    of F, and dy = -H_yy⁻¹(∇ᵧf + H_yx dx). Conjugate gradients with a diagonal preconditioner solve for dx as exactly as
    the gradient is small (Eisenstat and Walker's forcing); H_yy is factorised once a step, or, where y is large,
    inverted by conjugate gradients too. Images X·dx are carried along, so that for a GLM neither the line search
    nor the next point costs a product with X: a step costs two for every step of conjugate gradients, one for
    ∇F and one for the preconditioner.

    Guarantee: superlinear convergence near a minimum where the Hessian is positive definite. The bound is the duality
    gap for a GLM or a Softmax, which the data alone prove, else by strong convexity. Where neither can be had it is
    estimated. Where a step shows a direction in which f falls for ever, :class:`minmin.NoMinimumError` is raised.

    Reference: Dembo, Eisenstat and Steihaug, "Inexact Newton methods" (1982).
    """

    name: ClassVar[str] = "reduced-newton"

    def check(self, problem: Problem) -> None:
        require_ability(f"method {self.name!r}", problem, Ability.HESS_PRODUCT)
        require_ability(f"method {self.name!r}", problem, Ability.HESS_YY)

    def init(self, problem: Problem, x: Vector, y: Vector) -> NewtonState:
        answer = Answer(x, y, math.inf, estimated=True)
        return NewtonState(x, y, (), (), (), 0.0, (), math.inf, 0.0, 0, math.inf, math.inf, 0, norm(x), 0, answer)

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        if not state.gradient:
            return self._first(problem, state)
        evaluation = problem.resumed(state.x, state.y, state.carried)
        (gradient,), (y_step,) = state.gradient, state.y_step
        trial = _tried(YSystem(evaluation, state.roots), gradient, y_step, state.y_gain, state.scale)
        state = state._replace(scale=trial.scale)
        flat = trial.step.flat and trial.step.left > _ZERO * state.noise
        if flat and problem.endless_where_flat:
            raise NoMinimumError(_NO_MINIMUM)
        if trial.step.flat or trial.t < _SHORT or state.stuck > 0:
            trial = _lower(_tried_from_afar(evaluation, trial), trial)
        new, step, t = trial.new, trial.step, trial.t
        if new is None:
            return _unmoved(state, quiet=0 if flat else state.quiet + 1)
        if new.falls_for_ever((step.direction, step.dy)) or new.falls_for_ever():
            raise NoMinimumError(_NO_MINIMUM)
        stuck = 0 if _moved(state, new, evaluation.eps) else state.stuck + 1
        peak, age = max(state.peak, norm(new.x), t * norm(step.direction.dx)), state.age + 1
        if peak > _SHRUNK * norm(new.x) or age > _STALE:
            new = problem.fix(new.x).at(new.y)
            peak, age = norm(new.x), 0
        state = state._replace(stuck=stuck, peak=peak, age=age)
        return self._at(problem, state, YSystem(new), None if flat else trial)

    def _first(self, problem: Problem, state: NewtonState) -> NewtonState:
        """The state at the start, with y lowered."""
        evaluation = problem.fix(state.x).at(state.y)
        y_system = YSystem(evaluation)
        y_step, gain = y_system.newton_step()
        enough = max(_WORTH_A_Y_STEP * gain, square(_ZERO * evaluation.eps * evaluation._other_terms()))
        for _ in range(_FIRST_Y_STEPS):
            if not gain > enough:
                break
            evaluation = _lowered(evaluation, y_step, -gain)
            y_system = YSystem(evaluation)
            y_step, gain = y_system.newton_step()
        if evaluation.falls_for_ever():
            raise NoMinimumError(_NO_MINIMUM)
        return self._at(problem, state, y_system, None)

    def _at(self, problem: Problem, state: NewtonState, y_system: YSystem, trial: _Trial | None) -> NewtonState:
        """The state at a new point, with its bound; ``trial`` led there, if anything is to be learnt from it."""
        evaluation = y_system.evaluation
        y_step, y_gain = y_system.newton_step()
        gradient = evaluation.grad_x_ahead(y_step)
        if not norm(gradient) + y_gain < math.inf:
            raise NonFiniteError("a gradient of f is NaN or infinite; is f finite around the start?")
        certificate = problem.certificate(evaluation, y_system.whole_root)
        bound, estimated = certificate.bound, math.isinf(certificate.bound)
        quiet, softest, estimate = 0, math.inf, math.inf
        if estimated and trial is not None and trial.move_from(evaluation) <= _SURE:
            quiet, softest = state.quiet + 1, min(state.softest, trial.step.softest)
            estimate = _estimate(problem, y_system, gradient, softest, certificate.noise)
            bound = estimate if quiet >= _QUIET else math.inf
        answer = Answer(
            evaluation.x,
            evaluation.y,
            bound,
            certificate.floor,
            exhausted=state.stuck >= _STUCK,
            estimated=estimated,
            by_data=certificate.by_data,
            carried=evaluation.carried,
        )
        return state._replace(
            x=evaluation.x,
            y=evaluation.y,
            carried=evaluation.carried,
            gradient=(gradient,),
            y_step=(y_step,),
            y_gain=y_gain,
            roots=y_system.roots,
            noise=certificate.noise[0],
            quiet=quiet,
            softest=softest,
            estimate=estimate,
            answer=answer,
        )

    def patience(self, problem: Problem) -> int:
        return _PATIENCE


_NO_MINIMUM = (
    "f has no minimum: it falls for ever in some direction (for a logistic regression this means that the data are "
    "separable); with a penalty above 0 on both blocks there is one"
)


class _Trial(NamedTuple):
    """Where a step leads (nowhere if f does not fall), the step, how much of it was taken, and |∇F| at first."""

    new: Evaluation | None
    step: NewtonStep
    t: float
    scale: float

    def move_from(self, evaluation: Evaluation) -> float:
        """How far the part that was taken leads out of where the quadratic model holds."""
        return self.t * evaluation.largest_move(self.step.direction, self.step.dy)


def _tried(y_system: YSystem, gradient: Vector, y_step: Vector, y_gain: float, scale: float) -> _Trial:
    """The Newton step, as far as it is good; ``scale`` is |∇F| at first, infinite where this is first."""
    evaluation = y_system.evaluation
    diagonal = positive(evaluation.hess_xx_diagonal())
    size = math.sqrt(dot(gradient, gradient / diagonal))
    scale = size if math.isinf(scale) else scale
    tolerance = min(_LOOSEST, (size / scale) ** _POWER) if scale > 0.0 else _LOOSEST
    step = reduced_cg(evaluation, y_system, gradient, y_step, diagonal, tolerance=tolerance, most_steps=_MOST_CG_STEPS)
    slope = dot(gradient, step.direction.dx) - y_gain
    if not slope < 0.0:
        return _Trial(None, step, 0.0, scale)

    def at(t: float) -> tuple[Evaluation, float]:
        new = evaluation.slice.moved(step.direction, t).at(evaluation.y + t * step.dy)
        return new, new.slope(step.direction, step.dy)

    new, t = search(at, slope)
    return _Trial(new, step, t, scale)


def _lower(one: _Trial | None, other: _Trial) -> _Trial:
    """The one that leads lower."""
    if one is None or one.new is None:
        return other
    return one if other.new is None or one.new.value <= other.new.value else other


def _tried_from_afar(evaluation: Evaluation, near: _Trial) -> _Trial | None:
    """The same with a curvature that does not vanish far away; None where there is no other.

    Of f's own curvature it says no more than ``near``, the Newton step.
    """
    level = evaluation.from_afar()
    if level is None:
        return None
    y_system = YSystem(level)
    y_step, y_gain = y_system.newton_step()
    trial = _tried(y_system, level.grad_x_ahead(y_step), y_step, y_gain, math.inf)
    step = trial.step._replace(softest=near.step.softest)
    return trial._replace(step=step)


def _lowered(evaluation: Evaluation, dy: Vector, slope: float) -> Evaluation:
    """The evaluation after a step in y alone."""

    def at(t: float) -> tuple[Evaluation, float]:
        new = evaluation.slice.at(evaluation.y + t * dy)
        return new, dot(new.grad_y, dy)

    return search(at, slope)[0] or evaluation


def _moved(state: NewtonState, new: Evaluation, eps: float) -> bool:
    return norm(new.x - state.x) > 4.0 * eps * norm(state.x) or norm(new.y - state.y) > 4.0 * eps * norm(state.y)


def _unmoved(state: NewtonState, quiet: int) -> NewtonState:
    """The state after a step that leads nowhere."""
    stuck, answer = state.stuck + 1, state.answer._replace(exhausted=state.stuck + 1 >= _STUCK)
    if answer.estimated:
        answer = answer._replace(gap_bound=state.estimate if quiet >= _QUIET else math.inf)
    return state._replace(stuck=stuck, quiet=quiet, answer=answer)


def _estimate(
    problem: Problem, y_system: YSystem, gradient: Vector, softest: float, noise: tuple[float, float]
) -> float:
    """What |∇F|²/2μ would be with the least curvature seen, and y's part, times a factor for what was not seen.

    It means something only near a minimum: steps on the way to where f falls for ever stay as long as they are.
    """
    y_step, y_gain = y_system.newton_step()
    left = norm(y_system.left_by(y_step))
    if left > _LEFT * norm(y_system.evaluation.grad_y) and left > _ZERO * noise[1]:
        if problem.endless_where_flat:
            raise NoMinimumError(_NO_MINIMUM)
        return math.inf
    size = norm(gradient)
    if not 0.0 < softest < math.inf and size > _ZERO * noise[0]:
        return math.inf
    in_x = square(size) / (2.0 * softest) if softest > 0.0 else 0.0
    return _CAUTION * (in_x + 0.5 * y_gain + y_system.evaluation.hidden_by_rounding())
