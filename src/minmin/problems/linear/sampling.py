"""Samples of the rows of a linear model, from which preconditioners are computed, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack

from minmin.core.rounding import rounding_error
from minmin.problems.linear.designs import Design
from minmin.problems.linear.margin_hessian import MarginHessian
from minmin.problems.linear.rows.loss import RowHessian
from minmin.problems.linear.rows.sampling import joint_gram, sample_elsewhere, sum_curvature

if TYPE_CHECKING:
    from minmin.problems.linear.model import LinearModel

_Vector = np.ndarray[Any, Any]

ROWS_PER_COEFFICIENT = 16
"""With 8 and 16 rows per coefficient, a9a takes 131 and 107 passes, and data with 10⁵ rows, whose columns are nearly
independent, 75 and 63 (as without a sample)."""
MOST_STEPS = 12.0
"""A sample may cost this many steps of conjugate gradients. With 6, 12 and 20, 7200 rows of Criteo take 168, 154 and
154 passes."""
_PRODUCTS_PER_NUMBER, _DENSE_DISCOUNT = 15.0, 0.25
"""A product with a sparse matrix takes as long per stored number as this many multiplications in a Gram matrix, 0.9 ns
and 0.06 ns; one with a dense matrix takes a quarter of that."""
_FIXED_COST, _STEP_COST = 3e5, 2e4
"""What a sample and a step of conjugate gradients cost on the smallest data, in stored numbers of a sparse matrix."""
_COST_PER_MARGIN = 3.0
"""What a step of conjugate gradients takes for every margin of a loss with several outputs, in the same unit."""

_RIDGE = 1e-8
"""Added to the unit diagonal of a sampled matrix, so that it can be factorised if it is singular."""


def price_in_steps(model: LinearModel, multiplications: float) -> float:
    """How many steps of conjugate gradients take as long as a sample with this many multiplications."""
    outputs = model.x_block.outputs
    numbers = 2.0 * sum(
        block.design.stored * (_DENSE_DISCOUNT if block.design.is_dense else 1.0)
        for block in (model.x_block, model.y_block)
    )
    if outputs > 1:
        numbers += _COST_PER_MARGIN * model.x_block.design.shape[0]
    return (_FIXED_COST + multiplications / _PRODUCTS_PER_NUMBER) / (_STEP_COST + outputs * numbers)


def price_of_sample(model: LinearModel, columns: int, rows_per_coefficient: int = ROWS_PER_COEFFICIENT) -> float:
    """The price of a sample with this many columns of X, factorised."""
    size = columns * model.x_block.outputs + model.d_y
    rows = min(rows_per_coefficient * size, model.x_block.design.shape[0])
    return price_in_steps(model, (rows + size) * size**2)


def sample_gram(model: LinearModel, h: MarginHessian, count: int, columns: _Vector | None = None) -> _Vector | None:
    """The Hessian of ``count`` rows, without penalties, scaled so that its expected value is that of all rows.

    First come the coefficients of y, then those of some columns of X, by default of all. Rows are drawn at equal
    distances in the running sum of their second derivatives, so the choice depends on nothing but h; some may be drawn
    several times. All rows are taken if there are no more than ``count``. None if h is zero, or not known row by row.
    """
    y_block, x_block = model.y_block, model.x_block
    if isinstance(h, RowHessian):
        matrix = sample_elsewhere(h, y_block.design, x_block.design, count, columns)
    else:
        matrix = _sample_here(h, y_block.design, x_block.design, count, columns)
    if matrix is not None:
        y_block.count_product()
        x_block.count_product()
    return matrix


def _sample_here(
    h: MarginHessian, y_design: Design, x_design: Design, count: int, columns: _Vector | None
) -> _Vector | None:
    weights = sum_curvature(h)
    running = np.cumsum(weights)
    if not 0.0 < running[-1] < np.inf:
        return None
    if count >= len(weights):
        return joint_gram(h, y_design, x_design, np.arange(len(weights)), columns)
    places = (np.arange(count) + 0.5) / count * running[-1]
    rows = np.searchsorted(running, places)
    of_rows = h.of_rows(rows, (running[-1] / count) / weights[rows])
    return None if of_rows is None else joint_gram(of_rows, y_design, x_design, rows, columns)


def factorize_without_y(matrix: _Vector, size_y: int, eps: float) -> tuple[_Vector, _Vector] | None:
    """L and s with LLᵀ = diag(s) S diag(s), S the Schur complement of y, whose coefficients come first.

    None if the matrix is not finite or not positive definite. It is scaled to a unit diagonal first; ``eps`` is the
    precision of its entries.
    """
    diagonal = np.diagonal(matrix)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = matrix * scale * scale[:, None]
    np.fill_diagonal(scaled, 1.0 + max(_RIDGE, rounding_error(eps, len(scale))))
    if not np.isfinite(scaled).all():
        return None
    # The last rows of the Cholesky factor are the factor of the Schur complement.
    factor, failed = lapack.dpotrf(scaled, lower=1, clean=1)
    return None if failed else (factor[size_y:, size_y:], scale[size_y:])


def root_without_y(matrix: _Vector, size_y: int, eps: float) -> _Vector | None:
    """K with KᵀK the inverse of that Schur complement; None if there is no such K."""
    factors = factorize_without_y(matrix, size_y, eps)
    if factors is None:
        return None
    root, _ = lapack.dtrtri(factors[0], lower=1)
    return np.asarray(root * factors[1])
