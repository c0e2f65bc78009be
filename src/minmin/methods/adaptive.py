"""Adaptive: a method that needs constants, with constants that are estimated during the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from minmin.core.assumed import Assumed
from minmin.core.bound import UNKNOWN
from minmin.core.constants import Constants
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, norm
from minmin.errors import InputError, NonFiniteError, UnsupportedError
from minmin.methods.base import Candidate, Method
from minmin.methods.secants import SecantPoint

_PROBE = 1e-3
"""The length of the probing step at the start, as a fraction of max(1, norm of the start). A choice: it only has to be
far above rounding and, where f is not quadratic, short."""
_TOO_LOW = 1.5
"""A step is taken again if its secant shows an L this many times as large. On 50 quadratics and 50 GLMs bam's median
ratio to the calls with known constants was 1.27 and 1.29 with 1.1, 1.25 and 1.27 with 1.5, 1.25 and 1.19 with 4; with 4
one more run stopped too early. Measured with (1, 1) in ``_BELOW_SEEN``."""
_FORGET, _FORGET_MU = 0.99, 0.9995
"""L falls, and mu rises, by these factors per step until a secant says otherwise. Without forgetting nag takes 0.75
times the calls with known constants on 12 quadratics, and 0.66 times with 0.99 for both, with (1, 1) in
``_BELOW_SEEN``. But with 0.99 for mu it once stopped at 2.3 times tol: mu had risen for too long at a large κ. With
0.998 and 0.9995 for mu the calls differ by at most 5 %."""
_BELOW_SEEN = {False: (0.5, 0.05), True: (0.7, 0.7)}
"""What is assumed of mu_x and mu_y, as a fraction of the least curvature seen; for bam, then for nag. Secants often
show more than mu, and never less. bam takes 0.65 times the calls with known constants with (1, 1), on 50 quadratics. On
100 it takes 0.47 times with (0.5, 0.2), and 0.45 times with (0.5, 0.05) and (0.7, 0.05). With (0.7, 0.05), 11 of these
and 100 GLMs take more than 1.4 times as many; with (0.5, 0.05), 4 do. A low mu_y costs calls of ∇ᵧ alone. nag takes
0.66, 0.54 and 0.67 times with 1, 0.7 and 0.5, on 12 quadratics."""
_CLEAR_FALL = 0.02
"""A bound is given only where both gradients are at most this fraction of the largest one. Without the rule
52 of bam's 100 runs with tol = 0.01 ended too early; with it none did."""
_CLEARLY_LOWER = 0.8
"""A mu that falls below this fraction of itself was not known yet, and there is no bound until it has held for √κ
steps. A choice."""
_CAUTION = 2.0
"""The bound is this times what the estimates give. With (1, 1) in ``_BELOW_SEEN``, 42 of 200 runs of bam ended with
a gap above tol with 1, 4 of 100 with 2, and 2 of 200 with 4. With (0.5, 0.05) and 2, none of 200 did."""
_RAISE_AFTER_FAILURE = 4.0
"""How much L_y grows after inner solves that exceeded what it allows, and L after a step to a point without finite
gradients. A choice."""
_PATIENCE = 20_000
"""No theory tells how many iterations may pass without constants. The longest of nag's measured runs took 11,695."""


class Seen(NamedTuple):
    """The largest and the least curvatures that secants have shown."""

    L_x: float
    L_y: float
    mu_x: float
    mu_y: float

    def add(self, found: Seen) -> Seen:
        """With a new secant; older ones are slowly forgotten, since f may be flatter or more curved elsewhere."""
        return Seen(
            max(_FORGET * self.L_x, found.L_x),
            max(_FORGET * self.L_y, found.L_y),
            min(self.mu_x / _FORGET_MU, found.mu_x),
            min(self.mu_y / _FORGET_MU, found.mu_y),
        )


class AdaptiveState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    inner, before : NamedTuple or None
        The state of the method, and the one before its last step; None before the first step.
    seen : Seen or None
    steady : int
        Steps since mu was last clearly lowered.
    largest : float
        The largest norm of a gradient so far.
    candidate : Candidate
    """

    inner: Any
    before: Any
    seen: Seen | None
    steady: int
    largest: float
    candidate: Candidate


@dataclass(frozen=True)
class Adaptive(Method):
    """A method that needs constants, on a problem of which none are known.

    Problem: min f(x, y), f smooth and strongly convex, with unknown L_x, L_y, μ_x and μ_y.

    Algorithm: the method takes its steps with estimated constants. Between two points in a row where both gradients are
    known, with differences d, L_x >= |d∇ₓf|²/<d∇f, dz> and μ_x <= <d∇f, dz>/|dx|², and the same for y. The largest such
    L and a fraction of the least such μ are the estimates; both slowly forget. A step that shows a much larger L is
    taken again with it. The first secant is that of a short probing step, which costs two calls of each gradient.

    Too large a μ corrects itself: the run is then slow along the directions of least curvature, so that its secants
    show them. Too low an L does, too: steps along the directions of largest curvature grow.

    Guarantee: none. The bound is an estimate. On 50 quadratics with κ up to 10⁴ and 50 GLMs, tol = 1e-6, all runs
    converged to a gap below tol; for the calls of ∇ₓ see docs/methods.md.

    Reference: the secant |d∇f|²/<d∇f, dz> is the inverse of a step length of Barzilai and Borwein, "Two-point step size
    gradient methods" (1988). The combination is minmin's own.

    Parameters
    ----------
    method : Method
        Bam or Nag.
    joint : bool
        Whether both blocks have the same constants, as nag needs them.
    guess : Constants, optional
        Replaces the probing step; it is forgotten at the first secant.
    """

    method: Method
    joint: bool
    guess: Constants | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.method.name

    @property
    def state_types(self) -> tuple[type, ...]:  # type: ignore[override]
        return AdaptiveState, Seen, *self.method.state_types

    @property
    def takes_terms(self) -> bool:  # type: ignore[override]
        return self.method.takes_terms

    def init(self, problem: Problem, x: Vector, y: Vector) -> AdaptiveState:
        return AdaptiveState(None, None, None, 0, 0.0, Candidate(x, y))

    def step(self, problem: Problem, state: AdaptiveState) -> AdaptiveState:
        seen = self._look_around(problem, state.candidate) if state.seen is None else state.seen
        assumed = Assumed(problem, self._assume(seen))
        if state.inner is None:
            inner = self.method.init(assumed, state.candidate.x, state.candidate.y)
            state = state._replace(inner=inner, before=inner)
        try:
            inner = self.method.step(assumed, state.inner)
        except NonFiniteError:
            if state.inner.secant_point is None or state.inner is state.before:
                raise
            factor = _RAISE_AFTER_FAILURE
            return _go_back(state, seen._replace(L_x=factor * seen.L_x, L_y=factor * seen.L_y))
        steady = state.steady + 1
        found = _measure(state.inner.secant_point, inner.secant_point, self.joint)
        if found is not None:
            is_guess = self.guess is not None and state.before.secant_point is None
            new = found if is_guess else seen.add(found)
            if found.L_x > _TOO_LOW * seen.L_x:
                return _go_back(state, new._replace(L_y=max(new.L_y, seen.L_y)))
            if new.mu_x < _CLEARLY_LOWER * seen.mu_x or new.mu_y < _CLEARLY_LOWER * seen.mu_y:
                steady = 0
            seen = new
        largest = max(state.largest, *_norms(inner.secant_point))
        candidate = inner.candidate
        if self._can_judge(problem, seen, inner.secant_point, steady, largest):
            candidate = candidate._replace(bound=candidate.bound._replace(value=_CAUTION * candidate.bound.value))
        else:
            if candidate.exhausted:  # L_y, which limits the inner solver, is the more likely reason than rounding
                seen = seen._replace(L_y=_RAISE_AFTER_FAILURE * seen.L_y)
            candidate = candidate._replace(bound=UNKNOWN, exhausted=False)
        return AdaptiveState(inner, state.inner, seen, steady, largest, candidate)

    def patience(self, problem: Problem) -> int:
        return _PATIENCE

    def _look_around(self, problem: Problem, start: Candidate) -> Seen:
        """The guess, or the curvatures between the start and a point nearby, where both gradients lead."""
        if self.guess is not None:
            return Seen(self.guess.L_x, self.guess.L_y, self.guess.mu_x, self.guess.mu_y)
        here = problem.fix(start.x).at(start.y)
        near = problem.fix(_probe(start.x, here.grad_x)).at(_probe(start.y, here.grad_y))
        points = [SecantPoint(e.x, e.y, e.grad_x, e.grad_y, (0.0, 0.0), 0.0, 0.0) for e in (here, near)]
        return _measure(points[0], points[1], self.joint) or Seen(0.0, 0.0, math.inf, math.inf)

    def _assume(self, seen: Seen) -> Constants:
        """The constants for the next step. A block of which nothing was seen yet gets those of the other one."""
        L_x, L_y = seen.L_x or seen.L_y or 1.0, seen.L_y or seen.L_x or 1.0
        in_x, in_y = _BELOW_SEEN[self.joint]
        return Constants(L_x, L_y, min(in_x * seen.mu_x, L_x), min(in_y * seen.mu_y, L_y), "adapted")

    def _can_judge(self, problem: Problem, seen: Seen, at: SecantPoint, steady: int, largest: float) -> bool:
        """Whether the run has seen enough of f for a bound. With terms the gradients of f need not fall."""
        has_fallen = problem.has_terms or max(_norms(at)) <= _CLEAR_FALL * largest
        return has_fallen and steady >= math.sqrt(self._assume(seen).kappa_x)


def require_adaptive(adaptive: Any, radius: Any, *, other: str = "") -> None:
    """Raise if a user's options do not go together; ``other`` is one that needs known constants, if it is given."""
    if not isinstance(adaptive, bool):
        raise InputError(f"adaptive must be True or False, got {adaptive!r}")
    other = other or ("radius" if radius is not None else "")
    if adaptive and other:
        raise InputError(f"adaptive=True and {other} exclude each other: {other} needs known constants")


def require_all_gradients(name: str, problem: Problem) -> None:
    """Raise if the curvature of f cannot be seen during a run."""
    if problem.y_is_remote or problem.has_noisy_gradients:
        raise UnsupportedError(
            f"method {name!r} with adaptive=True compares exact gradients, and here ∇ᵧ stays with the clients or noise "
            "is added; method='reduced-lbfgs' needs no constants"
        )


def _go_back(state: AdaptiveState, seen: Seen) -> AdaptiveState:
    """Before the last step, which was too long."""
    return state._replace(inner=state.before, seen=seen, steady=0)


def _norms(at: SecantPoint) -> tuple[float, float]:
    return norm(at.grad_x), norm(at.grad_y)


def _probe(v: Vector, gradient: Vector) -> Vector:
    size = norm(gradient)
    return v if size == 0.0 else v - (_PROBE * max(1.0, norm(v)) / size) * gradient


def _measure(old: SecantPoint | None, new: SecantPoint, joint: bool) -> Seen | None:
    """What a secant shows; None if rounding may hide it.

    H ⪯ diag(L_x, L_y) gives |d∇ₓf|²/L_x + |d∇ᵧf|²/L_y <= <d∇f, dz>, and H ⪰ diag(μ_x, μ_y) gives
    μ_x|dx|² + μ_y|dy|² <= <d∇f, dz>.
    """
    if old is None:
        return None
    dx, dy = new.x - old.x, new.y - old.y
    change_x, change_y = new.grad_x - old.grad_x, new.grad_y - old.grad_y
    product = dot(change_x, dx) + dot(change_y, dy)
    changes, sizes = (dot(change_x, change_x), dot(change_y, change_y)), (dot(dx, dx), dot(dy, dy))
    if not 0.0 < product < math.inf or math.sqrt(sum(changes)) < math.sqrt(new.eps) * new.largest:
        return None
    if joint:
        changes, sizes = (sum(changes), sum(changes)), (sum(sizes), sum(sizes))
    mu_x, mu_y = (product / size if size > 0.0 else math.inf for size in sizes)
    return Seen(changes[0] / product, changes[1] / product, mu_x, mu_y)
