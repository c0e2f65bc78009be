"""Nesterov's method on F(x) = min_y f(x, y), with gradients from inexact inner solves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from minmin.core.model_gap import Reached
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, parts_of, square
from minmin.errors import as_positive
from minmin.methods.base import NO_TARGET, Candidate, Method, Target
from minmin.methods.estimates import is_exhausted
from minmin.methods.inner.partial_minimum import SolveY, YMemory
from minmin.methods.needs import KNOWN_CONSTANTS, require_constants
from minmin.methods.proximal_step import take_proximal_step
from minmin.methods.secants import SecantPoint, check_constants
from minmin.methods.theory import momentum, theory_patience


class InexactOuterState(NamedTuple):
    """The next x_under, the parts of y, the candidate, and the newest point with both gradients (None at first)."""

    x_under: Vector
    y: tuple[YMemory, ...]
    candidate: Candidate
    secant_point: SecantPoint | None


@dataclass(frozen=True)
class InexactOuter(Method):
    """Nesterov's method on F(x) = min_y f(x, y), with a gradient of F from an inner solve to a fixed accuracy.

    Problem: min F(x), F(x) = min_y f(x, y). F is L_x-smooth and μ_x-strongly convex, as f is in x. It is what the
    Block Accelerated Method (:class:`minmin.methods.Bam`) is compared with by Kovalev, Gasnikov and Malinovsky.

    Algorithm: ỹ with |∇ᵧf(x_under, ỹ)|²/(2μ_y) <= δ, by Nesterov's method in y from the last ỹ;
    x̄⁺ = x_under - ∇ₓf(x_under, ỹ)/L_x, x_under⁺ = x̄⁺ + β(x̄⁺ - x̄) with β = (√κ_x - 1)/(√κ_x + 1).

    Guarantee: with g = ∇ₓf(x_under, ỹ) and p = f(x_under, ỹ) - δ, for every x

        μ_x/2 |x - x_under|² <= F(x) - p - <g, x - x_under> <= L_x/2 |x - x_under|² + δ,

    so (p, g) is a (δ, L_x, μ_x)-oracle of F in the sense of Devolder, Glineur and Nesterov. Each step then adds at most
    δ to what Nesterov's proof bounds: F(x̄ᵏ) - F* <= (1 - 1/√κ_x)ᵏ · 2(F(x⁰) - F*) + √κ_x δ. The bound from both
    gradients is at most 4κ_x times the right side, plus δ. So with δ = tol/(10 κ_x^{3/2}) it is at most tol after
    √κ_x ln(16 κ_x (F(x⁰) - F*)/tol) calls of ∇ₓ. A solve in y takes at most √κ_y ln(18 κ_y² g₀/δ) + 2 calls of ∇ᵧ,
    g₀ = |∇ᵧf|²/(2μ_y) at its start. In total O(√(κ_x κ_y) log² 1/tol) calls of ∇ᵧ, where BAM needs
    O(max(√κ_x, √κ_y) log 1/tol).

    Reference: Devolder, Glineur and Nesterov, "First-order methods with inexact oracle: the strongly convex case"
    (2013), CORE 2013/16. Outer methods with inner solves for min-min problems: Bolte, Glaudin, Pauwels and Serrurier,
    "The backtrack Hölder gradient method with application to min-max and min-min problems" (2023); Gladin, Sadiev,
    Gasnikov, Dvurechensky, Beznosikov and Alkousa, "Solving smooth min-min and min-max problems by mixed oracle
    algorithms", arXiv:2103.00434.

    Parameters
    ----------
    accuracy : float, optional
        How far f may be above its minimum over y after an inner solve, δ. By default tol/(10 κ_x^{3/2}), with the tol
        of the run; without a tol, y is solved as exactly as rounding allows.
    """

    name: ClassVar[str] = "inexact-outer"
    state_types: ClassVar[tuple[type, ...]] = (InexactOuterState, *SolveY.memory_types, SecantPoint)
    needs = KNOWN_CONSTANTS
    takes_terms: ClassVar[bool] = True
    takes_target: ClassVar[bool] = True
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            accuracy = as_positive(self.accuracy, "accuracy", ": how far f may be above min_y f(x, y)")
            object.__setattr__(self, "accuracy", accuracy)

    def init(self, problem: Problem, x: Vector, y: Vector) -> InexactOuterState:
        task = SolveY("nag", 0.0, require_constants(self.name, problem))
        return InexactOuterState(x, tuple(task.begin(part) for part in parts_of(y)), Candidate(x, y), None)

    def step(self, problem: Problem, state: InexactOuterState, target: Target = NO_TARGET) -> InexactOuterState:
        constants = require_constants(self.name, problem)
        needed = target.tol / (10.0 * constants.kappa_x * math.sqrt(constants.kappa_x))
        note, delta = "", needed if self.accuracy is None else self.accuracy
        if delta > needed > 0.0:
            note = f"accuracy = {self.accuracy:g} may be too coarse: theory needs {needed:.2g} for this tol"
        # f is the weighted sum of its parts, so its accuracy is that of each part times the sum of weights.
        task = SolveY("nag", delta / sum(problem.part_weights or (1.0,)), constants)
        parts, evaluation = problem.fix(state.x_under).run_on_parts(task, state.y)
        x_bar = take_proximal_step(problem.term_x, state.x_under, evaluation.grad_x, 1.0 / constants.L_x)
        # The descent lemma carries the bound from (x_under, ỹ) to (x̄, ỹ).
        if problem.has_terms:
            bound = problem.bound_with_terms(evaluation, x_reached=Reached(x_bar, constants.L_x))
        else:
            bound = problem.bound(evaluation).lower(square(evaluation.grad_x_norm) / (2.0 * constants.L_x))
        return InexactOuterState(
            x_under=x_bar + momentum(constants.kappa_x) * (x_bar - state.candidate.x),
            y=parts,
            candidate=Candidate(
                x_bar,
                evaluation.y,
                bound,
                exhausted=is_exhausted(max(part.failures for part in parts)),
                note=note,
                gradient_size=evaluation.gradient_size,
                measured_before=True,
            ),
            secant_point=check_constants(problem, evaluation, state.secant_point),
        )

    def patience(self, problem: Problem) -> int:
        constants = require_constants(self.name, problem)
        return theory_patience(1.0 / math.sqrt(constants.kappa_x), max(constants.kappa_x, constants.kappa_y))
