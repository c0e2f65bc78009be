"""Gradients in y of a few rows of a linear model with one margin per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minmin.core.arrays import Array, to_like, to_numpy
from minmin.problems.linear.designs import select
from minmin.problems.spectrum import Matrix

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation
    from minmin.problems.linear.model import LinearModel


def find_row_smoothness(model: LinearModel) -> Matrix:
    """L_i = w_i·sup ℓ''·|Y_i|² of every row; see :class:`minmin.core.row_sum.RowSum`."""
    norms, weights = to_numpy(model.y_block.row_norms_squared()), to_numpy(model.weights)
    return np.asarray(model.loss.max_curvature * weights.astype(np.float64) * norms.astype(np.float64))


def estimate_change(known: LinearEvaluation, y: Array, rows: Matrix, factors: Matrix) -> Array:
    """What ``factors`` times these rows say of ∇ᵧf(x, y) - ∇ᵧf at ``known``; the penalties are exact.

    Xx and the derivatives at ``known`` are numbers that are kept, so a row costs one row of Y.
    """
    m, loss = known.model, known.model.loss
    m.tally.note("rows_y", len(rows))
    design, target = m.y_block.design.rows(rows), select(m.target, rows)
    margins = select(known.slice.margins, rows) + design.image(y)
    change = loss.slope(margins, target, loss.prepare(margins, target)) - select(known.loss_slope, rows)
    weights = select(m.weights, rows) * to_like(factors, m.weights)
    return design.adjoint(weights * change) + m.y_block.penalty.alpha * (y - known.y)


def explain_no_rows(model: LinearModel) -> str:
    """Why a solver cannot draw rows of this model; empty if it can."""
    if model.loss.outputs > 1:
        return f"the loss {model.loss.name!r} has several margins per row"
    if model.loss.max_curvature == float("inf"):
        return f"the loss {model.loss.name!r} has no bound on its curvature"
    return ""
