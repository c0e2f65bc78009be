"""Systems with H_yy: factorised if y is small, solved by conjugate gradients if it is large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from minmin.core.arrays import Array, replace_zeros
from minmin.core.bound import rounding_error
from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import SecondOrderEvaluation
from minmin.core.vectors import Vector, dot, from_parts, parts_of
from minmin.numerics.cg import conjugate_gradients
from minmin.numerics.dense import DENSE_UP_TO, inverse_root, is_full_rank

_ACCURACY = 1e-10
"""The relative residual of conjugate gradients, about that of a factorisation. Measured: docs/benchmarks/tuning.md."""
_STEPS_PER_VARIABLE = 10
"""Conjugate gradients stop after this many steps per variable: exact arithmetic needs one, rounding makes it
several."""


class YStep(NamedTuple):
    """The Newton step in y alone, and its ``gain``: twice the decrease that the quadratic model predicts."""

    dy: Vector
    gain: float


class YSystem:
    """H_yy of an evaluation, with one matrix per part of y.

    Parameters
    ----------
    evaluation : SecondOrderEvaluation
    roots : sequence of arrays, optional
        Known :attr:`roots` of the same evaluation, so that its Hessian need not be computed.
    y_step : YStep, optional
        Known :attr:`y_step` of the same evaluation.
    """

    def __init__(self, evaluation: SecondOrderEvaluation, roots: Sequence[Array] = (), y_step: YStep | None = None):
        self.evaluation = evaluation
        if y_step is not None:
            self.y_step = y_step
        self._parts = evaluation.parts
        self._dense = [part.y.shape[0] <= DENSE_UP_TO for part in self._parts]
        if not roots:
            pairs = zip(self._parts, self._dense, strict=True)
            roots = [_factorize(part) if dense else replace_zeros(part.hess_yy_diagonal()) for part, dense in pairs]
        self.roots = tuple(roots)
        """For every part a root of the inverse of its H_yy, or the diagonal of H_yy if the part is large."""

    @property
    def full_rank_root(self) -> Array | None:
        """A root of H_yy⁻¹ if H_yy is one factorised matrix and not singular; otherwise None."""
        return self.roots[0] if len(self.roots) == 1 and self._dense[0] and is_full_rank(self.roots[0]) else None

    @cached_property
    def y_step(self) -> YStep:
        """The Newton step in y alone; if y is large, it is a solve by conjugate gradients."""
        gradient = self.evaluation.grad_y
        step = -self.solve(gradient)
        return YStep(step, max(-dot(gradient, step), 0.0))

    def gradient_left(self) -> Vector:
        """∇ᵧ of the quadratic model after :attr:`y_step`; not zero if ∇ᵧf leaves the range of a singular H_yy."""
        step = self.y_step.dy
        pairs = zip(self._parts, parts_of(step), strict=True)
        return from_parts([part.grad_y + part.hess_yy_product(dy) for part, dy in pairs], step)

    def solve(self, vector: Vector) -> Vector:
        """H_yy⁻¹·vector."""
        pieces = zip(self._parts, self._dense, self.roots, parts_of(vector), strict=True)
        return from_parts([_solve(*piece) for piece in pieces], vector)


def _factorize(part: SecondOrderEvaluation) -> Array:
    hessian = part.hess_yy()
    return inverse_root(hessian if part.gauge is None else part.gauge.make_invertible(hessian))


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
    conjugate_gradients(
        apply, move, 1.0 * right, Preconditioner(diagonal), eps=eps, tolerance=tolerance, most_steps=most_steps
    )
    return solution
