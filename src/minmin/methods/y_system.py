"""The y-block of the Hessian, inverted in the way that fits its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.rounding import rounding_error
from minmin.core.second_order import SecondOrderEvaluation
from minmin.core.vectors import Vector, dot, from_parts, parts_of
from minmin.numerics.cg import conjugate_gradients
from minmin.numerics.dense import DENSE_UP_TO, inverse_root, is_whole, positive

_ACCURACY = 1e-10
"""How far conjugate gradients lower the residual, so that a large y is as good as a factorised one: a factorisation
leaves 2e-11 where the condition is 10⁶, and 1e-9 where it is 10⁸. Looser solves are cheaper: three GLMs with 1200
columns in y take the same steps and products with X from 1e-4 to 1e-14, and with 1e-4 0.4 times the products with Y."""
_STEPS_PER_VARIABLE = 10
"""Conjugate gradients give up after so many steps per variable: exact arithmetic takes one, rounding several."""


class YStep(NamedTuple):
    """The Newton step in y alone, and twice what the quadratic model expects of it."""

    dy: Vector
    gain: float


class YSystem:
    """H_yy of an evaluation, part by part.

    Parameters
    ----------
    evaluation : SecondOrderEvaluation
    roots : sequence of arrays, optional
        What :attr:`roots` was at an earlier time, to spare the Hessian.
    """

    def __init__(self, evaluation: SecondOrderEvaluation, roots: Sequence[Array] | None = None):
        self.evaluation = evaluation
        self._parts = evaluation.parts
        self._dense = [part.y.shape[0] <= DENSE_UP_TO for part in self._parts]
        if roots is None:
            pairs = zip(self._parts, self._dense, strict=True)
            roots = [_factorize(part) if dense else positive(part.hess_yy_diagonal()) for part, dense in pairs]
        self.roots = tuple(roots)
        """For every part a root of the inverse, or, where y is large, the diagonal."""

    @property
    def whole_root(self) -> Array | None:
        """A root of H_yy⁻¹, where H_yy is one matrix and not singular; else None."""
        return self.roots[0] if len(self.roots) == 1 and self._dense[0] and is_whole(self.roots[0]) else None

    def newton_step(self) -> YStep:
        """The Newton step in y alone. Where y is large this is a solve: ask once per point."""
        gradient = self.evaluation.grad_y
        step = -self.solve(gradient)
        return YStep(step, max(-dot(gradient, step), 0.0))

    def gradient_after(self, step: Vector) -> Vector:
        """∇ᵧ of the quadratic model after a step in y: what lies outside of H_yy's range, where that is singular."""
        pairs = zip(self._parts, parts_of(step), strict=True)
        return from_parts([part.grad_y + part.hess_yy_product(dy) for part, dy in pairs], step)

    def solve(self, vector: Vector) -> Vector:
        """H_yy⁻¹·vector."""
        pieces = zip(self._parts, self._dense, self.roots, parts_of(vector), strict=True)
        return from_parts([_solve(*piece) for piece in pieces], vector)


def _factorize(part: SecondOrderEvaluation) -> Array:
    hessian = part.hess_yy()
    return inverse_root(hessian if part.gauge is None else part.gauge.fix(hessian))


def _solve(part: SecondOrderEvaluation, dense: bool, root: Array, right: Array) -> Array:
    solution = root.T @ (root @ right) if dense else _solve_by_cg(part, root, right)
    return solution if part.gauge is None else part.gauge.project(solution)


def _solve_by_cg(evaluation: SecondOrderEvaluation, diagonal: Array, right: Array) -> Array:
    solution, search = 0.0 * right, right

    def apply(p: Array) -> Array:
        nonlocal search
        search = p
        return evaluation.hess_yy_product(p)

    def move(t: float) -> None:
        nonlocal solution
        solution = solution + t * search

    eps = evaluation.rounding.eps
    tolerance = max(_ACCURACY, rounding_error(eps, 1.0))
    most_steps = _STEPS_PER_VARIABLE * right.shape[0]
    conjugate_gradients(apply, move, 1.0 * right, diagonal, eps=eps, tolerance=tolerance, most_steps=most_steps)
    return solution
