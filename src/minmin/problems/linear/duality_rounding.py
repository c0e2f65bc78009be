"""The size of rounding errors in the duality gap of a linear model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minmin.core.arrays import Array, array_eps, inner, largest, namespace_of, total, weighted_square
from minmin.core.bound import rounding_error
from minmin.core.rows import Reduction, prefetch, reduce_rows, request
from minmin.core.vectors import dot, norm
from minmin.problems.linear.rows.parts import RowHessian, RowLoss

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation, LinearYStepModel


class Rounding:
    """The expected size of rounding errors.

    For a block with one penalty, one number is enough, and it costs nothing. A block with a penalty per column may have
    columns in very different units. Then errors in y are computed per column, and errors in x in the norm of the
    penalties. That takes two more products with Y, so rough upper limits of them are tried first.

    Attributes
    ----------
    noise : pair of float
        The errors in ∇ₓ and ∇ᵧ.
    size_x : float
        |√h X|, in the Frobenius norm.
    y_terms : array
        |y| + |dy| of every coefficient.
    y_sizes : array or None
        √Σ h_i Y_ij² of every coefficient of y; None if y has one penalty above 0.
    is_rough : bool
        Whether errors in y are upper limits, from the largest h_i and residual, that could be computed more exactly.
    """

    def __init__(self, evaluation: LinearEvaluation, after: LinearYStepModel, *, rough: bool):
        x_block, y_block = evaluation.model.x_block, evaluation.model.y_block
        h, self._x = evaluation.margin_hessian.diagonal, evaluation.x
        self._x_block, self._y_block, self._residual = x_block, y_block, after.residual
        self._eps = array_eps(evaluation.x)
        self.y_terms = abs(evaluation.y) + abs(after.dy)
        one_alpha_y = y_block.penalty.is_one_number and y_block.penalty.covers_all
        self.is_rough = rough and not one_alpha_y
        self.y_sizes = None
        if self.is_rough:
            self.y_sizes = math.sqrt(largest(h)) * y_block.column_norms()
        elif not one_alpha_y:
            self.y_sizes = y_block.squares(h) ** 0.5
        rows = x_block.row_norms_squared(), y_block.row_norms_squared()
        self.size_x, size_y = (math.sqrt(reduce_rows(_inner_of_rows, h, squares)) for squares in rows)
        # Margins have errors of eps·(|X_i||x| + |Y_i||y| + |offset_i|), and residuals have the curvature times that.
        in_x, in_y = self.size_x * norm(self._x), size_y * norm(self.y_terms)
        if not x_block.penalty.is_one_number:
            self._size_over_penalty = math.sqrt(reduce_rows(_inner_of_rows, h, x_block.row_norms_over_penalty()))
            in_x = min(in_x, self._size_over_penalty * math.sqrt(x_block.penalty.product(self._x, self._x)))
        if not rough:  # a column that is far larger than the others usually has a small coefficient
            root = math.sqrt(largest(h))
            in_x = min(in_x, root * dot(x_block.column_norms(), abs(self._x)))
            in_y = min(in_y, root * dot(y_block.column_norms(), self.y_terms))
        if self.y_sizes is not None:
            in_y = dot(self.y_sizes, self.y_terms)
        offset, concordance = evaluation.model.offset, evaluation.model.loss.self_concordance
        in_offset = 0.0 if offset is None else math.sqrt(weighted_square(h, offset))
        # Slopes may be differences of exponentials, such as exp(m) - t, and their curvature changes over 1/M. Then they
        # have errors of eps times the curvature over M, however small they and the margins are.
        in_slopes = math.sqrt(total(h)) / concordance if 0.0 < concordance < math.inf else 0.0
        self._margin_error = in_x + in_y + in_offset + in_slopes
        penalties = norm(x_block.penalty.alpha * self._x), norm(y_block.penalty.alpha * self.y_terms)
        noise_x, noise_y = (
            rounding_error(self._eps, self._residual_size(squares) + penalty + size * self._margin_error)
            for squares, size, penalty in zip(rows, (self.size_x, size_y), penalties, strict=True)
        )
        self.noise = noise_x, noise_y

    def _residual_size(self, row_squares: Array) -> float:
        """√Σ_i r_i² |row i|²."""
        return math.sqrt(reduce_rows(_inner_of_squares, self._residual, row_squares))

    def noise_by_y_column(self, y_sizes: Array) -> Array:
        """The errors in every entry of ∇ᵧ."""
        if self.is_rough:
            of_residual = largest(self._residual) * self._y_block.column_norms()
        else:
            of_residual = self._y_block.squares(self._residual * self._residual) ** 0.5  # of the terms summed in Yᵀr
        terms = of_residual + self._margin_error * y_sizes
        return rounding_error(self._eps, terms + self._y_block.penalty.alpha * self.y_terms)

    def in_x_over_penalty(self) -> tuple[float, float]:
        """The error in ∇ₓ in the norm of A⁻¹, and |√h X| in that norm."""
        penalty = self._x_block.penalty
        if penalty.is_one_number:
            root = math.sqrt(penalty.least)
            return self.noise[0] / root, self.size_x / root
        size = self._size_over_penalty
        terms = self._residual_size(self._x_block.row_norms_over_penalty())
        in_penalty = math.sqrt(penalty.product(self._x, self._x))
        return rounding_error(self._eps, terms + in_penalty + size * self._margin_error), size


def prefetch_sums(evaluation: LinearEvaluation, image: Array, residual: Array) -> None:
    """Get what ∇ₓ, :class:`Rounding` and the dual point need in one exchange, if rows are elsewhere.

    ``image`` and ``residual`` are as in LinearYStepModel.
    """
    m, h, loss = evaluation.model, evaluation.margin_hessian, evaluation.model.loss
    if not (isinstance(loss, RowLoss) and isinstance(h, RowHessian)):
        return
    blocks = m.x_block, m.y_block
    row_norms = [block.design.row_norms_squared for block in blocks]
    if not m.x_block.penalty.is_one_number:
        row_norms.append(m.x_block.row_norms_over_penalty())
    wanted = [
        *(request(block.design.for_rows, "adjoint", residual) for block in blocks),
        *(Reduction(_inner_of_rows, (h.diagonal, rows)) for rows in row_norms),
        *(Reduction(_inner_of_squares, (residual, rows)) for rows in row_norms),
        Reduction(inner, (evaluation.residual, evaluation.loss_slope)),
        Reduction(largest, (h.diagonal,), "max"),
        Reduction(total, (h.diagonal,)),
        Reduction(largest, (residual,), "max"),
        request(loss.for_rows, "mean", evaluation.margins, m.target, evaluation.shared, m.weights),
    ]
    if m.offset is not None:
        wanted.append(Reduction(weighted_square, (h.diagonal, m.offset)))
    dual_point = loss.request_dual_point(image, evaluation.margins, m.target, h)
    if dual_point is not None:
        wanted.append(dual_point)
    prefetch(*wanted)


def _inner_of_rows(weights: Array, rows: Array) -> float:
    """Σ_i weights_i·rows_i, for one weight per margin and one number per row."""
    return dot(weights, rows) if weights.ndim == 1 else float(namespace_of(weights).sum(rows @ weights))


def _inner_of_squares(roots: Array, rows: Array) -> float:
    """The same with the squares of ``roots`` as weights."""
    return _inner_of_rows(roots * roots, rows)
