"""Adaptive: a method that needs constants, with constants that are estimated during the run."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from minmin.core.bound import UNKNOWN, Constants, half_square_over
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, norm
from minmin.core.wrapped import Assumed
from minmin.errors import NonFiniteError, UnsupportedError
from minmin.methods.base import Candidate, Method, require_flag
from minmin.methods.estimates import has_clearly_fallen
from minmin.methods.secants import SecantPoint

_TOO_LOW = 1.5
"""A step is taken again if its secant shows an L this many times as large. Measured: docs/benchmarks/tuning.md."""
_BELOW_SEEN = {False: (0.35, 0.05), True: (0.5, 0.5)}
"""What is assumed of mu_x and mu_y, as a fraction of the least curvature seen; for bam, then for nag. Secants often
show more than mu, and never less. Measured: docs/benchmarks/tuning.md."""
_CAUTION, _MORE_CAUTION, _CLEARLY_LOWER = 2.0, 10.0, 0.8
"""The bound is the first number times what the estimates give. It is the second one times that while mu is not known
yet: until it has not fallen below the third fraction of itself for √κ steps. Measured: docs/benchmarks/tuning.md."""
_RAISE_AFTER_FAILURE = 4.0
"""How much L_y grows after inner solves that exceeded what it allows, and L after a step to a point without finite
gradients. A choice."""
_PATIENCE = 20_000
"""No theory tells how many iterations may pass without constants. Measured: docs/benchmarks/tuning.md."""
_PROBE = 1e-3
"""The length of the probing step at the start, as a fraction of max(1, norm of the start). A choice: it only has to be
far above rounding and, where f is not quadratic, short."""
_DECAY_OF_L, _DECAY_OF_MU = 0.99, 0.9995
"""L falls, and mu rises, by these factors per step until a secant says otherwise.
Measured: docs/benchmarks/tuning.md."""


class Seen(NamedTuple):
    """The largest and the least curvatures that secants have shown."""

    L_x: float
    L_y: float
    mu_x: float
    mu_y: float

    def add(self, found: Seen) -> Seen:
        """With a new secant; what older ones showed decays, since f may be flatter or more curved elsewhere."""
        return Seen(
            max(_DECAY_OF_L * self.L_x, found.L_x),
            max(_DECAY_OF_L * self.L_y, found.L_y),
            min(self.mu_x / _DECAY_OF_MU, found.mu_x),
            min(self.mu_y / _DECAY_OF_MU, found.mu_y),
        )

    def join(self) -> Seen:
        """The same curvatures for both blocks."""
        L, mu = max(self.L_x, self.L_y), min(self.mu_x, self.mu_y)
        return Seen(L, L, mu, mu)

    def falls_below(self, fraction: float, other: Seen) -> bool:
        """Whether a least curvature is below this fraction of the other one."""
        return self.mu_x < fraction * other.mu_x or self.mu_y < fraction * other.mu_y


class AdaptiveState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    inner, before : NamedTuple or None
        The state of the method, and the one before its last step; None before the first step.
    seen : Seen or None
    steady : int
        Steps since mu was last clearly lowered.
    settled : Seen or None
        What had been seen then.
    largest : float
        The largest norm of a gradient so far.
    candidate : Candidate
    """

    inner: Any
    before: Any
    seen: Seen | None
    steady: int
    settled: Seen | None
    largest: float
    candidate: Candidate


class AdaptableMethod(Method):
    """A method with momentum whose constants can be estimated during a run."""

    @abstractmethod
    def without_momentum(self, state: Any) -> Any:
        """The same state, at rest at its candidate."""


@dataclass(frozen=True)
class Adaptive(Method):
    """A method that needs constants, on a problem of which none are known.

    Problem: min f(x, y), f smooth and strongly convex, with unknown L_x, L_y, μ_x and μ_y.

    Algorithm: the method takes its steps with estimated constants. Between two points in a row where both gradients are
    known, with differences d, L_x >= |d∇ₓf|²/<d∇f, dz> and μ_x <= <d∇f, dz>/|dx|², and the same for y. The largest such
    L and a fraction of the least such μ are the estimates; older ones decay. A step that shows a much larger L is
    taken again with it. The first secants are those of short probing steps in each block, which cost two calls of each
    gradient. nag uses one of these again.

    Momentum that was chosen for too low a μ overshoots. So it is dropped after a step that goes uphill.

    Too large a μ corrects itself: the run is then slow along the directions of least curvature, so that its secants
    show them. Too low an L does, too: steps along the directions of largest curvature grow.

    Guarantee: none. The bound is an estimate: a direction in which f is flat may stay hidden. See
    docs/benchmarks/constants.md: how often it was too low on quadratics with κ up to 10⁴ and on GLMs, and the calls.

    Reference: momentum is dropped by the gradient scheme of O'Donoghue and Candès, "Adaptive restart for accelerated
    gradient schemes" (2015). The secant |d∇f|²/<d∇f, dz> is the inverse of a step length of Barzilai and Borwein,
    "Two-point step size gradient methods" (1988). The combination is minmin's own.

    Parameters
    ----------
    method : AdaptableMethod
        Bam or Nag.
    joint : bool
        Whether both blocks have the same constants, as nag needs them.
    guess : Constants, optional
        Replaces the probing step; it is forgotten at the first secant.
    """

    method: AdaptableMethod
    joint: bool
    guess: Constants | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.method.name

    @property
    def state_types(self) -> tuple[type, ...]:  # type: ignore[override]
        return AdaptiveState, Seen, *self.method.state_types

    def init(self, problem: Problem, x: Vector, y: Vector) -> AdaptiveState:
        return AdaptiveState(None, None, None, 0, None, 0.0, Candidate(x, y))

    def step(self, problem: Problem, state: AdaptiveState) -> AdaptiveState:
        seen, assumed = self._assume_constants(problem, state)
        if state.inner is None:
            inner = self.method.init(assumed, state.candidate.x, state.candidate.y)
            state = state._replace(inner=inner, before=inner)
        try:
            inner = self.method.step(assumed, state.inner)
        except NonFiniteError:
            if state.inner.secant_point is None or state.inner is state.before:
                raise
            factor = _RAISE_AFTER_FAILURE
            raised = seen._replace(L_x=factor * seen.L_x, L_y=factor * seen.L_y)
            return state._replace(inner=state.before, seen=raised, steady=0)
        steady, settled = state.steady + 1, state.settled
        found = measure_secant(state.inner.secant_point, inner.secant_point, self.joint)
        if found is not None:
            is_guess = self.guess is not None and state.before.secant_point is None
            new = found if is_guess else seen.add(found)
            if settled is None or new.falls_below(_CLEARLY_LOWER, settled):
                steady, settled = 0, new
            if found.L_x > _TOO_LOW * seen.L_x:  # the last step was too long
                new = new._replace(L_y=max(new.L_y, seen.L_y))
                return state._replace(inner=state.before, seen=new, steady=steady, settled=settled)
            seen = new
        largest = max(state.largest, *_norms(inner.secant_point))
        candidate = inner.candidate if problem.has_terms else self._judge(inner.candidate, inner.secant_point, seen)
        # With terms the gradients of f tell neither, by falling, that the end is near, nor whether momentum helps.
        has_fallen = problem.has_terms or has_clearly_fallen(max(_norms(inner.secant_point)), largest)
        if has_fallen:
            caution = _CAUTION if steady >= math.sqrt(self._assume(seen).kappa_x) else _MORE_CAUTION
            candidate = candidate._replace(bound=candidate.bound._replace(value=caution * candidate.bound.value))
        else:
            if candidate.exhausted:  # L_y, which limits the inner solver, is the more likely reason than rounding
                seen = seen._replace(L_y=_RAISE_AFTER_FAILURE * seen.L_y)
            candidate = candidate._replace(bound=UNKNOWN, exhausted=False)
        if not problem.has_terms and _goes_uphill(state.inner.candidate, inner):
            inner = self.method.without_momentum(inner)
        return AdaptiveState(inner, state.inner, seen, steady, settled, largest, candidate)

    def patience(self, problem: Problem) -> int:
        return _PATIENCE

    def _assume_constants(self, problem: Problem, state: AdaptiveState) -> tuple[Seen, Assumed]:
        """What has been seen, by a probing step if this is the first one, and the problem with such constants."""
        seen, known, guess = state.seen, None, self.guess
        if seen is None and guess is not None:
            seen = Seen(guess.L_x, guess.L_y, guess.mu_x, guess.mu_y)
        elif seen is None:
            seen, here = look_around(problem, state.candidate.x, state.candidate.y)
            if self.joint:
                seen, known = seen.join(), here  # nag's first step needs both gradients there
        return seen, Assumed(problem, self._assume(seen), known)

    def _judge(self, candidate: Candidate, at: SecantPoint, seen: Seen) -> Candidate:
        """The point where both gradients are known, with its bound: unlike that of the method, it needs no L."""
        constants, noise = self._assume(seen), at.noise
        in_x = half_square_over(norm(at.grad_x) + noise[0], constants.mu_x)
        in_y = half_square_over(norm(at.grad_y) + noise[1], constants.mu_y)
        bound = candidate.bound._replace(value=in_x + in_y)
        return candidate._replace(x=at.x, y=at.y, bound=bound, measured_before=False)

    def _assume(self, seen: Seen) -> Constants:
        """The constants for the next step. A block of which nothing was seen yet gets those of the other one."""
        L_x, L_y = seen.L_x or seen.L_y or 1.0, seen.L_y or seen.L_x or 1.0
        in_x, in_y = _BELOW_SEEN[self.joint]
        return Constants(L_x, L_y, min(in_x * seen.mu_x, L_x), min(in_y * seen.mu_y, L_y), "adapted")


def require_adaptive(adaptive: Any, radius: Any, *, other: str = "") -> None:
    """Raise if a user's options do not go together; ``other`` is one that needs known constants, if it is given."""
    require_flag("adaptive", adaptive)
    other = other or ("radius" if radius is not None else "")
    if adaptive and other:
        raise UnsupportedError(
            f"adaptive=True and {other} exclude each other: {other} needs known constants; leave one of them out, or "
            "take method='reduced-lbfgs'"
        )


def _goes_uphill(before: Candidate, state: Any) -> bool:
    """Whether the last step went along the gradient rather than against it: <∇f(z_under), z̄⁺ - z̄> > 0."""
    at, after = state.secant_point, state.candidate
    return dot(at.grad_x, after.x - before.x) + dot(at.grad_y, after.y - before.y) > 0.0


def _norms(at: SecantPoint) -> tuple[float, float]:
    return norm(at.grad_x), norm(at.grad_y)


def measure_secant(old: SecantPoint | None, new: SecantPoint, joint: bool) -> Seen | None:
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


def look_around(problem: Problem, x: Vector, y: Vector) -> tuple[Seen, Evaluation]:
    """The curvature of each block along its gradient, and the evaluation at (x, y).

    The other block stays where it is, since the steeper block would hide the flatter one. So there are two calls of
    each gradient.
    """
    slice_ = problem.fix(x)
    here = slice_.at(y)
    in_x = problem.fix(_probe(x, here.grad_x)).at(y)
    in_y = slice_.at(_probe(y, here.grad_y))
    L_x, mu_x = _measure_block(in_x.x - x, in_x.grad_x - here.grad_x)
    L_y, mu_y = _measure_block(in_y.y - y, in_y.grad_y - here.grad_y)
    return Seen(L_x, L_y, mu_x, mu_y), here


def _probe(v: Vector, gradient: Vector) -> Vector:
    size = norm(gradient)
    return v if size == 0.0 else v - (_PROBE * max(1.0, norm(v)) / size) * gradient


def _measure_block(d: Vector, change: Vector) -> tuple[float, float]:
    """L and mu of one block; 0 and infinity if nothing is seen."""
    product = dot(d, change)
    return (dot(change, change) / product, product / dot(d, d)) if 0.0 < product < math.inf else (0.0, math.inf)
