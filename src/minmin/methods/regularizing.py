"""Regularising: a method for strongly convex functions on one that is only convex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from minmin.core.bound import UNKNOWN, Bound, Constants
from minmin.core.problem import Problem
from minmin.core.regularized import Regularized
from minmin.core.vectors import Vector, norm
from minmin.errors import InputError, as_positive
from minmin.methods.base import Candidate, Method
from minmin.methods.needs import require_constants

_FIRST_CONDITION = 100.0
"""The condition number of a regularised block in the first stage. Measured: docs/benchmarks/tuning.md."""
_STAGE_FACTOR = 3.0
"""How much weaker the regularisation is in every stage. Measured: docs/benchmarks/tuning.md."""
_EXPECTED_RADIUS = 1e3
"""What the patience is computed for where the radius is not known yet."""
_FARTHEST = 2.0**40
"""A radius that is found by doubling ends here: f then appears to have no minimum."""


class RegularizingState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    inner : NamedTuple
        The state of the method, in this stage.
    x_0, y_0 : vectors
        The centre of the regularisation: the run's start.
    radius : float
        R: the minimiser is assumed to lie within this distance of the centre, in each block without curvature.
    accuracy : float
        What this stage aims at: half of it by the method, half by the regularisation.
    candidate : Candidate
    """

    inner: Any
    x_0: Vector
    y_0: Vector
    radius: float
    accuracy: float
    candidate: Candidate


@dataclass(frozen=True)
class Regularizing(Method):
    """A method for strongly convex functions, on f plus a small strongly convex function.

    Problem: min f(x, y), f convex and (L_x, L_y)-smooth, with μ_x = 0 or μ_y = 0 or both, and a minimiser within the
    distance R of the start, in each block without curvature.

    Algorithm: the method runs on f_μ = f + μ/2 |· - start|² in those blocks, with μ = ε/(kR²), k the number of such
    blocks, until f_μ is within ε/2 of its minimum. Then f is within ε of its own: f_μ* <= f* + ε/2. The stages take ε
    smaller and smaller until it is tol; each starts where the last one ended.

    Guarantee: f(x, y) - f* <= (f_μ - f_μ*) + Σ μ/2 (R² - |· - start|²), which is the bound of the result. So the calls
    of a method that takes √(L/μ) of them grow like √(L R²/tol).

    Reference: Nesterov, "How to make the gradients small" (2012); Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439,
    use the same reduction.

    Parameters
    ----------
    method : Method
    radius : float or "auto"
        R; "auto" doubles it until it is twice the distance that the run has moved from the start. The bound is then an
        estimate.
    tol : float
        The accuracy of the last stage.
    """

    method: Method
    radius: float | str
    tol: float

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.method.name

    @property
    def state_types(self) -> tuple[type, ...]:  # type: ignore[override]
        return RegularizingState, *self.method.state_types

    def init(self, problem: Problem, x: Vector, y: Vector) -> RegularizingState:
        constants = _require_convex(problem)
        radius = max(1.0, norm(x), norm(y)) if isinstance(self.radius, str) else self.radius
        flat = [L for L, mu in ((constants.L_x, constants.mu_x), (constants.L_y, constants.mu_y)) if mu == 0.0]
        accuracy = max(self.tol, max(flat, default=0.0) / _FIRST_CONDITION * radius**2 * len(flat))
        state = RegularizingState(None, x, y, radius, accuracy, Candidate(x, y))
        return state._replace(inner=self.method.init(_regularize(problem, state), x, y))

    def step(self, problem: Problem, state: RegularizingState) -> RegularizingState:
        regularized = _regularize(problem, state)
        inner = self.method.step(regularized, state.inner)
        found = inner.candidate
        distance = _measure_distance(problem, state, found)
        is_outside = isinstance(self.radius, str) and distance > 0.5 * state.radius
        candidate = self._judge(regularized, state.radius, found)
        state = state._replace(inner=inner, candidate=candidate._replace(bound=UNKNOWN) if is_outside else candidate)
        if found.bound.value > 0.5 * state.accuracy:
            return state
        if is_outside:  # the minimiser of f_μ is never farther from the start than that of f
            return self._restart(problem, state._replace(radius=2.0 * max(state.radius, distance)))
        if state.accuracy > self.tol:
            return self._restart(problem, state._replace(accuracy=max(self.tol, state.accuracy / _STAGE_FACTOR)))
        return state

    def _restart(self, problem: Problem, state: RegularizingState) -> RegularizingState:
        """The next stage, from the candidate."""
        if state.radius > _FARTHEST:
            raise InputError(
                f"radius='auto' has reached {state.radius:.1g}: f may have no minimum; give radius=, or add a penalty"
            )
        x, y = state.candidate.x, state.candidate.y
        return state._replace(inner=self.method.init(_regularize(problem, state), x, y))

    def _judge(self, regularized: Regularized, radius: float, found: Candidate) -> Candidate:
        """The method's candidate, with a bound for f itself."""
        excess = 0.5 * sum(regularized.mu) * radius**2 - sum(regularized.excess(found.x, found.y))
        is_proved = found.bound.basis == "constants" and not isinstance(self.radius, str)
        bound = Bound(max(found.bound.value + excess, 0.0), found.bound.floor, "constants" if is_proved else "estimate")
        return found._replace(bound=bound, measured_before=True, cache=())

    def patience(self, problem: Problem) -> int:
        """Twice that of the method in the last stage, with a guess where the radius is not known yet."""
        radius = _EXPECTED_RADIUS if isinstance(self.radius, str) else self.radius
        mu = _choose_mu(_require_convex(problem), self.tol, radius)
        return 2 * self.method.patience(Regularized(problem, (0.0, 0.0), mu))


def aim_regularized(method: Method, plain: Method, radius: Any, tol: float) -> Method:
    """The method for a run with this radius and tol; ``plain`` is the same method without a radius."""
    if radius is None:
        return method
    if not tol > 0.0:
        raise InputError(f"radius = {radius!r} needs tol > 0: how much f is regularised depends on it")
    return Regularizing(plain, radius, tol)


def check_radius(radius: Any) -> None:
    """Raise if a user's radius is neither None, nor "auto", nor a positive number."""
    if radius not in (None, "auto"):
        as_positive(radius, "radius", ", or 'auto'")


def _require_convex(problem: Problem) -> Constants:
    return require_constants("a method with radius=", problem, may_be_flat=True)


def _choose_mu(constants: Constants, accuracy: float, radius: float) -> tuple[float, float]:
    """How much each block is regularised: within the radius it adds at most half of the accuracy to f in total."""
    is_flat = constants.mu_x == 0.0, constants.mu_y == 0.0
    mu = accuracy / (max(sum(is_flat), 1) * radius**2)
    return mu if is_flat[0] else 0.0, mu if is_flat[1] else 0.0


def _regularize(problem: Problem, state: RegularizingState) -> Regularized:
    mu = _choose_mu(_require_convex(problem), state.accuracy, state.radius)
    return Regularized(problem, (state.x_0, state.y_0), mu)


def _measure_distance(problem: Problem, state: RegularizingState, candidate: Candidate) -> float:
    """The larger distance of a candidate from the start, among the blocks without curvature."""
    constants = _require_convex(problem)
    moves = (constants.mu_x, candidate.x - state.x_0), (constants.mu_y, candidate.y - state.y_0)
    return max((norm(move) for mu, move in moves if mu == 0.0), default=0.0)
