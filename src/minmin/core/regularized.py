"""Regularized: a problem plus μ/2 times the squared distance from a centre, which makes it strongly convex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation, EvaluationOfSum
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector, dot, parts_of


class Regularized(Problem):
    """f(x, y) + μ_x/2 |x - x_0|² + μ_y/2 |y - y_0|².

    Parameters
    ----------
    original : Problem
        f, with constants; it counts.
    center : pair of vectors
        x_0 and y_0.
    mu : pair of float
        μ_x and μ_y; zero for a block that is strongly convex already.
    """

    def __init__(self, original: Problem, center: tuple[Vector, Vector], mu: tuple[float, float]):
        self.original = original
        self.center = center
        self.mu = mu
        self.d_x, self.d_y = original.d_x, original.d_y
        self.has_value = original.has_value
        self.part_sizes, self.part_weights = original.part_sizes, original.part_weights
        self.has_noisy_gradients = original.has_noisy_gradients
        self.term_x, self.term_y = original.term_x, original.term_y

    @property
    def constants(self) -> Constants | None:
        c = self.original.constants
        if c is None:
            return None
        in_x, in_y = self.mu
        return replace(c, L_x=c.L_x + in_x, L_y=c.L_y + in_y, mu_x=c.mu_x + in_x, mu_y=c.mu_y + in_y)

    def fix(self, x: Vector) -> Slice:
        return _RegularizedSlice(self.original.fix(x), self.center, self.mu)

    def excess(self, x: Vector, y: Vector) -> tuple[float, float]:
        """μ/2 times the squared distance from the centre, in x and in y."""
        return _half_square(self.mu[0], x - self.center[0]), _half_square(self.mu[1], y - self.center[1])


def _half_square(mu: float, distance: Vector) -> float:
    return 0.5 * mu * dot(distance, distance) if mu > 0.0 else 0.0


class _RegularizedSlice(Slice):
    __slots__ = ("_center", "_mu", "_original", "term_y")

    def __init__(self, original: Slice, center: tuple[Vector, Vector], mu: tuple[float, float]):
        super().__init__(original.x)
        self._original = original
        self._center, self._mu = center, mu
        self.term_y = original.term_y

    @property
    def nested(self) -> Problem | None:
        original = self._original.nested
        if original is None:
            return None
        center, mu = self._center[1], self._mu[1]
        return Regularized(original, (center[: original.d_x], center[original.d_x :]), (mu, mu))

    @property
    def parts(self) -> Sequence[Slice]:
        """With the regularisation in y: a part's weight would multiply that in x, which :meth:`join` adds instead."""
        pairs = zip(self._original.parts, parts_of(self._center[1]), strict=True)
        return [_RegularizedSlice(part, (self._center[0], c), (0.0, self._mu[1])) for part, c in pairs]

    def at(self, y: Vector) -> Evaluation:
        return _RegularizedEvaluation(self._original.at(y), self._center, self._mu)

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        of_f = [e.original if isinstance(e, _RegularizedEvaluation) else e for e in evaluations]
        return _RegularizedEvaluation(self._original.join(of_f), self._center, self._mu)


class _RegularizedEvaluation(EvaluationOfSum):
    """The evaluation of f with the regularisation."""

    __slots__ = ("_center", "_mu")

    def __init__(self, original: Evaluation, center: tuple[Vector, Vector], mu: tuple[float, float]):
        super().__init__(original, original.term_x, original.term_y)
        self._center, self._mu = center, mu

    def _compute_value(self) -> float:
        distances = self.x - self._center[0], self.y - self._center[1]
        return self.original.value + sum(_half_square(mu, d) for mu, d in zip(self._mu, distances, strict=True))

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_x + self._mu[0] * (self.x - self._center[0])

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_y + self._mu[1] * (self.y - self._center[1])
