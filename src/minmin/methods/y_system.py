"""The y-block of the Hessian, inverted in the way that fits its size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minmin.linalg import inverse_root, is_whole, positive
from minmin.oracle import Evaluation
from minmin.space import Array, Blocks, Vector, dot, parts_of, square

DENSE_UP_TO = 1000
"""So many variables of one y are eliminated by a factorisation, more by conjugate gradients."""

_ACCURACY = 1e-10
"""How far conjugate gradients lower the residual."""


class YSystem:
    """H_yy of an evaluation, part by part.

    Parameters
    ----------
    evaluation : Evaluation
    roots : sequence of arrays, optional
        What :attr:`roots` was at an earlier time, to spare the Hessian.
    """

    def __init__(self, evaluation: Evaluation, roots: Sequence[Array] | None = None):
        self.evaluation = evaluation
        self._parts = evaluation.parts
        self._dense = [part.y.shape[0] <= DENSE_UP_TO for part in self._parts]
        if roots is None:
            pairs = zip(self._parts, self._dense, strict=True)
            roots = [inverse_root(p.hess_yy()) if dense else positive(p.hess_yy_diagonal()) for p, dense in pairs]
        self.roots = tuple(roots)
        """For every part a root of the inverse, or, where y is large, the diagonal."""

    @property
    def whole_root(self) -> Array | None:
        """A root of H_yy⁻¹, where H_yy is one matrix and not singular; else None."""
        return self.roots[0] if len(self.roots) == 1 and self._dense[0] and is_whole(self.roots[0]) else None

    def newton_step(self) -> tuple[Vector, float]:
        """The Newton step in y alone, and twice what the quadratic model expects of it."""
        gradient = self.evaluation.grad_y
        step = -self.solve(gradient)
        return step, max(-dot(gradient, step), 0.0)

    def left_by(self, step: Vector) -> Vector:
        """∇ᵧ of the quadratic model after a step in y: what lies outside of H_yy's range, where that is singular."""
        pieces = [part.grad_y + part.hess_yy_product(dy) for part, dy in zip(self._parts, parts_of(step), strict=True)]
        return Blocks(pieces, step.weights) if isinstance(step, Blocks) else pieces[0]

    def solve(self, vector: Vector) -> Vector:
        """H_yy⁻¹·vector."""
        pieces = zip(self._parts, self._dense, self.roots, parts_of(vector), strict=True)
        solved = [
            part.without_flat(root.T @ (root @ right) if dense else _solved_by_cg(part, root, right))
            for part, dense, root, right in pieces
        ]
        return Blocks(solved, vector.weights) if isinstance(vector, Blocks) else solved[0]


def _solved_by_cg(evaluation: Evaluation, diagonal: Array, right: Array) -> Array:
    """Conjugate gradients with a diagonal preconditioner."""
    solution, residual = 0.0 * right, right
    scaled = residual / diagonal
    search, size = scaled, dot(residual, scaled)
    enough = square(max(_ACCURACY, 4.0 * evaluation.eps)) * size
    for _ in range(10 * right.shape[0]):
        image = evaluation.hess_yy_product(search)
        curvature = dot(search, image)
        if not curvature > 0.0 or not math.isfinite(curvature):
            break
        t = size / curvature
        if not math.isfinite(t):
            break
        solution, residual = solution + t * search, residual - t * image
        scaled = residual / diagonal
        size, before = dot(residual, scaled), size
        if not enough < size < math.inf:
            break
        search = scaled + (size / before) * search
    return solution
