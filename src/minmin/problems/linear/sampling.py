"""Samples of the rows of a linear model, from which preconditioners are computed, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack

from minmin.core.arrays import namespace_of, to_numpy
from minmin.core.rounding import rounding_error
from minmin.problems.linear.designs import DenseDesign
from minmin.problems.linear.margin_hessian import MarginHessian

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


def draw_rows(h: MarginHessian, count: int) -> tuple[_Vector, MarginHessian] | None:
    """Numbers of rows, some of them repeated, and h of those rows, scaled so that its expected sum is that of h.

    Rows are drawn at equal distances in the running sum of their second derivatives, so the choice depends on nothing
    but h. All rows are taken if there are no more than ``count``.
    """
    weights = to_numpy(h.diagonal).astype(np.float64)
    if weights.ndim > 1:
        weights = weights.sum(axis=1)
    running = np.cumsum(weights)
    total = running[-1]
    if not 0.0 < total < np.inf:
        return None
    if count >= len(weights):
        return np.arange(len(weights)), h
    rows = np.searchsorted(running, (np.arange(count) + 0.5) / count * total)
    of_rows = h.of_rows(rows, (total / count) / weights[rows])
    return None if of_rows is None else (rows, of_rows)


def sample_gram(model: LinearModel, rows: _Vector, of_rows: MarginHessian, columns: _Vector | None = None) -> _Vector:
    """The Hessian of some rows, without penalties: first the coefficients of y, then those of some columns of X."""
    in_y, in_x = model.y_block.sample(rows), model.x_block.sample(rows, columns)
    joint = DenseDesign(namespace_of(in_x).concat([in_y, in_x], axis=1))
    return to_numpy(of_rows.gram(joint)).astype(np.float64)


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
