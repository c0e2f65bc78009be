"""Coordinate descent over the two blocks: ACDM, and Linear Coupling, which draw a block in every iteration."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import Reached
from minmin.core.problem import Problem
from minmin.core.vectors import Vector
from minmin.errors import as_count
from minmin.lab.metric import Metric, metric
from minmin.methods.base import Candidate, Method, require_flag
from minmin.methods.needs import TERMS, Feature, Need, find_constant_needs, require_constants
from minmin.methods.proximal_step import take_proximal_step
from minmin.methods.regularizing import aim_regularized, check_radius
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.theory import theory_patience

_CERTIFY_STAGES_EVERY = 100
"""The number of iterations between two bounds with a radius: a stage ends at a bound, often long before theory promises
it. Measured: docs/benchmarks/tuning.md."""


class Pair(NamedTuple):
    """A point (x, y)."""

    x: Vector
    y: Vector

    def plus(self, weight: float, other: Pair, other_weight: float) -> Pair:
        """weight·self + other_weight·other."""
        return Pair(weight * self.x + other_weight * other.x, weight * self.y + other_weight * other.y)

    def move(self, in_x: bool, step: Vector) -> Pair:
        """The point with ``step`` subtracted from one block."""
        return Pair(self.x - step, self.y) if in_x else Pair(self.x, self.y - step)


class CoordinateState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    v, bar : Pair
        The momentum point, and the other one; without terms that is the candidate.
    ratio : float
        ACDM's ratio A/B.
    steps : int
        Iterations so far.
    candidate : Candidate
    secant_point : SecantPoint or None
        The newest point with both gradients.
    """

    v: Pair
    bar: Pair
    ratio: float
    steps: int
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class CoordinateMethod(Method):
    """A method that draws one of the two blocks in every iteration, with probability ∝ √L of the block.

    Only the drawn block's gradient is computed, so an iteration does not know both. For a certificate both are computed
    at the candidate every few iterations, and counted like any other call.

    Parameters
    ----------
    rescale : bool
        Whether to rescale y, so that both blocks have the same strong convexity. It is y' = √(μ_y/μ_x)·y, as Kovalev,
        Gasnikov and Malinovsky, arXiv:2212.14439, have it.
    certify_every : int, optional
        The number of iterations between two bounds; 0 for none, None for that within which the gap falls by a factor e
        in theory. That is S/√σ (see the method).
    seed : int
        The draws depend only on seed and iteration, and are the same on every platform.
    radius : float or "auto", optional
        For a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser lies, in every such
        block; or "auto", then the bound is an estimate. See :class:`minmin.methods.regularizing.Regularizing`.
    """

    state_types: ClassVar[tuple[type, ...]] = (CoordinateState, Pair, SecantPoint)
    rescale: bool = False
    certify_every: int | None = None
    seed: int = 0
    radius: float | str | None = None

    def __post_init__(self) -> None:
        require_flag("rescale", self.rescale)
        check_radius(self.radius)
        as_count(self.seed, "seed")
        if self.certify_every is not None:
            object.__setattr__(self, "certify_every", as_count(self.certify_every, "certify_every"))

    @property
    def needs(self) -> frozenset[Need]:
        return find_constant_needs(may_be_flat=self.radius is not None)

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {Feature.REMOTE: "clients keep their y"}

    def aim(self, tol: float) -> Method:
        every = _CERTIFY_STAGES_EVERY if self.certify_every is None else self.certify_every
        return aim_regularized(self, replace(self, radius=None, certify_every=every), self.radius, tol)

    def init(self, problem: Problem, x: Vector, y: Vector) -> CoordinateState:
        return CoordinateState(Pair(x, y), Pair(x, y), 0.0, 0, Candidate(x, y), None)

    @abstractmethod
    def _advance(self, problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair, float]:
        """The new bar, v and ratio, from the gradient of the drawn block."""

    def step(self, problem: Problem, state: CoordinateState) -> CoordinateState:
        m, drawn = self._find_metric(problem), uniform(self.seed, state.steps)
        in_x = drawn < 0.5 if problem.has_terms else drawn * m.root_sum < math.sqrt(m.L_x)
        bar, v, ratio = self._advance(problem, m, in_x, state)
        steps, secant_point = state.steps + 1, state.secant_point
        candidate = Candidate(*problem.project_start(bar.x, bar.y)) if problem.has_terms else Candidate(bar.x, bar.y)
        period = self._certificate_period(m)
        if period and steps % period == 0:
            evaluation = problem.fix(candidate.x).at(candidate.y)
            candidate = _certify(problem, evaluation)
            secant_point = check_constants(problem, evaluation, secant_point)
        return CoordinateState(v, bar, ratio, steps, candidate, secant_point)

    def patience(self, problem: Problem) -> int:
        """Twice what theory gives, since that holds only in expectation, and at least two certificates."""
        m = self._find_metric(problem)
        return 2 * max(theory_patience(math.sqrt(m.mu) / m.root_sum, m.smoothness / m.mu), self._certificate_period(m))

    def _find_metric(self, problem: Problem) -> Metric:
        """The metric of the steps; with terms that in which both L are 1."""
        c = require_constants(self.name, problem)
        if problem.has_terms:
            return Metric(c.L_y / c.L_x, 1.0, 1.0, min(c.mu_x / c.L_x, c.mu_y / c.L_y))
        return metric(c, self.rescale)

    def _certificate_period(self, m: Metric) -> int:
        return math.ceil(m.root_sum / math.sqrt(m.mu)) if self.certify_every is None else self.certify_every


def _certify(problem: Problem, evaluation: Evaluation) -> Candidate:
    """The point of an evaluation with its bound; with terms the end of a proximal gradient step from there."""
    size = evaluation.gradient_size
    if not problem.has_terms:
        return Candidate(evaluation.x, evaluation.y, problem.bound(evaluation), gradient_size=size)
    c = require_constants(Acdm.name, problem)
    x = take_proximal_step(problem.term_x, evaluation.x, evaluation.grad_x, 1.0 / c.L_x)
    y = take_proximal_step(problem.term_y, evaluation.y, evaluation.grad_y, 1.0 / c.L_y)
    bound = problem.bound_with_terms(evaluation, Reached(x, c.L_x), Reached(y, c.L_y))
    return Candidate(x, y, bound, gradient_size=size, measured_before=True)


@dataclass(frozen=True)
class Acdm(CoordinateMethod):
    """Accelerated coordinate descent over the two blocks.

    Problem: min f(z), σ-strongly convex, with L_x and L_y for the blocks; S = √L_x + √L_y.

    Algorithm: a²S² = A⁺B⁺ with A⁺ = A + a and B⁺ = B + σa, from A = 0 and B = 1; α = a/A⁺ and β = σa/B⁺. A gradient
    step in the drawn block i from u = ((1-α)z + α(1-β)v)/(1-αβ) gives z; v⁺ = (1-β)v + βu - a/(B⁺π_i)·∇_i f(u).
    Only A/B is needed and kept, so nothing overflows.

    Guarantee: E[2A(f(z) - f*) + B|v - z*|²] never rises, and A grows by a factor that tends to 1/(1 - √σ/S) per
    iteration.

    With terms it is APCG, which draws both blocks equally often. In the norm |z|² = L_x|x|² + L_y|y|², in which f is
    σ-strongly convex, and with α = √σ/2: from u = (z + αv)/(1 + α) and w = (1 - α)v + αu a proximal gradient step of
    length 1/(2αL_i) in the drawn block of w gives v⁺, and z⁺ = u + 2α(v⁺ - w). E[f(z) - f*] falls by the factor 1 - α.

    Reference: Nesterov and Stich, "Efficiency of the accelerated coordinate descent method on structured optimization
    problems" (2017), with probabilities π_i ∝ √L_i. With terms: Lin, Lu and Xiao, "An accelerated randomized proximal
    coordinate gradient method and its application to regularized empirical risk minimization" (2015), Algorithm 3.
    """

    name: ClassVar[str] = "acdm"
    takes_terms: ClassVar[bool] = True

    def _advance(self, problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair, float]:
        if problem.has_terms:
            return (*_advance_with_terms(problem, m, in_x, state), 0.0)
        ratio, sigma = state.ratio, m.mu
        # The positive root a, in units of B, of a²S² = (A/B + a)(1 + σa).
        linear = 1.0 + sigma * ratio
        square = m.root_sum**2 - sigma
        a = (linear + math.sqrt(linear**2 + 4.0 * square * ratio)) / (2.0 * square)
        alpha, beta = a / (ratio + a), sigma * a / (1.0 + sigma * a)
        scale = 1.0 / (1.0 - alpha * beta)
        bar = state.bar
        u = bar.plus((1.0 - alpha) * scale, state.v, alpha * (1.0 - beta) * scale)
        bar, gradient = _block_step(problem, m, in_x, u)
        step = a / ((1.0 + sigma * a) * _probability(m, in_x))
        v = state.v.plus(1.0 - beta, u, beta).move(in_x, step * gradient)
        return bar, v, (ratio + a) / (1.0 + sigma * a)


@dataclass(frozen=True)
class LinCoupling(CoordinateMethod):
    """NU_ACDM, coordinate descent by linear coupling of a gradient and a mirror step.

    Problem: min f(z), σ-strongly convex, with L_x and L_y for the blocks; S = √L_x + √L_y.

    Algorithm: τ = 2/(1 + √(4S²/σ + 1)), η = 1/(τS²). From u = τv + (1-τ)z a gradient step in the drawn block i
    gives z, and v⁺ = (v + ησu - η/p_i·∇_i f(u))/(1 + ησ).

    Guarantee: E[f(z) - f*] = O((1-τ)ᵏ), τ ≈ √σ/S.

    Reference: Allen-Zhu, Qu, Richtárik and Yuan, "Even faster accelerated coordinate descent using non-uniform
    sampling" (2016), Algorithm 1 with β = 0.
    """

    name: ClassVar[str] = "lincoupling"

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {**super().refuses, **dict.fromkeys(TERMS, "NU_ACDM is proved for smooth functions alone")}

    def _advance(self, problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair, float]:
        tau = 2.0 / (1.0 + math.sqrt(4.0 * m.root_sum**2 / m.mu + 1.0))
        eta = 1.0 / (tau * m.root_sum**2)
        u = state.v.plus(tau, state.bar, 1.0 - tau)
        bar, gradient = _block_step(problem, m, in_x, u)
        shrink = 1.0 / (1.0 + eta * m.mu)
        step = shrink * eta / _probability(m, in_x)
        return bar, state.v.plus(shrink, u, shrink * eta * m.mu).move(in_x, step * gradient), state.ratio


def _advance_with_terms(problem: Problem, m: Metric, in_x: bool, state: CoordinateState) -> tuple[Pair, Pair]:
    """The new bar and v of APCG."""
    c, alpha = require_constants(Acdm.name, problem), 0.5 * math.sqrt(m.mu)
    u = state.bar.plus(1.0 / (1.0 + alpha), state.v, alpha / (1.0 + alpha))
    w = state.v.plus(1.0 - alpha, u, alpha)
    evaluation = problem.fix(u.x).at(u.y)
    if in_x:
        x = take_proximal_step(problem.term_x, w.x, evaluation.grad_x, 0.5 / (alpha * c.L_x))
        return Pair(u.x + 2.0 * alpha * (x - w.x), u.y), Pair(x, w.y)
    y = take_proximal_step(problem.term_y, w.y, evaluation.grad_y, 0.5 / (alpha * c.L_y))
    return Pair(u.x, u.y + 2.0 * alpha * (y - w.y)), Pair(w.x, y)


def _block_step(problem: Problem, m: Metric, in_x: bool, at: Pair) -> tuple[Pair, Vector]:
    """A gradient step in one block, and that block's gradient in the metric."""
    evaluation = problem.fix(at.x).at(at.y)
    gradient = evaluation.grad_x if in_x else (1.0 / m.weight_y) * evaluation.grad_y
    return at.move(in_x, (1.0 / (m.L_x if in_x else m.L_y)) * gradient), gradient


_MASK = (1 << 64) - 1


def uniform(seed: int, index: int) -> float:
    """A number in [0, 1) that depends on seed and index alone (SplitMix64; Steele, Lea and Flood 2014)."""
    z = _mix((_mix(seed & _MASK) + (index + 1) * 0x9E3779B97F4A7C15) & _MASK)
    return (z >> 11) / (1 << 53)


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _probability(m: Metric, in_x: bool) -> float:
    """The probability with which the block is drawn."""
    return math.sqrt(m.L_x if in_x else m.L_y) / m.root_sum
