"""Which sums over rows are needed together, so that they take one exchange with rows that are elsewhere.

All functions do nothing if the rows are here: then sums are computed when they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minmin.core.arrays import Array, inner, largest, total, weighted_square
from minmin.core.rows import Reduction, RowValue, prefetch
from minmin.problems.linear.penalized_design import PenalizedDesign, inner_of_rows, inner_of_squares
from minmin.problems.linear.rows.design import RowDesign
from minmin.problems.linear.rows.loss import RowHessian, RowLoss

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation


def prepare_slope(evaluation: LinearEvaluation, image: Array) -> None:
    """What :meth:`LinearEvaluation.slope` needs."""
    if isinstance(evaluation.model.loss, RowLoss):
        residual = evaluation.residual
        prefetch(_adjoint(evaluation.model.y_block, residual), Reduction(inner, (residual, image)))


def prepare_y_system(evaluation: LinearEvaluation) -> None:
    """What a Newton step in y needs."""
    y_block, h = evaluation.model.y_block, evaluation.margin_hessian
    if isinstance(h, RowHessian) and not y_block.is_zero:
        prefetch(_adjoint(y_block, evaluation.residual), h.value.request("gram", _rows_of(y_block)))


def prepare_bound(evaluation: LinearEvaluation, image: Array, residual: Array) -> None:
    """What ∇ₓ and the bound after a step in y need; ``image`` and ``residual`` as in LinearYStepModel."""
    m, h, loss = evaluation.model, evaluation.margin_hessian, evaluation.model.loss
    if not (isinstance(loss, RowLoss) and isinstance(h, RowHessian)):
        return
    blocks = m.x_block, m.y_block
    row_norms = [block.design.row_norms_squared for block in blocks]
    if not m.x_block.penalty.is_one_number:
        row_norms.append(m.x_block.row_norms_over_penalty())
    wanted = [
        *(_adjoint(block, residual) for block in blocks),
        *(Reduction(inner_of_rows, (h.diagonal, rows)) for rows in row_norms),
        *(Reduction(inner_of_squares, (residual, rows)) for rows in row_norms),
        Reduction(inner, (evaluation.residual, evaluation.loss_slope)),
        Reduction(largest, (h.diagonal,), "max"),
        Reduction(total, (h.diagonal,)),
        Reduction(largest, (residual,), "max"),
        loss.for_rows.request("mean", evaluation.margins, m.target, evaluation.shared, m.weights),
    ]
    if m.offset is not None:
        wanted.append(Reduction(weighted_square, (h.diagonal, m.offset)))
    dual_point = loss.request_dual_point(image, evaluation.margins, m.target, h)
    if dual_point is not None:
        wanted.append(dual_point)
    prefetch(*wanted)


def _adjoint(block: PenalizedDesign, residual: Array) -> Reduction:
    return _rows_of(block).request("adjoint", residual)


def _rows_of(block: PenalizedDesign) -> RowValue:
    assert isinstance(block.design, RowDesign)
    return block.design.value
