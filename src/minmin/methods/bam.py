"""BAM, the Block Accelerated Method: Algorithm 1 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from minmin.core.model_gap import Reached
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, parts_of, square
from minmin.errors import as_count
from minmin.log import LOG
from minmin.methods.adaptive import AdaptableMethod, Adaptive, require_adaptive
from minmin.methods.bam_steps import SCHEMES, XState, YHalf, YState, find_scheme
from minmin.methods.base import Candidate, Method, require_choice
from minmin.methods.estimates import is_exhausted
from minmin.methods.inner.solvers import INNER_SOLVERS, find_solver
from minmin.methods.needs import (
    KNOWN_CONSTANTS,
    TERMS,
    Feature,
    Need,
    find_constant_needs,
    require_constants,
)
from minmin.methods.regularizing import aim_regularized, check_radius
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.theory import block_parameters, theory_patience

_ILL_CONDITIONED = 20.0
"""Below this κ_x, exchanging the blocks saves no calls of ∇ₓ. Measured: docs/benchmarks/tuning.md."""
_CLEAR_RATIO = 2.0
"""The blocks are exchanged only if κ_x is at least this times κ_y. Measured: docs/benchmarks/tuning.md."""


class BamState(NamedTuple):
    """The states of x and y, the candidate, and the newest point with both gradients (None at first)."""

    x: XState
    y: tuple[YState, ...]
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class Bam(AdaptableMethod):
    """The Block Accelerated Method.

    Problem: min f(x, y), f being (L_x, L_y)-smooth and (μ_x, μ_y)-strongly convex.

    Algorithm 1 of the reference, with what computes each line; extrapolate, y_half and x_half are methods of
    :class:`minmin.methods.theory.BlockParameters`::

        x_under = αx + (1-α)x̄,  y_under = αy + (1-α)ȳ                      extrapolate
        ȳ ≈ argmin_v A(v) = f(x_under, v) + |v - y_under|²/(2λ)             YHalf.run, by an inner solver
            until |∇A(ȳ)| <= |ȳ - y_under|/λ                                ProximalCondition.is_met
        y⁺ = y + α(ȳ - y⁺) - η_y ∇ᵧf(x_under, ȳ)                            y_half
        x̄⁺ = x_under - η_x α ∇ₓf(x_under, ȳ)                                x_half
        x⁺ = x + α(x_under - x⁺) - η_x ∇ₓf(x_under, ȳ)                      x_half

    It is an accelerated gradient method in x, and an accelerated proximal point method in y. With an exact inner solve
    it is Nesterov's method on the partial Moreau envelope min_v f(x, v) + |v - y|²/(2λ). If y holds several blocks, BAM
    solves the inner problem, too: see :func:`minmin.methods.nested_bam.solve_nested`.

    Guarantee (Theorem 2.2): Ψ^{k+1} <= Ψ^k/(1 + √(μ_x/L_x)), so O(√κ_x log 1/ε) calls of ∇ₓ, and of ∇ᵧ
    O(max(√κ_x, √κ_y) log 1/ε).

    Reference: Kovalev, Gasnikov and Malinovsky, "Optimal algorithm for min-min strongly convex optimization",
    arXiv:2212.14439.

    Parameters
    ----------
    inner : {"lbfgs", "nag", "nag-ogmg", "newton", "katyusha"}, default "lbfgs"
        The solver in y. "katyusha" draws rows of a GLM, see
        :class:`minmin.lab.katyusha.KatyushaSolver`.
    outer : {"x", "y", "auto"}, default "x"
        The block that is moved once per iteration; the other is the inner block. The number of outer calls grows like
        √κ of the outer block, that of inner calls like the larger √κ of both. So "auto" chooses y if κ_y is clearly
        smaller, κ_x is above 20, and the inner solver needs no Hessian.
    radius : float or "auto", optional
        For a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser lies, in every such
        block; or "auto", then the bound is an estimate. See :class:`minmin.methods.regularizing.Regularizing`.
    adaptive : bool
        Whether to estimate the constants during the run; the problem needs none, and the bound is an estimate. See
        :class:`minmin.methods.adaptive.Adaptive`.
    scheme : {"nesterov", "triple-momentum"}, default "nesterov"
        The outer steps. "nesterov" is Algorithm 1. "triple-momentum" has others, see docs/explanation/theory.md, and
        takes about 0.85 times as many calls of ∇ₓ. Theorem 2.2 does not cover it: its rate is proved for exact inner
        solves only, and certified numerically for inexact ones. It takes no terms.
    seed : int
        For the draws of "katyusha".
    """

    name: ClassVar[str] = "bam"
    takes_terms: ClassVar[bool] = True
    state_types: ClassVar[tuple[type, ...]] = (BamState, XState, SecantPoint, *YHalf.memory_types)
    inner: str = "lbfgs"
    outer: str = "x"
    radius: float | str | None = None
    adaptive: bool = False
    scheme: str = "nesterov"
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("inner", self.inner, INNER_SOLVERS)
        require_choice("outer", self.outer, ("x", "y", "auto"))
        require_choice("scheme", self.scheme, SCHEMES)
        as_count(self.seed, "seed")
        check_radius(self.radius)
        given = {"outer='auto'": self.outer == "auto", "scheme='triple-momentum'": self.scheme != "nesterov"}
        require_adaptive(
            self.adaptive, self.radius, other=next((option for option, is_on in given.items() if is_on), "")
        )

    def aim(self, tol: float) -> Method:
        if self.adaptive:
            return Adaptive(replace(self, adaptive=False), joint=False)
        return aim_regularized(self, replace(self, radius=None), self.radius, tol)

    @property
    def needs(self) -> frozenset[Need]:
        constants = find_constant_needs(adaptive=self.adaptive, may_be_flat=self.radius is not None)
        return constants | (find_solver(self.inner).needs - KNOWN_CONSTANTS)

    @property
    def refuses(self) -> Mapping[Feature, str]:
        of_solver = find_solver(self.inner).refuses
        if self.scheme == "nesterov":
            return of_solver
        return {**dict.fromkeys(TERMS, "triple momentum is certified for smooth functions alone"), **of_solver}

    def outer_block(self, problem: Problem) -> Outer:
        """The block that the user chose, or the one that "auto" chooses."""
        if self.outer != "auto":
            return Outer(self.outer)
        constants = problem.constants
        if constants is None:  # it will be refused
            return Outer.X
        exchange_pays = constants.kappa_x > max(_ILL_CONDITIONED, _CLEAR_RATIO * constants.kappa_y)
        outer = Outer.Y if exchange_pays and Need.Y_HESSIAN not in find_solver(self.inner).needs else Outer.X
        kappas = constants.kappa_x, constants.kappa_y
        LOG.info("auto took outer=%r: kappa_x = %.3g, kappa_y = %.3g", outer.value, *kappas)
        return outer

    def init(self, problem: Problem, x: Vector, y: Vector) -> BamState:
        half = self._make_half(problem)
        return BamState(XState(x, x), tuple(half.begin(part) for part in parts_of(y)), Candidate(x, y), None)

    def step(self, problem: Problem, state: BamState) -> BamState:
        half = self._make_half(problem)
        scheme, L_x = find_scheme(self.scheme, half.constants), half.constants.L_x
        x_under = scheme.extrapolate(*state.x)
        y, evaluation = problem.fix(x_under).run_on_parts(half, state.y)
        x, x_bar, x_end = scheme.x_half(state.x, x_under, evaluation.grad_x, problem.term_x)
        # Lemma 2.1 carries the bound from (x_under, ȳ) to (x_end, ȳ).
        if problem.has_terms:
            bound = problem.bound_with_terms(evaluation, x_reached=Reached(x_end, L_x))
        else:
            bound = problem.bound(evaluation).lower(square(evaluation.grad_x_norm) / (2.0 * L_x))
        exhausted = is_exhausted(max(part.failures for part in y))
        size = evaluation.gradient_size
        candidate = Candidate(x_end, evaluation.y, bound, exhausted, gradient_size=size, measured_before=True)
        return BamState(XState(x, x_bar), y, candidate, check_constants(problem, evaluation, state.secant_point))

    def _make_half(self, problem: Problem) -> YHalf:
        return YHalf(self.inner, require_constants(self.name, problem), self.scheme, self.seed)

    def without_momentum(self, state: BamState) -> BamState:
        x = state.x.x_bar
        return state._replace(x=XState(x, x), y=tuple(part._replace(y=part.y_bar) for part in state.y))

    def patience(self, problem: Problem) -> int:
        constants = require_constants(self.name, problem)
        return theory_patience(block_parameters(constants).alpha, max(constants.kappa_x, constants.kappa_y))
