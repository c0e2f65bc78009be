"""Sliding: for f + g with an expensive f, one ∇f per iteration, and as many ∇g as an inner solve takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.bound import Bound
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.model_gap import find_gap, find_residual
from minmin.core.problem import Problem
from minmin.core.second_order import SplitProblem
from minmin.core.vectors import Vector, largest_entry, norm, square
from minmin.errors import NonFiniteError
from minmin.methods.bam_steps import YState, finish_half
from minmin.methods.base import Candidate, Method, require_choice
from minmin.methods.estimates import is_exhausted
from minmin.methods.inner.linearized import LinearizedEvaluation, make_sliding_goal
from minmin.methods.inner.solvers import find_solver
from minmin.methods.needs import KNOWN_CONSTANTS, TERMS, Feature, Need, require_constants
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.sliding_parameters import SlidingParameters, sliding_parameters
from minmin.methods.theory import can_guard, theory_patience
from minmin.numerics.lbfgs import Pairs

INNER = ("lbfgs", "nag", "nag-ogmg")
_CLEAR_RATIO = 10.0
"""L_g is clearly above L_f from this ratio on. Measured: docs/benchmarks/tuning.md."""


class SlidingState(NamedTuple):
    """z^k and z̄^k with what the next inner solve starts from, the candidate, and what constants are checked with.

    The last two are the newest point with both gradients of f, and one with those of g; None at first.
    """

    z: YState
    candidate: Candidate
    point_of_f: SecantPoint | None
    point_of_g: SecantPoint | None


@dataclass(frozen=True)
class Sliding(Method):
    """Composite sliding: f + g with few calls of ∇f, however large L_g is.

    Problem: min F(z) = f(z) + g(z), z = (x, y), given as :class:`minmin.problems.Split`. The norm is
    |z|² = μ_x|x|² + μ_y|y|² with μ of F, so F is 1-strongly convex. In it f is L_f-smooth and g is L_g-smooth: L_f is
    the larger of L_x/μ_x and L_y/μ_y with L of f. The strong convexity of f, μ_f, is moved from f to g, which takes no
    calls: f̃ = f - μ_f|z|²/2, g̃ = g + μ_f|z|²/2, in each block.

    Algorithm, with σ = 0.2, L = max(L_f - μ_f, 1), λ = (1 - σ²)/L and α² = λ(1 - α)::

        z_under = αz + (1-α)z̄
        z̄⁺ ≈ argmin_u A(u) = <∇f̃(z_under), u> + g̃(u) + |u - z_under|²/(2λ)    by an inner solver
            until |∇A(z̄⁺)| <= σ|z̄⁺ - z_under|/λ
        v = ∇f̃(z_under) + ∇g̃(z̄⁺)
        z⁺ = (1-α)z + αz̄⁺ - (1-α)(λ/α)v

    It is an accelerated proximal point method for g with f linearised, as BAM is one in y with a gradient step in x.

    Guarantee: Ψ^{k+1} <= (1 - α)Ψ^k with Ψ^k = F(z̄^k) - F* + |z^k - z*|²/2, whatever the inner solver; the proof is in
    docs/explanation/theory.md. α is about √λ, so ∇f is called O(√L_f log 1/ε) times, whatever L_g is. An inner problem
    has the condition number 1 + O(L_g/L_f) and takes O(max(1, √(L_g/L_f))) calls of ∇g with "nag-ogmg", together
    O(max(√L_f, √L_g) log 1/ε); the worst case of "lbfgs" and "nag" has another factor log(L_g/L_f). The bound needs no
    further calls: F(z̄⁺) - F* <= |v|²/2 + L/2 |z̄⁺ - z_under|². It rests on L_f, too, not only on μ.

    Terms are added to g̃ in the inner problem, and v has their subgradient at z̄⁺, too.

    If f is the less smooth one, all of this holds, but nothing is saved: then ∇f is called as often as by "nag".

    Reference: Lan, "Gradient sliding for composite optimization" (2016); Kovalev, Beznosikov, Borodich, Gasnikov and
    Scutari, "Optimal gradient sliding and its application to optimal distributed optimization under similarity",
    arXiv:2205.15136. Algorithm 1 there has the same inner problem and the same rates. It computes ∇f twice per
    iteration, which lets f be nonconvex; f is convex here, so one is enough. The stopping condition is that of Monteiro
    and Svaiter, "An accelerated hybrid proximal extragradient method for convex optimization" (2013).

    Parameters
    ----------
    inner : {"lbfgs", "nag", "nag-ogmg"}, default "lbfgs"
        The solver that asks for ∇g.
    """

    name: ClassVar[str] = "sliding"
    takes_terms: ClassVar[bool] = True
    state_types: ClassVar[tuple[type, ...]] = (SlidingState, YState, SecantPoint, Pairs)
    needs = KNOWN_CONSTANTS | {Need.SPLIT}
    inner: str = "lbfgs"

    def __post_init__(self) -> None:
        require_choice("inner", self.inner, INNER)

    @property
    def refuses(self) -> Mapping[Feature, str]:
        of_split = dict.fromkeys((Feature.PARTS, Feature.BLOCKS, Feature.REMOTE), "f and g share one x and one y")
        of_solver = find_solver(self.inner).refuses
        if Feature.TERM_Y in of_solver:  # for which y is all of z
            of_solver = dict.fromkeys(TERMS, of_solver[Feature.TERM_Y])
        return {**of_split, **of_solver}

    def init(self, problem: Problem, x: Vector, y: Vector) -> SlidingState:
        z = _find_parameters(problem).join(x, y)
        start = YState(z, z, 0.0 * z, find_solver(self.inner).init(z))
        return SlidingState(start, Candidate(x, y), None, None)

    def step(self, problem: Problem, state: SlidingState) -> SlidingState:
        p, split = _find_parameters(problem), problem.without_terms()
        assert isinstance(split, SplitProblem)
        z_under = p.extrapolate(state.z.y, state.z.y_bar)
        at_under = split.evaluate_f(*z_under)
        if not at_under.grad_x_norm + at_under.grad_y_norm < math.inf:
            raise NonFiniteError(f"in f, {explain_nonfinite(at_under)}")
        terms = problem.term_x, problem.term_y
        goal = make_sliding_goal(split, at_under, state.z.offset, p, p.join_terms(*terms))
        found, memory = find_solver(self.inner).solve(goal, state.z.solver)
        z, at_bar = finish_half(p, state.z, goal, found, memory)
        assert isinstance(at_bar, LinearizedEvaluation)
        bound, exhausted = _bound(problem, p, at_under, at_bar), is_exhausted(z.failures)
        blocks = zip(terms, z.y_bar, p.split(at_bar.grad_y), strict=True)
        size = largest_entry(*(find_residual(*block, 1.0) for block in blocks))
        x, y = z.y_bar
        candidate = Candidate(x, y, bound, exhausted, gradient_size=size, measured_before=True)
        point_of_f = check_constants(split.f, at_under, state.point_of_f, p.of_f)
        point_of_g = check_constants(split.g, at_bar.original, state.point_of_g, p.of_g)
        return SlidingState(z, candidate, point_of_f, point_of_g)

    def patience(self, problem: Problem) -> int:
        p = _find_parameters(problem)
        return theory_patience(p.alpha, p.smoothness + p.constants.L_y)


def _bound(problem: Problem, p: SlidingParameters, at_under: Evaluation, at_bar: LinearizedEvaluation) -> Bound:
    """The bound at z̄⁺, from ∇f at z_under and ∇g at z̄⁺.

    f̃(z̄⁺) is at most L/2 |z̄⁺ - z_under|² above its linearisation, which is a lower bound everywhere. So F is at least
    F(z̄⁺) + <v, z - z̄⁺> - L/2 |z̄⁺ - z_under|² + |z - z̄⁺|²/2 at every z. Its minimum over z is the bound by strong
    convexity with v as the gradient, and L/2 |z̄⁺ - z_under|² more.
    """
    of_f, of_g = p.find_noise(at_under, p.of_f), p.find_noise(at_bar.original, p.of_g)
    noise = of_f[0] + of_g[0], of_f[1] + of_g[1]
    eps = max(at_under.rounding.eps, at_bar.rounding.eps)
    whole = require_constants(Sliding.name, problem)
    if problem.has_terms:
        terms, mu = (problem.term_x, problem.term_y), whole.lower_mu(eps)
        blocks = zip(terms, at_bar.y, p.split(at_bar.grad_y), mu, noise, strict=True)
        gaps = [find_gap(term, v, gradient, m, noise=n, eps=eps) for term, v, gradient, m, n in blocks]
        by_gradient = whole.to_bound(sum(gap.value for gap in gaps), sum(gap.floor for gap in gaps))
    else:
        by_gradient = whole.bound(p.split_norm(at_bar.grad_y), noise, eps)
    moved = at_bar.y - p.join(at_under.x, at_under.y)
    return by_gradient.lower(-0.5 * p.smoothness * square(norm(moved)))


def _find_parameters(problem: Problem) -> SlidingParameters:
    split = problem.without_terms()
    assert isinstance(split, SplitProblem)
    both = split.constants_of_both
    assert both is not None
    return sliding_parameters(*both)


def explain_sliding(problem: Problem) -> str:
    """Why sliding should take fewer calls of ∇f than other methods, in words; empty if it should not, or cannot run."""
    if not isinstance(problem, SplitProblem) or problem.constants is None or not can_guard(problem.constants):
        return ""
    p = _find_parameters(problem)
    ratio = p.constants.L_y / p.smoothness
    return f"L_g is {ratio:.0f} times L_f" if ratio >= _CLEAR_RATIO else ""
