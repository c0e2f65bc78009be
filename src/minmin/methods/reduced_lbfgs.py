"""reduced-lbfgs: L-BFGS on F(x) = min_y f(x, y), with BAM as a fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, norm, parts_of
from minmin.errors import as_positive
from minmin.log import LOG
from minmin.methods.bam import Bam
from minmin.methods.base import DEFAULT_PATIENCE, NO_TARGET, Candidate, Method, Target, require_choice, require_flag
from minmin.methods.estimates import GapEstimate
from minmin.methods.inner.partial_minimum import DescendInY
from minmin.methods.inner.solvers import find_solver, require_reduced_solver
from minmin.methods.needs import Need
from minmin.methods.reduced_state import ReducedState
from minmin.methods.reduced_step import ReducedStep
from minmin.methods.theory import block_parameters, can_guard, theory_patience
from minmin.methods.watch import Visit, Watch

_FIRST_RATIO, _FIRST_EXACT_RATIO = 0.05, 0.001
"""The first ``inner_tolerance_ratio``; the second value if ∇ₓ is a round of communication, constants are unknown, or
there are terms. Measured: docs/benchmarks/tuning.md."""
_PATIENCE_FACTOR = 4
"""The patience in units of BAM's: two until BAM takes over, one for BAM to halve the bound, and one as a margin."""


@dataclass(frozen=True)
class ReducedLbfgs(Method):
    """L-BFGS on F(x) = min_y f(x, y), whose gradient is ∇ₓf(x, y(x)).

    Problem: min f(x, y), f convex. Constants are not needed, but with them the bound is proved.

    Algorithm: L-BFGS in x. At every x, an inner solver lowers f in y from where y was, with the curvature of earlier x,
    until the remaining gain in y is a small fraction of the expected gain of the step in x. Both gains are decreases of
    f, so the units of x and y do not matter. Steps are chosen from slopes alone. Where f or a gradient is not finite,
    a step is shortened. If the constants are unknown, f is computed at every x, where it can be, and the run says if
    f is not convex, has no minimum, or has a gradient that jumps.

    Guarantee: none for L-BFGS itself. If the constants are known, and the certified bound needs more than twice the
    calls of ∇ₓf that BAM guarantees, the run continues as BAM from its best point. So in the worst case it takes a
    constant times BAM's calls.

    Reference: the reduction is that of Bolte et al. (2020) and Gladin et al. (2021), who minimise F by other methods.

    Parameters
    ----------
    inner : {"auto", "lbfgs", "newton", "nag"}, default "auto"
        The solver in y. "newton" needs a y-Hessian, "nag" the constants. "auto" is "newton" if ∇ₓ takes a round of
        communication and there is a y-Hessian, and "lbfgs" otherwise.
    outer : {"x", "y"}, default "x"
        The block that F is a function of; its gradient should be the expensive one.
    inner_tolerance_ratio : float, optional
        How inexactly y is solved at first, as a fraction of the expected gain of the next step in x. A smaller one
        costs more calls of ∇ᵧ and may save some of ∇ₓ. By default 0.05, or 0.001 if ∇ₓ takes a round of communication,
        the constants are unknown, or there are terms.
    stateless : bool
        Whether y starts from zero at every x, and nothing is kept from the previous x.
    """

    name: ClassVar[str] = "reduced-lbfgs"
    state_types: ClassVar[tuple[type, ...]] = (
        ReducedState,
        GapEstimate,
        *DescendInY.memory_types,
        Watch,
        Visit,
        *Bam.state_types,
    )
    takes_terms: ClassVar[bool] = True
    takes_target: ClassVar[bool] = True
    inner: str = "auto"
    outer: str = "x"
    inner_tolerance_ratio: float | None = None
    stateless: bool = False

    def __post_init__(self) -> None:
        if self.inner_tolerance_ratio is not None:
            as_positive(self.inner_tolerance_ratio, "inner_tolerance_ratio")
        require_flag("stateless", self.stateless)
        require_reduced_solver(self.inner, "auto")
        require_choice("outer", self.outer, ("x", "y"))

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset() if self.inner == "auto" else find_solver(self.inner).needs

    def outer_block(self, problem: Problem) -> Outer:
        return Outer(self.outer)

    def init(self, problem: Problem, x: Vector, y: Vector) -> ReducedState:
        task = ReducedStep(problem, self.inner, stateless=self.stateless).make_task(allowed=None)
        if self.inner == "auto":
            LOG.info("auto took inner=%r: y has %sparts with Hessians", task.inner, "no " * (task.inner != "newton"))
        is_exact = problem.part_sizes or problem.constants is None or problem.has_terms
        ratio = self.inner_tolerance_ratio or (_FIRST_EXACT_RATIO if is_exact else _FIRST_RATIO)
        parts, start = tuple(task.begin(part) for part in parts_of(y)), Candidate(x, y)
        return ReducedState(x, parts, start, start, ratio, Watch(start_size=max(1.0, norm(x), norm(y))))

    def step(self, problem: Problem, state: ReducedState, target: Target = NO_TARGET) -> ReducedState:
        if state.guard is not None:
            guard = Bam().step(problem, state.guard)
            return state._replace(guard=guard, candidate=guard.candidate._replace(note=state.candidate.note))
        step = ReducedStep(problem, self.inner, stateless=self.stateless, target=target)
        return step.begin(state) if state.gradient is None else step.take(state)

    def patience(self, problem: Problem) -> int:
        constants = problem.constants
        if constants is None or not can_guard(constants):
            return DEFAULT_PATIENCE
        rate = block_parameters(constants).alpha
        return _PATIENCE_FACTOR * theory_patience(rate, max(constants.kappa_x, constants.kappa_y))
