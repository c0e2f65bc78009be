"""reduced-lbfgs: quasi-Newton on F(x) = min_y f(x, y), guarded by BAM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.constants import Constants, block_parameters
from minmin.errors import InputError, NonFiniteError, as_number
from minmin.methods.bam import Bam, BamState
from minmin.methods.base import (
    Answer,
    Method,
    require_ability,
    require_choice,
    require_constants,
    require_flag,
    theory_patience,
)
from minmin.methods.curvature import Pairs, inverse_times, remember, softer
from minmin.methods.descent import advance
from minmin.methods.reconstruct import RECONSTRUCTORS, Reconstruct, YMemory, first_step
from minmin.methods.watch import Seen, watched
from minmin.oracle import Ability, Evaluation, Problem
from minmin.space import Vector, dot, norm, parts_of, square

_LOOSE, _TIGHT = 0.05, 0.001
"""At first y may leave this part of what the coming step in x is expected to gain; the latter where ∇ₓ is a round."""
_TOO_LOOSE = 0.5
"""Where y turns out to have left more than this part of it, y is solved again, and more tightly from then on."""
_GROWTH = 1e3
"""A step is at most so many times as long as the one before."""
_FRESH_STARTS = 6
"""So often in a row a run that does not move x solves y again, or forgets its directions, before it ends."""
_CAUTION = 4.0
"""Estimated bounds are multiplied by this."""
_LOOKING_BACK = 20
"""Estimated bounds take the largest gradients of so many points (fewer where x has fewer variables): flat directions
show only after the steep ones are gone."""


class Start(NamedTuple):
    """Where a step begins: x and ∇F(x)."""

    v: Vector
    gradient: Vector


class XPoint(NamedTuple):
    """A point x with y reconstructed and ∇F(x) ≈ ∇ₓf(x, y)."""

    v: Vector
    gradient: Vector
    evaluation: Evaluation


class ReducedState(NamedTuple):
    """The iteration between two steps.

    Attributes
    ----------
    x : vector
    gradient : tuple of vector
        ∇F(x); empty before the first step.
    y : tuple of YMemory
        Every part of y.
    gain : float
        What y could still take off f, as estimated.
    pairs : Pairs
        Curvature of F.
    softest : float
        The least curvature of F seen.
    looseness : float
        The part of an expected gain that y may leave.
    stuck : int
        Steps in a row that did not move x.
    calls : int
        Of ∇ₓf, to compare with BAM's guarantee.
    first_bound : float
    answer : Answer
    best : Answer
        The one with the lowest bound; x is the outer block here, whichever that is.
    norms : tuple of pairs of float
        |∇ₓf| and |∇ᵧf| of the newest points.
    seen : tuple of Seen
    guard : tuple of BamState
        BAM's state once it has taken over, else empty.
    """

    x: Vector
    gradient: tuple[Vector, ...]
    y: tuple[YMemory, ...]
    gain: float
    pairs: Pairs
    softest: float
    looseness: float
    stuck: int
    calls: int
    first_bound: float
    answer: Answer
    best: Answer
    norms: tuple[tuple[float, float], ...]
    seen: tuple[Seen, ...]
    guard: tuple[BamState, ...]


@dataclass(frozen=True)
class ReducedLbfgs(Method):
    """L-BFGS on F(x) = min_y f(x, y), whose gradient is ∇ₓf(x, y(x)).

    Problem: min f(x, y), f convex; constants are not needed, but make the bound a proof.

    Algorithm: L-BFGS in x. At every x, y is lowered from where it was, with curvature kept from x to x, until what is
    left to gain in y is a small part of what the step in x is expected to gain; both are decreases of f, so this
    needs no units. Steps are judged by slopes alone; f is never evaluated.

    Guarantee: none of its own. Where the constants are known, a run whose certified bound falls behind BAM's
    guarantee by more than a factor two in calls of ∇ₓf goes on as BAM from its best point, so that in the worst case
    it takes a constant times BAM's calls.

    Reference: the reduction is that of Bolte et al. (2020) and Gladin et al. (2021), who minimise F by other methods.

    Parameters
    ----------
    inner : {"auto", "lbfgs", "newton", "nag"}
        Lowers y. "newton" needs a y-Hessian, "nag" the constants; "auto" is "newton" where ∇ₓ takes a round and there
        is a y-Hessian, else "lbfgs".
    outer : {"x", "y"}
        The block that F is a function of: the one whose gradient is dear.
    looseness : float, optional
        The part of what the coming step in x is expected to gain that y may leave, at first. Less of it costs more
        calls of ∇ᵧ and may save some of ∇ₓ: 0.05 where not given, 0.001 where ∇ₓ takes a round.
    stateless : bool
        Start y from zero at every x, with nothing remembered from the last one.
    """

    name: ClassVar[str] = "reduced-lbfgs"
    kept_pairs: ClassVar[int] = 30
    inner: str = "auto"
    outer: str = "x"
    looseness: float | None = None
    stateless: bool = False

    def __post_init__(self) -> None:
        if self.looseness is not None and not 0.0 < as_number(self.looseness, "looseness") < math.inf:
            raise InputError(f"looseness = {self.looseness} must be positive and finite")
        require_flag("stateless", self.stateless)
        require_choice("inner", self.inner, ("auto", *RECONSTRUCTORS))
        require_choice("outer", self.outer, ("x", "y"))

    def check(self, problem: Problem) -> None:
        solver = RECONSTRUCTORS[self._inner(self._oriented(problem))]
        require_ability(f"inner={self.inner!r}", self._oriented(problem), solver.needs)
        if solver.needs_constants:
            require_constants(f"{self.name}, inner={self.inner}", problem)

    def init(self, problem: Problem, x: Vector, y: Vector) -> ReducedState:
        outer, cheap = (x, y) if self.outer == "x" else (y, x)
        memories = tuple(self._reconstruct(problem, None).begin(part) for part in parts_of(cheap))
        best = Answer(outer, cheap, math.inf)
        start = ReducedState(
            x=outer,
            gradient=(),
            y=memories,
            gain=math.inf,
            pairs=Pairs(),
            softest=math.inf,
            looseness=self.looseness or (_TIGHT if problem.takes_rounds else _LOOSE),
            stuck=0,
            calls=0,
            first_bound=math.inf,
            answer=best,
            best=best,
            norms=(),
            seen=(),
            guard=(),
        )
        return self._answering(start, best)

    def step(self, problem: Problem, state: ReducedState) -> ReducedState:
        oriented = self._oriented(problem)
        if state.guard:
            guard = Bam().step(oriented, state.guard[0])
            return self._answering(state._replace(guard=(guard,)), guard.answer._replace(note=state.answer.note))
        if not state.gradient:
            return self._judged(oriented, *self._lowered(oriented, state, None), exhausted=False)
        if norm(state.gradient[0]) == 0.0:
            lowered, evaluation = self._lowered(oriented, state, None)
            stuck = state.stuck + 1 if lowered.gain == 0.0 else 0
            return self._judged(oriented, lowered._replace(stuck=stuck), evaluation, exhausted=stuck > _FRESH_STARTS)
        direction = self._direction(oriented, state)
        expected_gain = -0.5 * dot(state.gradient[0], direction)
        if state.gain > _TOO_LOOSE * expected_gain:
            state = state._replace(looseness=0.5 * state.looseness, stuck=state.stuck + 1)
            allowed = None if math.isinf(state.gain) else state.looseness * expected_gain
            lowered, evaluation = self._lowered(oriented, state, allowed)
            return self._judged(oriented, lowered, evaluation, exhausted=state.stuck > _FRESH_STARTS)
        moved, evaluation = self._moved(oriented, state, direction, state.looseness * expected_gain)
        if norm(moved.x - state.x) > 4.0 * evaluation.eps * norm(state.x):
            return self._judged(oriented, moved._replace(stuck=0), evaluation, exhausted=False)
        # Too loose a y, or directions that lead nowhere, look like rounding; start anew before believing in it.
        anew = moved._replace(stuck=state.stuck + 1, looseness=0.1 * state.looseness, pairs=Pairs(), gain=math.inf)
        return self._judged(oriented, anew, evaluation, exhausted=anew.stuck > _FRESH_STARTS)

    def _oriented(self, problem: Problem) -> Problem:
        return problem if self.outer == "x" else problem.swapped()

    def _direction(self, problem: Problem, state: ReducedState) -> Vector:
        (gradient,) = state.gradient
        if state.pairs.steps:
            direction = -inverse_times(state.pairs, gradient)
            # Where f was nearly flat, the next step would be nearly endless.
            longest = _GROWTH * norm(state.pairs.steps[-1])
            length = norm(direction)
            return direction if length <= longest else (longest / length) * direction
        constants = problem.constants
        return first_step(gradient, state.x, None if constants is None else constants.L_x)

    def _lowered(self, problem: Problem, state: ReducedState, allowed: float | None) -> tuple[ReducedState, Evaluation]:
        """The state at the same x with y lowered further, and ∇F(x) anew."""
        y, evaluation = problem.fix(state.x).done(self._reconstruct(problem, allowed), state.y)
        gain = max(part.gain for part in y)
        return state._replace(y=y, gain=gain, gradient=(evaluation.grad_x,), calls=state.calls + 1), evaluation

    def _reconstruct(self, problem: Problem, allowed: float | None) -> Reconstruct:
        return Reconstruct(self._inner(problem), allowed, problem.constants, self.stateless)

    def _inner(self, problem: Problem) -> str:
        if self.inner != "auto":
            return self.inner
        return "newton" if problem.takes_rounds and Ability.HESS_YY in problem.abilities else "lbfgs"

    def _moved(
        self, problem: Problem, state: ReducedState, direction: Vector, allowed: float
    ) -> tuple[ReducedState, Evaluation]:
        """The state after a step along the direction."""

        def at(x: Vector) -> XPoint:
            nonlocal state
            state, evaluation = self._lowered(problem, state._replace(x=x), allowed)
            return XPoint(x, evaluation.grad_x, evaluation)

        def learn(new: XPoint, step: Vector, change: Vector, product: float) -> None:
            nonlocal state
            pairs = remember(state.pairs, step, change, product, self.kept_pairs)
            state = state._replace(pairs=pairs, softest=softer(state.softest, product, dot(step, step)))

        start = Start(state.x, state.gradient[0])
        point = advance(start, direction, at, learn, lambda new: new.evaluation.grad_x_norm == 0.0, overshot=0.3)
        return state, point.evaluation

    def _judged(
        self, problem: Problem, state: ReducedState, evaluation: Evaluation, *, exhausted: bool
    ) -> ReducedState:
        """The state with its answer and its bound, or BAM's, where it takes over."""
        constants = problem.constants
        if constants is not None:
            state = state._replace(seen=watched(evaluation, constants, state.seen))
        newest = (evaluation.grad_x_norm, evaluation.grad_y_norm)
        # Where x can move no more nothing new will show, so only the newest point counts.
        looking_back = _looking_back(problem)
        norms = looking_back * (newest,) if exhausted else (*state.norms, newest)[-looking_back:]
        state = state._replace(norms=norms)
        answer = self._bounded(problem, state, evaluation)._replace(exhausted=exhausted)
        best = answer if answer.gap_bound <= state.best.gap_bound else state.best
        first_bound = answer.gap_bound if math.isinf(state.first_bound) else state.first_bound
        state = state._replace(best=best, first_bound=first_bound)
        if constants is not None and _is_behind(constants, state):
            note = f"BAM took over after {state.calls} calls of the outer gradient, for want of progress"
            guard = Bam().init(problem, best.x, evaluation.y)  # in a federation only the newest y is kept
            return self._answering(state._replace(guard=(guard,)), best._replace(note=note))
        return self._answering(state, answer)

    def _answering(self, state: ReducedState, answer: Answer) -> ReducedState:
        if self.outer == "y":
            answer = answer._replace(x=answer.y, y=answer.x)
        return state._replace(answer=answer)

    def _bounded(self, problem: Problem, state: ReducedState, evaluation: Evaluation) -> Answer:
        if not evaluation.grad_x_norm + evaluation.grad_y_norm < math.inf:
            raise NonFiniteError("a gradient of f is NaN or infinite; is f finite around the start?")
        bound = problem.convexity_bound(evaluation)
        estimated = math.isinf(bound)
        return Answer(
            state.x,
            evaluation.y,
            self._estimate(problem, state) if estimated else bound,
            problem.gap_floor(evaluation),
            estimated=estimated,
        )

    def _estimate(self, problem: Problem, state: ReducedState) -> float:
        """What |∇f|²/2μ would be with the least curvatures seen, times a factor for those not seen."""
        if state.norms[-1] == (0.0, 0.0):
            return 0.0
        softest_y = min(memory.softest for memory in state.y)
        if math.isinf(state.softest + softest_y) or len(state.norms) < _looking_back(problem):
            return math.inf
        in_x, in_y = (max(norms) for norms in zip(*state.norms, strict=True))
        return _CAUTION * (square(in_x) / (2.0 * state.softest) + square(in_y) / (2.0 * softest_y))

    def patience(self, problem: Problem) -> int:
        constants = problem.constants
        if constants is None or not _guards(constants):
            return _PATIENCE
        oriented = constants if self.outer == "x" else constants.swapped()
        rate = block_parameters(oriented).alpha
        return 4 * theory_patience(rate, max(constants.kappa_x, constants.kappa_y))


_PATIENCE = 2000
"""Iterations without halving an estimated bound after which a run is given up."""


def _looking_back(problem: Problem) -> int:
    return min(_LOOKING_BACK, problem.d_x + 3)


def _guards(constants: Constants) -> bool:
    """Whether BAM can take over."""
    finite = math.isfinite(constants.L_x) and math.isfinite(constants.L_y)
    return finite and constants.mu_x > 0.0 and constants.mu_y > 0.0


def _is_behind(constants: Constants, state: ReducedState) -> bool:
    """Whether BAM's guarantee would have been met with half the calls.

    By Theorem 2.2 f - f* falls to 3(1 + α)⁻ᵏ of what it was in k calls of ∇ₓf, and the bound is at most κ times that.
    """
    if not _guards(constants) or not math.isfinite(state.first_bound) or state.best.gap_bound <= 0.0:
        return False
    kappa = max(constants.kappa_x, constants.kappa_y)
    needed = math.log(3.0 * kappa * state.first_bound / state.best.gap_bound)
    return state.calls > 2.0 * needed / math.log1p(block_parameters(constants).alpha)
