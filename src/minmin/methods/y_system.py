"""Systems with H_yy: factorised if y is small, solved by conjugate gradients if it is large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from minmin.core.arrays import Array, replace_zeros
from minmin.core.bound import rounding_error
from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import SecondOrderEvaluation
from minmin.core.term import Piece
from minmin.core.vectors import Vector, dot, from_parts, parts_of
from minmin.methods.pieces import Pieces, mask
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

    Where y has a term, it takes no steps alone, and systems are solved on pieces of the term: :meth:`on`.

    Parameters
    ----------
    evaluation : SecondOrderEvaluation
    roots : sequence of arrays, optional
        Known :attr:`roots` of the same evaluation, so that its Hessian need not be computed.
    y_step : YStep, optional
        Known :attr:`y_step` of the same evaluation.
    parts : sequence, optional
        Instead of the evaluation's own.
    """

    def __init__(
        self,
        evaluation: SecondOrderEvaluation,
        roots: Sequence[Array] = (),
        y_step: YStep | None = None,
        parts: Sequence[_PartOnPiece] = (),
    ):
        self.evaluation = evaluation
        if y_step is not None:
            self.y_step = y_step
        self._parts: list[Any] = [*(parts or evaluation.parts)]
        self._dense = [part.y.shape[0] <= DENSE_UP_TO for part in self._parts]
        if not roots and (parts or evaluation.term_y is None):
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
        if self.evaluation.term_y is not None:
            return YStep(0.0 * gradient, 0.0)
        step = -self.solve(gradient)
        return YStep(step, max(-dot(gradient, step), 0.0))

    def gradient_left(self) -> Vector:
        """∇ᵧ of the quadratic model after :attr:`y_step`; not zero if ∇ᵧf leaves the range of a singular H_yy."""
        step = self.y_step.dy
        pairs = zip(self._parts, parts_of(step), strict=True)
        return from_parts([part.grad_y + part.hess_yy_product(dy) for part, dy in pairs], step)

    def product(self, dy: Vector) -> Vector:
        """H_yy·dy, by matrices that :meth:`on` needs, too."""
        triples = zip(self._parts, self._hessians, parts_of(dy), strict=True)
        return from_parts([part.hess_yy_product(d) if H is None else H @ d for part, H, d in triples], dy)

    @cached_property
    def diagonal(self) -> Vector:
        """The diagonal of H_yy, with ones for zeros."""
        return from_parts([replace_zeros(part.hess_yy_diagonal()) for part in self._parts], self.evaluation.y)

    @cached_property
    def _hessians(self) -> list[Array | None]:
        """H_yy of the parts that are not large."""
        return [part.hess_yy() if dense else None for part, dense in zip(self._parts, self._dense, strict=True)]

    def on(self, pieces: Pieces) -> YSystem:
        """The same system plus the Hessian of the term; only what can move within these pieces does."""
        triples = zip(self.evaluation.parts, pieces.each, self._hessians, strict=True)
        return YSystem(self.evaluation, parts=[_PartOnPiece(*triple) for triple in triples])

    def solve(self, vector: Vector) -> Vector:
        """H_yy⁻¹·vector."""
        pieces = zip(self._parts, self._dense, self.roots, parts_of(vector), strict=True)
        return from_parts([_solve(*piece) for piece in pieces], vector)


class _PartOnPiece:
    """A part of an evaluation on a piece of the part's term."""

    gauge = None

    def __init__(self, part: SecondOrderEvaluation, piece: Piece | None, hessian: Array | None):
        self.y, self.rounding = part.y, part.rounding
        self._part, self._piece, self._hessian = part, piece, hessian

    def hess_yy(self) -> Array:
        assert self._hessian is not None
        if self._piece is None:
            return self._hessian
        rows = mask(self._piece, self._hessian)
        return mask(self._piece, rows.T) + self._piece.hessian()

    def hess_yy_diagonal(self) -> Array:
        diagonal = self._part.hess_yy_diagonal()
        return diagonal if self._piece is None else mask(self._piece, diagonal) + self._piece.diagonal

    def hess_yy_product(self, dy: Array) -> Array:
        if self._piece is None:
            return self._part.hess_yy_product(dy)
        return mask(self._piece, self._part.hess_yy_product(dy)) + self._piece.times(dy)


def _factorize(part: SecondOrderEvaluation | _PartOnPiece) -> Array:
    hessian = part.hess_yy()
    return inverse_root(hessian if part.gauge is None else part.gauge.make_invertible(hessian))


def _solve(part: SecondOrderEvaluation | _PartOnPiece, dense: bool, root: Array, right: Array) -> Array:
    solution = root.T @ (root @ right) if dense else _solve_by_cg(part, root, right)
    return solution if part.gauge is None else part.gauge.project(solution)


def _solve_by_cg(evaluation: SecondOrderEvaluation | _PartOnPiece, diagonal: Array, right: Array) -> Array:
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
