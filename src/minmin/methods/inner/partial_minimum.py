"""Minimisation of y ↦ f(x, y) for a fixed x, inexact or nearly exact, and what is kept of it for the next x."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Constants, is_clearly_negative
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import Reached, find_gap
from minmin.core.problem import Problem, Slice, YTask, evaluate_outside
from minmin.core.vectors import dot, norm
from minmin.methods.estimates import count_stuck
from minmin.methods.inner.curved import LbfgsSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, Rule
from minmin.methods.inner.rules import ProvedAccuracy
from minmin.methods.inner.solvers import find_solver
from minmin.methods.needs import Need
from minmin.numerics.lbfgs import Pairs

_FIRST_FRACTION = 0.01
"""If no allowed gain is given, this fraction of the first known gain in y may be left: accurate enough for a first ∇F.
Measured: docs/benchmarks/tuning.md."""
_FRACTION_INSIDE = 0.1
"""Where y holds several blocks, one inside the other: the gain that may be left inside, as a fraction of what may be
left in all of y. Measured: docs/benchmarks/tuning.md."""


class YMemory(NamedTuple):
    """What is kept of one part of y between two steps.

    Attributes
    ----------
    y : array
    solver : Any
        The solver's memory.
    failures : int
        How many solves in a row took more gradients than exact arithmetic needs.
    gradient : array or None
        ∇ᵧf where the part was left; None before the first step, and if nobody asked for it.
    inside : YMemory or None
        That of the blocks inside, where y holds several and a solver moves only the outermost of them.
    origin : YMemory or None
        The memory before the last x was tried, without an origin of its own; None if nobody asked for it.
    min_curvature_seen, max_curvature_seen : float
        The least and largest positive curvature seen.
    negative_curvature : float
        The least negative curvature seen, zero if none was.
    largest_gradient : float
        The largest |∇ᵧf| at which a solve began.
    longest_step : float
        The length of the longest step that was tried.
    gain : float
        By how much f could still fall in y.
    distance : float
        How far y moved since the step before.
    slope_before, slope_after : float
        <∇ᵧf, move> for that move, with ∇ᵧf before and after it; -∞ and ∞ if ∇ᵧf before it is not known.
    outside_domain : bool
        Whether the last x was outside of f's domain. Then y stays where it was. Clients and servers look for this name.
    checks_values : bool
        Whether f was not finite at a point with a finite ∇ᵧf, so that f must be computed at every point.
    """

    y: Array
    solver: Any
    failures: int = 0
    gradient: Array | None = None
    inside: YMemory | None = None
    origin: YMemory | None = None
    min_curvature_seen: float = math.inf
    max_curvature_seen: float = 0.0
    negative_curvature: float = 0.0
    largest_gradient: float = 0.0
    longest_step: float = 0.0
    gain: float = math.inf
    distance: float = 0.0
    slope_before: float = -math.inf
    slope_after: float = math.inf
    outside_domain: bool = False
    checks_values: bool = False

    def see(self, least: float, largest: float, negative: float) -> YMemory:
        """The same with the curvature of a step, or of the blocks inside: the least and largest, and a negative one."""
        return self._replace(
            min_curvature_seen=min(self.min_curvature_seen, least),
            max_curvature_seen=max(self.max_curvature_seen, largest),
            negative_curvature=min(self.negative_curvature, negative),
        )


class AllowedGain(Rule):
    """The gain that is left is at most ``allowed``: the decrease of f that is still possible in y.

    A solver that knows curvature estimates it from its step s as -½<∇ᵧf, s>: for Newton's step that is the decrease of
    the quadratic model, whatever the units of y. With ``proves`` it is bounded by |∇ᵧf|²/(2 mu_y). A first point where
    the gradient is not finite ends the solve: x went too far, and the step search in x will see it.

    Parameters
    ----------
    memory : YMemory
        What the run has seen so far; the rule goes on from there.
    allowed : float or None
        By default it follows from the first known gain.
    proves : bool
    """

    overshoot = 0.5
    """With 0.3 to 0.9 the calls on the paper's quadratics and a1a differ by at most one; a9a with penalties of 1e-5
    takes 367 calls of ∇ₓ with 0.3 and 0.5, and 344 with 0.9."""

    def __init__(self, memory: YMemory, allowed: float | None, *, proves: bool):
        self.gain, self.seen = 0.0, memory
        self.takes_target = self._proves = proves
        self._allowed = allowed

    def begin(self, first: InnerPoint) -> InnerPoint:
        return first if math.isfinite(first.residual) else first._replace(solved=True)

    def most_gradients(self, goal: InnerGoal, first: InnerPoint) -> int:
        """A limit, as no theory gives one.

        L-BFGS took at most 31 in one solve on a1a, a9a, w8a and quadratics with κ up to 10⁸; accelerated gradient
        reaches the limit on the paper's quadratics.
        """
        return 1000

    def is_met(self, goal: InnerGoal, point: InnerPoint) -> bool:
        if not self._proves:
            if goal.term is not None:
                return False
            self.gain = 0.0
            return point.residual == 0.0
        reached = None if goal.term is None else Reached(point.target, goal.smoothness)
        self.gain = find_gap(goal.term, point.v, point.gradient, goal.convexity, reached=reached).value
        return not self.gain > self._find_allowed()

    def is_worthwhile(self, slope: float, *, informed: bool) -> bool:
        # A proximal step of zero length proves that y is at its minimum, such as on a bound.
        self.gain = -0.5 * slope if informed or slope == 0.0 else math.inf
        return self.gain > self._find_allowed()

    def _find_allowed(self) -> float:
        if self._allowed is None and math.isfinite(self.gain):
            self._allowed = _FIRST_FRACTION * self.gain
        return 0.0 if self._allowed is None else self._allowed

    def learn(self, goal: InnerGoal, new: InnerPoint, product: float, size: float) -> None:
        """Keep the curvature that a step has shown."""
        seen, eps, length = self.seen, new.evaluation.rounding.eps, math.sqrt(size)
        if length > seen.longest_step:
            self.seen = seen = seen._replace(longest_step=length)
        if not length > math.sqrt(eps) * seen.longest_step:  # its change of gradient may be rounding
            return
        curvature = product / size
        if product > 0.0:
            if not seen.min_curvature_seen <= curvature <= seen.max_curvature_seen:
                self.seen = seen.see(curvature, curvature, 0.0)
            return
        terms = max(goal.largest_gradient, new.residual, seen.max_curvature_seen * norm(new.v))  # summed in ∇ᵧf
        if is_clearly_negative(product, length * terms, eps):
            self.seen = seen.see(math.inf, 0.0, curvature)

    def include(self, inside: YMemory) -> None:
        """Include what was seen of the blocks inside, where y holds several."""
        self.gain += inside.gain
        self.seen = self.seen.see(inside.min_curvature_seen, inside.max_curvature_seen, inside.negative_curvature)


@dataclass(frozen=True)
class SolveY(YTask):
    """Minimise f over one part of y to an accuracy that the constants prove.

    Parameters
    ----------
    inner : str
        The inner solver.
    accuracy : float
        How far f may be above its minimum over y; 0 for as exact as rounding allows.
    constants : Constants
        Finite and positive.
    """

    name: ClassVar[str] = "solve-y"
    memory_types: ClassVar[tuple[type, ...]] = (YMemory, Pairs)
    never_negative: ClassVar[tuple[str, ...]] = ("failures",)
    inner: str
    accuracy: float
    constants: Constants

    def begin(self, y: Array) -> YMemory:
        return YMemory(y, find_solver(self.inner).init(y))

    def run(self, part: Slice, memory: YMemory) -> tuple[YMemory, Evaluation]:
        rule, solver = ProvedAccuracy(self.accuracy), find_solver(self.inner)
        goal = InnerGoal(part, memory.y, rule, self.constants, largest_gradient=memory.largest_gradient)
        point, left = solver.solve(goal, memory.solver)
        failures = count_stuck(memory.failures, not point.solved)
        end, _ = goal.finish(point)
        new = memory._replace(y=end.v, solver=left, failures=failures, largest_gradient=goal.largest_gradient)
        return new, end.evaluation


@dataclass(frozen=True)
class DescendInY(YTask):
    """Lower f at one x by moving one part of y, from where it was, or from zero if ``stateless``.

    Parameters
    ----------
    inner : str
        The inner solver.
    allowed : float or None
        The gain that may be left; a hundredth (``_FIRST_FRACTION``) of the first gain if None.
    constants : Constants or None
    stateless : bool
        Whether y and the solver's memory start again from zero at every x.
    checks : {"nothing", "gradients", "values"}
        How to notice that a point is outside of f's domain: not at all, by ∇ₓf and ∇ᵧf that are not finite, or also by
        f, which is then computed at the end. With "nothing", nor does the memory say how y moved.
    retries : bool
        Whether the last x was rejected, so that y starts from where it was before that.
    """

    name: ClassVar[str] = "descend-in-y"
    memory_types: ClassVar[tuple[type, ...]] = (YMemory, Pairs)
    never_negative: ClassVar[tuple[str, ...]] = ("min_curvature_seen", "max_curvature_seen", "gain", "distance")
    inner: str
    allowed: float | None
    constants: Constants | None
    stateless: bool
    checks: str = "nothing"
    retries: bool = False

    def begin(self, y: Array) -> YMemory:
        return YMemory(y, find_solver(self.inner).init(y))

    def run(self, part: Slice, memory: YMemory) -> tuple[YMemory, Evaluation]:
        if self.stateless:
            memory = self.begin(0.0 * memory.y)
        before = memory.origin if self.retries and memory.origin is not None else memory
        before = before._replace(origin=None, outside_domain=False, checks_values=memory.checks_values)
        new, evaluation = self._descend(part, before)
        if self.checks == "values" and not new.outside_domain and not math.isfinite(evaluation.value):
            before = before._replace(checks_values=True)
            new, evaluation = self._descend(part, before)
        if self.checks == "nothing":
            return new, evaluation
        if new.outside_domain or not math.isfinite(evaluation.grad_x_norm):
            return before._replace(outside_domain=True, origin=before), evaluation
        gradient, move, slopes = evaluation.grad_y, new.y - memory.y, (-math.inf, math.inf)
        if memory.gradient is not None:
            slopes = dot(memory.gradient, move), dot(gradient, move)
        new = new._replace(
            origin=before,
            gradient=gradient,
            negative_curvature=min(new.negative_curvature, memory.negative_curvature),
            distance=norm(move),
            slope_before=slopes[0],
            slope_after=slopes[1],
        )
        return new, evaluation

    def _descend(self, part: Slice, before: YMemory) -> tuple[YMemory, Evaluation]:
        """Lower f from a memory."""
        solver, constants = find_solver(self.inner), self.constants
        largest, checks = before.largest_gradient, before.checks_values
        rule = AllowedGain(before, self.allowed, proves=Need.CONSTANTS in solver.needs)
        goal = InnerGoal(
            part, before.y, rule, constants, largest_gradient=largest, units=part.units_y, checks_values=checks
        )
        nested, inside = part.nested if self.inner == "lbfgs" else None, before.inside
        if nested is not None and nested.blocks is not None and nested.blocks.saves_calls_inside:
            allowed = None if self.allowed is None else _FRACTION_INSIDE * self.allowed
            task = replace(self, allowed=allowed, constants=nested.constants, retries=False)
            point, solver_memory, inside = _eliminate(goal, nested, task, before)
            rule.include(inside)
        else:
            point, solver_memory = solver.solve(goal, before.solver)
        if point.target is not None:
            point, _ = goal.finish(point)
        if not math.isfinite(point.residual):
            return before._replace(outside_domain=True), point.evaluation
        largest, gain = goal.largest_gradient, max(rule.gain, 0.0)
        new = rule.seen._replace(y=point.v, solver=solver_memory, inside=inside, largest_gradient=largest, gain=gain)
        return new, point.evaluation


class _OuterBlock(InnerGoal):
    """The outer block v of y ↦ min over the blocks inside of f(x, y), by the same rule as all of y."""

    def __init__(self, whole: InnerGoal, nested: Problem, task: YTask, inside: YMemory):
        constants = None if nested.constants is None else nested.constants.swapped()
        start = whole.start[: nested.d_x]
        largest = whole.largest_gradient
        super().__init__(whole.slice, start, whole.rule, constants, largest_gradient=largest, nested=nested)
        self._nested, self._task = nested, task
        self.inside = inside

    def at(self, v: Array) -> InnerPoint:
        self.gradients += 1
        (self.inside,), evaluation = self._nested.fix(v).run_on_parts(self._task, (self.inside,))
        point = InnerPoint(v, evaluation, evaluation.grad_x, norm(evaluation.grad_x))
        return point._replace(solved=self.rule.is_met(self, point))

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        """Keep the curvature if it is positive: the blocks inside are minimised inexactly, so it may be wrong."""
        if product > 0.0:
            self.rule.learn(self, new, product, size)


def _eliminate(whole: InnerGoal, nested: Problem, task: YTask, before: YMemory) -> tuple[InnerPoint, Pairs, YMemory]:
    """Minimise over the outer block of y by L-BFGS, and over the blocks inside it at every point, by a task.

    Returns the point in all of y, the pairs of the outer block, and the memory of the blocks inside.
    """
    inside = task.begin(whole.start[nested.d_x :]) if before.inside is None else before.inside
    outer = _OuterBlock(whole, nested, task, inside)
    point, pairs = LbfgsSolver().solve(outer, before.solver)
    whole.largest_gradient = outer.largest_gradient
    return whole.judge(evaluate_outside(whole.slice, point.evaluation)), pairs, outer.inside
