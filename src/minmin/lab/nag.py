"""NAG: Nesterov's accelerated gradient method on (x, y) jointly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from minmin.core.model_gap import Reached
from minmin.core.problem import Problem
from minmin.core.term import Term
from minmin.core.vectors import Vector, square
from minmin.lab.metric import Metric, metric
from minmin.methods.adaptive import AdaptableMethod, Adaptive, require_adaptive
from minmin.methods.base import Candidate, Method, require_flag
from minmin.methods.needs import Feature, Need, find_constant_needs, require_constants
from minmin.methods.regularizing import aim_regularized, check_radius
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.theory import momentum, theory_patience


class NagState(NamedTuple):
    """The point where both gradients come next, the candidate, and the newest point with both (None at first)."""

    x_under: Vector
    y_under: Vector
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class Nag(AdaptableMethod):
    """Nesterov's method for strongly convex functions, which treats all variables alike.

    Problem: min f(z), z = (x, y), in the metric |x|² + w|y|².

    Algorithm: z̄⁺ = z_under - ∇f(z_under)/L, z_under⁺ = z̄⁺ + β(z̄⁺ - z̄) with β = (√κ - 1)/(√κ + 1).

    Guarantee: f(z̄ᵏ) - f* <= (1 - 1/√κ)ᵏ · 2(f(z⁰) - f*), κ = max(L_x, L_y/w)/min(μ_x, μ_y/w). Rescaled, κ is
    max(κ_x, κ_y). Both gradients are computed equally often.

    Reference: Nesterov, "Lectures on convex optimization" (2018), scheme 2.2.22.

    Parameters
    ----------
    rescale : bool
        Whether to rescale y, so that both blocks have the same strong convexity. The metric is w = μ_y/μ_x with it, and
        w = 1 without: y' = √(μ_y/μ_x)·y, as Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, do.
    radius : float or "auto", optional
        For a convex f with mu_x = 0 or mu_y = 0: a distance from the start within which a minimiser lies, in every such
        block; or "auto", then the bound is an estimate. See :class:`minmin.methods.regularizing.Regularizing`.
    adaptive : bool
        Whether to estimate the constants during the run; the problem needs none, and the bound is an estimate. See
        :class:`minmin.methods.adaptive.Adaptive`.
    """

    name: ClassVar[str] = "nag"
    takes_terms: ClassVar[bool] = True
    state_types: ClassVar[tuple[type, ...]] = (NagState, SecantPoint)
    rescale: bool = False
    radius: float | str | None = None
    adaptive: bool = False

    def __post_init__(self) -> None:
        require_flag("rescale", self.rescale)
        check_radius(self.radius)
        require_adaptive(self.adaptive, self.radius, other="rescale=True" if self.rescale else "")

    @property
    def needs(self) -> frozenset[Need]:
        return find_constant_needs(adaptive=self.adaptive, may_be_flat=self.radius is not None)

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {Feature.REMOTE: "clients keep their y"}

    def aim(self, tol: float) -> Method:
        if self.adaptive:
            return Adaptive(replace(self, adaptive=False), joint=True)
        return aim_regularized(self, replace(self, radius=None), self.radius, tol)

    def init(self, problem: Problem, x: Vector, y: Vector) -> NagState:
        return NagState(x, y, Candidate(x, y), None)

    def step(self, problem: Problem, state: NagState) -> NagState:
        m = metric(require_constants(self.name, problem), self.rescale)
        evaluation = problem.fix(state.x_under).at(state.y_under)
        secant_point = check_constants(problem, evaluation, state.secant_point)
        steps = nag_steps(m)
        x_bar, x_under = nag_half(m, steps[0], state.x_under, state.candidate.x, evaluation.grad_x, problem.term_x)
        y_bar, y_under = nag_half(m, steps[1], state.y_under, state.candidate.y, evaluation.grad_y, problem.term_y)
        # The descent lemma carries the bound from z_under to z̄.
        if problem.has_terms:
            reached = Reached(x_bar, m.smoothness), Reached(y_bar, m.weight_y * m.smoothness)
            bound = problem.bound_with_terms(evaluation, *reached)
        else:
            in_x, in_y = square(evaluation.grad_x_norm), square(evaluation.grad_y_norm) / m.weight_y
            bound = problem.bound(evaluation).lower((in_x + in_y) / (2.0 * m.smoothness))
        return NagState(
            x_under=x_under,
            y_under=y_under,
            candidate=Candidate(
                x_bar,
                y_bar,
                bound,
                gradient_size=evaluation.gradient_size,
                measured_before=True,
            ),
            secant_point=secant_point,
        )

    def without_momentum(self, state: NagState) -> NagState:
        return state._replace(x_under=state.candidate.x, y_under=state.candidate.y)

    def patience(self, problem: Problem) -> int:
        m = metric(require_constants(self.name, problem), self.rescale)
        return theory_patience(math.sqrt(m.mu / m.smoothness), m.smoothness / m.mu)


def nag_steps(m: Metric) -> tuple[float, float]:
    """The lengths of gradient steps in x and in y."""
    return 1.0 / m.smoothness, 1.0 / (m.weight_y * m.smoothness)


def nag_half(
    m: Metric, step: float, under: Vector, before: Vector, gradient: Vector, term: Term | None = None
) -> tuple[Vector, Vector]:
    """One block of a step: the new z̄ and the new z_under, from z_under, the z̄ before and the gradient at z_under."""
    bar = under - step * gradient
    if term is not None:
        bar = term.prox(bar, step)
    return bar, bar + momentum(m.smoothness / m.mu) * (bar - before)
