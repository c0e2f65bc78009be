"""The half of BAM's step that moves y, the states of both halves, and the schemes of their steps."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice, YTask
from minmin.core.vectors import Vector
from minmin.methods.estimates import count_stuck
from minmin.methods.inner.goal import InnerGoal, InnerPoint
from minmin.methods.inner.rules import ProximalCondition, ProximalParameters
from minmin.methods.inner.solvers import find_solver
from minmin.methods.nested_bam import solve_nested
from minmin.numerics.lbfgs import Pairs

if TYPE_CHECKING:
    from minmin.lab.triple_momentum import TripleParameters
    from minmin.methods.theory import BlockParameters

SCHEMES = {
    "nesterov": "minmin.methods.theory:block_parameters",
    "triple-momentum": "minmin.lab.triple_momentum:triple_parameters",
}
"""The steps of BAM: where they begin, and both halves. A method keeps two points of each block, such as y and ȳ."""


@functools.lru_cache(maxsize=64)
def find_scheme(name: str, constants: Constants) -> BlockParameters | TripleParameters:
    """The scheme with this name, for these constants."""
    scheme: BlockParameters | TripleParameters = resolve_name(SCHEMES[name])(constants)
    return scheme


class XState(NamedTuple):
    """x^k and x̄^k; with triple momentum ξ_x^k and ξ_x^{k-1}."""

    x: Vector
    x_bar: Vector


class YState(NamedTuple):
    """The state of one part of y; in sliding, of all of z.

    Attributes
    ----------
    y, y_bar : arrays
        y^k and ȳ^k; with triple momentum ξ_y^k and ξ_y^{k-1}.
    offset : array
        ȳ^k - y_under^k: the start of the next inner solve, relative to its centre.
    solver : any
        The inner solver's memory; if y holds several blocks, the state of those inside the outermost one.
    failures : int
        How many times in a row the inner solver failed.
    largest_gradient : float
        The largest ∇ᵧf seen so far.
    """

    y: Array
    y_bar: Array
    offset: Array
    solver: Any
    failures: int = 0
    largest_gradient: float = 0.0


@dataclass(frozen=True)
class YHalf(YTask):
    """The half of a step that moves one part of y.

    Its evaluation is at (x_under, ȳ) and holds ∇ₓf there, which the other half needs.
    """

    name: ClassVar[str] = "bam"
    memory_types: ClassVar[tuple[type, ...]] = (YState, Pairs)
    never_negative: ClassVar[tuple[str, ...]] = ("failures",)
    inner: str
    constants: Constants
    scheme: str = "nesterov"
    seed: int = 0

    def begin(self, y: Array) -> YState:
        return YState(y, y, 0.0 * y, find_solver(self.inner).init(y, self.seed))

    def run(self, part: Slice, state: YState) -> tuple[YState, Evaluation]:
        scheme = find_scheme(self.scheme, self.constants)
        y_under = scheme.extrapolate(state.y, state.y_bar)
        goal = ProximalCondition(scheme).make_goal(part, y_under, state.offset, state.largest_gradient)
        nested = part.nested
        if nested is None or nested.constants is None:
            found, memory = find_solver(self.inner).solve(goal, state.solver)
        else:
            found, memory = solve_nested(goal, nested, self, state.solver)
        return finish_half(scheme, state, goal, found, memory)


def finish_half(
    scheme: ProximalParameters, state: YState, goal: InnerGoal, found: InnerPoint, memory: Any
) -> tuple[YState, Evaluation]:
    """The next state and the evaluation there, after an inner solve that has found a point and left a memory."""
    end, grad_y = goal.finish(found)
    y, y_bar = scheme.y_half((state.y, state.y_bar), end.v, grad_y)
    new = YState(
        y,
        y_bar,
        offset=end.v - goal.center,
        solver=memory,
        failures=count_stuck(state.failures, not found.solved),
        largest_gradient=max(state.largest_gradient, end.evaluation.grad_y_norm),
    )
    return new, end.evaluation
