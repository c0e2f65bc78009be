"""Samples of the rows of a linear model, from which preconditioners are computed, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from minmin.core.arrays import namespace_of, to_numpy
from minmin.core.bound import rounding_error
from minmin.core.rows import Reduction, reduce_rows
from minmin.problems.linear.designs import DenseDesign, Design
from minmin.problems.linear.losses.base import MarginHessian
from minmin.problems.linear.rows.group import PerGroup
from minmin.problems.linear.rows.parts import RowDesign
from minmin.problems.linear.rows.session import RowSession

if TYPE_CHECKING:
    from minmin.problems.linear.model import LinearModel

_Vector = np.ndarray[Any, Any]

ROWS_PER_COEFFICIENT = 16
"""The number of rows in a sample for every coefficient. Measured: docs/benchmarks/tuning.md."""
MOST_STEPS = 12.0
"""A sample may cost this many steps of conjugate gradients. Measured: docs/benchmarks/tuning.md."""
_PRODUCTS_PER_NUMBER, _DENSE_DISCOUNT = 15.0, 0.25
"""A product with a sparse matrix takes as long per stored number as this many multiplications in a Gram matrix; one
with a dense matrix takes a quarter of that. Measured: docs/benchmarks/tuning.md."""
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
    parts = h.for_rows, y_block.design.for_rows, x_block.design.for_rows, columns
    matrix: _Vector | None
    if count >= x_block.design.shape[0]:
        matrix = reduce_rows(_gram_of_all, *parts)
    elif isinstance(x_block.design, RowDesign):
        matrix = _draw_elsewhere(x_block.design.rows_session, parts, count)
    else:
        matrix = _draw_here(_Parts(*parts), count)
    if matrix is None or not np.trace(matrix) > 0.0:
        return None
    y_block.count_product()
    x_block.count_product()
    return matrix


class _Parts(NamedTuple):
    """What the Hessian of some rows is made of: the second derivative of the loss, and the columns of Y and X."""

    h: MarginHessian
    y_design: Design
    x_design: Design
    columns: _Vector | None

    def sum_curvature(self) -> _Vector:
        """The second derivative of every row; summed over its margins if it has several."""
        weights = to_numpy(self.h.diagonal).astype(np.float64)
        return np.asarray(weights.sum(axis=1) if weights.ndim > 1 else weights)

    def gram(self, rows: _Vector, factors: _Vector | None = None) -> _Vector | None:
        """The Hessian of some rows, times one factor each."""
        h = self.h if factors is None else self.h.of_rows(rows, factors)
        if h is None:
            return None
        in_y, in_x = self.y_design.sample(rows), self.x_design.sample(rows, self.columns)
        joint = DenseDesign(namespace_of(in_x).concat([in_y, in_x], axis=1))
        return to_numpy(h.gram(joint)).astype(np.float64)


def _draw_here(parts: _Parts, count: int) -> _Vector | None:
    weights = parts.sum_curvature()
    running = np.cumsum(weights)
    if not 0.0 < running[-1] < np.inf:
        return None
    rows = np.searchsorted(running, _spread(count, running[-1]))
    return parts.gram(rows, (running[-1] / count) / weights[rows])


def _draw_elsewhere(session: RowSession, parts: tuple[Any, ...], count: int) -> _Vector | None:
    """The same rows, drawn where they are: only running sums and one small matrix travel."""
    per_group = session.fetch(Reduction(_sum_by_partition, (session.partition_sizes, *parts), "list"))
    sums = np.empty(len(session.order))
    sums[session.order] = np.concatenate(per_group)
    ends = np.cumsum(sums)
    if not 0.0 < ends[-1] < np.inf:
        return None
    places = _spread(count, ends[-1])
    owners = np.searchsorted(ends, places)
    of_partition = iter([places[owners == number] - (ends[number] - sums[number]) for number in session.order])
    local_places = PerGroup([[next(of_partition) for _ in sizes] for sizes in session.sizes])
    args = session.partition_sizes, local_places, ends[-1] / count, *parts
    matrices = session.fetch(Reduction(_gram_at, args, "list"))
    return None if matrices[0] is None else np.asarray(sum(matrices))


def _spread(count: int, total: float) -> _Vector:
    """Places at equal distances between zero and the total."""
    return (np.arange(count) + 0.5) / count * total


def _sum_by_partition(sizes: list[int], *parts: Any) -> _Vector:
    weights = _Parts(*parts).sum_curvature()
    return np.array([part.sum() for part in np.split(weights, np.cumsum(sizes)[:-1])])


def _gram_at(sizes: list[int], places: list[_Vector], step: float, *parts: Any) -> _Vector | None:
    """The Hessian of the rows at these places in the running sum of every partition."""
    weights, start, drawn = _Parts(*parts).sum_curvature(), 0, []
    for size, of_partition in zip(sizes, places, strict=True):
        running = np.cumsum(weights[start : start + size])
        # The last place may lie behind the end, by rounding.
        drawn.append(start + np.minimum(np.searchsorted(running, of_partition), size - 1))
        start += size
    rows = np.concatenate(drawn)
    return _Parts(*parts).gram(rows, step / weights[rows])


def _gram_of_all(*parts: Any) -> _Vector | None:
    whole = _Parts(*parts)
    return whole.gram(np.arange(whole.x_design.shape[0]))


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
