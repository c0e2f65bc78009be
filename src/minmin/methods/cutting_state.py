"""The state of cutting-plane between two steps: the cuts and their errors, the ball, and the model that they make."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from minmin.core.bound import VALUE_PRECISION, Bound, Grid, rounding_error
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, norm, square, to_flat
from minmin.methods.base import Candidate
from minmin.methods.estimates import SAFETY_FACTOR
from minmin.methods.inner.partial_minimum import YMemory
from minmin.methods.secants import SecantPoint
from minmin.numerics.central_path import Model

DOUBLE_EPS = float(np.finfo(np.float64).eps)
MARGIN = 10.0
"""If no ball is proved, a bound is estimated for one that is larger by this factor, and if values are not exact, for
errors that are. Measured: docs/benchmarks/tuning.md."""
_CLEARLY = 2.0
"""A contradiction is seen beyond this times the expected rounding errors."""
_LEAST_RADIUS = 1e-100
"""The square of a radius must not be zero, as it would be where x and both gradients are zero."""
_NEAR_BOUNDARY = 0.95
"""Beyond this fraction of a given radius, the message asks whether it is large enough."""


class Cut(NamedTuple):
    """F(z) >= value - error + <gradient, z - x> - slope_error |z - x| for all z."""

    x: Vector
    gradient: Vector
    value: float
    error: float
    slope_error: float


def find_y_error(problem: Problem, evaluation: Evaluation, memories: tuple[YMemory, ...]) -> float:
    """δ, the most that f can still fall in y: proved by mu_y, or else estimated."""
    constants = problem.constants
    if constants is not None and constants.mu_y > 0.0:
        _, noise = problem.gradient_noise(evaluation)
        eps = evaluation.rounding.eps
        return evaluation.gap_in_y(constants.lower_mu(eps)[1], noise=noise, eps=eps).value
    by_curvature = evaluation.estimate_in_y(min(part.min_curvature_seen for part in memories))
    known = [gain for gain in (by_curvature, *(part.gain for part in memories)) if math.isfinite(gain)]
    return SAFETY_FACTOR * max(known, default=0.0)


def find_value_size(problem: Problem, evaluation: Evaluation) -> float:
    """The size of the terms that are summed in f."""
    constants, e = problem.constants, evaluation
    if constants is None or math.isinf(constants.L_x + constants.L_y):
        return abs(e.value) + e.grad_x_norm * norm(e.x) + e.grad_y_norm * norm(e.y)
    in_x, in_y = math.sqrt(constants.L_x) * norm(e.x), math.sqrt(constants.L_y) * norm(e.y)
    return abs(e.value) + square(in_x + in_y + e.rounding.fixed_terms)


class Ball(NamedTuple):
    """Where a minimum is, and whether that is proved, or given by the user."""

    centre: Vector
    radius: float
    proved: bool


class CuttingState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    x : vector
        Where the next cut is made.
    y : tuple of YMemory
        One per part of y.
    ball : Ball
    best : Candidate
        The point with the lowest f, with the bound that its gradients prove.
    candidate : Candidate
        The same point with the best bound.
    cuts : tuple of Cut
    lower : float
        A lower bound on F on the ball.
    gap : float
        The lowest f so far less that bound, before the last step; infinite at first.
    best_gradients : pair of vectors or None
        ∇ₓf and ∇ᵧf at the best point; None before the first step.
    noise : float
        The rounding error of f there.
    size : float
        The largest size of the terms that were summed in f so far.
    stuck : int
        Iterations in a row without progress, as far as rounding errors let it be seen.
    secant_point : SecantPoint or None
    grid : Grid
    value_error : float
        The most by which a value is below a cut beyond their errors. If it is not zero, values prove nothing.
    """

    x: Vector
    y: tuple[YMemory, ...]
    ball: Ball
    best: Candidate
    candidate: Candidate
    cuts: tuple[Cut, ...] = ()
    lower: float = -math.inf
    gap: float = math.inf
    best_gradients: tuple[Vector, Vector] | None = None
    noise: float = 0.0
    size: float = 0.0
    stuck: int = 0
    secant_point: SecantPoint | None = None
    grid: Grid = Grid()
    value_error: float = 0.0

    def make_model(self) -> Model:
        """The cuts as a function of z - x and relative to f, for the x and f of the best point."""
        assert self.best.value is not None
        origin = to_flat(self.best.x)
        centre = to_flat(self.ball.centre) - origin
        slopes = np.stack([to_flat(cut.gradient) for cut in self.cuts])
        points = np.stack([to_flat(cut.x) for cut in self.cuts]) - origin
        values = np.array([cut.value - cut.error for cut in self.cuts])
        farthest = np.linalg.norm(points - centre, axis=1) + self.ball.radius
        slope_errors = np.array([cut.slope_error for cut in self.cuts]) * farthest
        sizes = np.abs(values) + abs(self.best.value) + np.linalg.norm(slopes, axis=1) * farthest
        offsets = values - self.best.value - np.einsum("ij,ij->i", slopes, points)
        return Model(slopes, offsets - slope_errors - rounding_error(DOUBLE_EPS, 1.0) * sizes, centre, self.ball.radius)

    def choose_ball(self, problem: Problem, evaluation: Evaluation) -> CuttingState:
        """The state with the smallest ball that is proved, or with one that is large enough around the best point."""
        ball = self.ball
        constants = problem.constants
        if constants is not None and min(constants.mu_x, constants.mu_y) > 0.0:
            # mu_x|d_x|² + mu_y|d_y|² <= <∇f, d> for the way d to a minimum, with the squares completed
            mu_x, mu_y = constants.lower_mu(evaluation.rounding.eps)
            noise_x, noise_y = problem.gradient_noise(evaluation)
            in_x, in_y = evaluation.grad_x_norm + noise_x, evaluation.grad_y_norm + noise_y
            radius = math.sqrt(square(in_x) + square(in_y) * mu_x / mu_y) / (2.0 * mu_x) + noise_x / (2.0 * mu_x)
            radius += rounding_error(evaluation.rounding.eps, norm(evaluation.x) + in_x / mu_x)
            # Around the best point: near the boundary of a ball, rounding would hide how near it is.
            radius += norm(self.best.x - evaluation.x + (0.5 / mu_x) * evaluation.grad_x)
            if problem.has_terms:  # mu_x/2 |d_x|² <= f - f*
                radius = math.sqrt(2.0 * problem.bound_with_terms(evaluation).value / mu_x)
                radius += norm(self.best.x - evaluation.x)
            radius = max(radius, _LEAST_RADIUS)
            if radius < ball.radius:
                lower = self.lower if ball.proved else -math.inf
                return self._replace(ball=Ball(self.best.x, radius, proved=True), lower=lower)
        if ball.proved:
            return self
        radius = ball.radius
        while norm(self.best.x - ball.centre) > 0.5 * radius:
            radius *= 2.0
        return self if radius == ball.radius else self._replace(ball=ball._replace(radius=radius), lower=-math.inf)

    def choose_bound(self, problem: Problem, value: float, floor: float) -> Bound:
        """The bound from the cuts, with this value, or the one that the gradients prove if that is better."""
        constants, by_gradients = problem.constants, self.best.bound
        bound = Bound(value + MARGIN * self.value_error, floor)
        if self.ball.proved and constants is not None and constants.mu_y > 0.0 and self.value_error == 0.0:
            bound = constants.to_bound(value, floor)
        is_better = bound.is_proved and bound.value <= by_gradients.value
        return by_gradients if by_gradients.is_proved and not is_better else bound

    def add_cut(self, cut: Cut) -> CuttingState:
        """The state with one more cut; and with ``value_error`` if a value is below a cut by more than their errors."""
        if not self.cuts:
            return self._replace(cuts=(cut,))
        points, slopes = (np.stack([to_flat(v) for v in column]) for column in list(zip(*self.cuts, strict=True))[:2])
        values, errors, slope_errors = np.array([old[2:] for old in self.cuts]).T
        ways = to_flat(cut.x) - points
        rises, falls = np.einsum("ij,ij->i", slopes, ways), ways @ to_flat(cut.gradient)
        above = np.maximum(values + rises - cut.value, cut.value - falls - values)
        sizes = np.abs(values) + abs(cut.value) + np.abs(rises) + np.abs(falls)
        slack = errors + cut.error + (slope_errors + cut.slope_error) * np.linalg.norm(ways, axis=1)
        excess = above - _CLEARLY * slack - rounding_error(DOUBLE_EPS, 1.0) * sizes
        contradicts = float(np.max(np.where(excess > 0.0, above, 0.0)))
        return self._replace(cuts=(*self.cuts, cut), value_error=max(self.value_error, contradicts))

    def find_tangent_above(self, evaluation: Evaluation) -> str:
        """What shows that f is not convex; empty if nothing does.

        That is f below its tangent in x and y, at the best point or at the new one: nothing is assumed of how well y
        is solved.
        """
        best, e = self.best, evaluation
        assert best.value is not None
        assert self.best_gradients is not None
        dx, dy = e.x - best.x, e.y - best.y
        in_x, in_y = self.best_gradients
        pairs = (
            (e.value, best.value, dot(in_x, dx) + dot(in_y, dy)),
            (best.value, e.value, -dot(e.grad_x, dx) - dot(e.grad_y, dy)),
        )
        for value, other, change in pairs:
            if other + change > value + VALUE_PRECISION * (abs(value) + abs(other) + abs(change)):
                return f"f = {value:.10g} lies below {other + change:.10g}, its tangent at another point of this run"
        return ""

    def explain_ball(self, radius: float | None) -> str:
        """A remark where the best point is near the boundary of the ball that the user gave."""
        if radius is None or norm(self.best.x - self.ball.centre) < _NEAR_BOUNDARY * radius:
            return ""
        return f"x is near the boundary of the ball of radius = {radius:g} around the start: is that large enough?"
