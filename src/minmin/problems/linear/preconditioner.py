"""Preconditioners for Newton's systems of a linear model: a diagonal, and a sample of the data where that is poor.

The system is S·dx = -∇F, S = H_xx - H_xy H_yy⁻¹ H_yx, with H_xx = XᵀhX + diag(alpha_x) and h the second derivative of
the weighted mean loss.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import device
from scipy.linalg import lapack

from minmin.core.arrays import Array, namespace_of, replace_zeros, to_like, to_numpy
from minmin.core.preconditioner import Preconditioner
from minmin.problems.linear.designs import DenseDesign
from minmin.problems.linear.margin_hessian import MarginHessian

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation

_Vector = np.ndarray[Any, Any]

_POWER, _LEAST_RATIO = 0.2, 1e-5
"""M is the diagonal of H_xx times (alpha/diagonal)^``_POWER``, where the ratio counts as at least ``_LEAST_RATIO``. The
whole diagonal mistakes columns that go together for many steep directions. To a relative gap of 1e-9, eight logistic
regressions on wide data take 60 passes (geometric mean) with a power of 0.1, 56 with 0.2 and 57 with 0.3; the 16 of
which they are a part take 87 with 0. The limit makes columns in extreme units at most 10 times too light."""
_MOST_COLUMNS, _FEWEST_COLUMNS = 256, 64
"""A sample has at most this many coefficients of x: those of all columns, or of the heaviest ones. If it is expensive
it has fewer."""
_ROWS_PER_COLUMN = 16
"""With 8 and 16 rows per column, a9a takes 131 and 107 passes, and data with 10⁵ rows, whose columns are nearly
independent, 75 and 63 (as without a sample)."""
_MOST_STEPS = 12.0
"""The size of a sample is halved while it costs more than this many steps of conjugate gradients. With 6, 12 and 20,
7200 rows of Criteo take 168, 154 and 154 passes."""
_HEAVY, _LEAST_SHARE = 64, 0.4
"""If a sample has not all columns, the ``_HEAVY`` heaviest must have this share of the trace of XᵀhX: 0.48 on Criteo,
where the sample saves half of the passes, and 0.13 on text, where it saves none."""
_PRODUCTS_PER_NUMBER, _DENSE_DISCOUNT = 15.0, 0.25
"""A product with a sparse matrix takes as long per stored number as this many multiplications in a Gram matrix, 0.9 ns
and 0.06 ns; one with a dense matrix takes a quarter of that."""
_FIXED_COST, _STEP_COST = 3e5, 2e4
"""What a sample and a step of conjugate gradients cost on the smallest data, in stored numbers of a sparse matrix."""
_RIDGE = 1e-8
"""Added to the unit diagonal of the sampled matrix, so that it can be factorised if it is singular."""


class LinearPreconditioner(Preconditioner):
    """A diagonal M; :meth:`refine` samples the data."""

    def __init__(self, evaluation: LinearEvaluation):
        block = evaluation.model.x_block
        self._evaluation = evaluation
        self._squares = block.hessian_squares(evaluation.margin_hessian)
        self._exact = replace_zeros(self._squares + block.penalty.alpha)
        ratio = block.penalty.alpha / self._exact
        weakened = self._exact * namespace_of(ratio).clip(ratio, _LEAST_RATIO, 1.0) ** _POWER
        super().__init__(replace_zeros(weakened))  # it may underflow

    @cached_property
    def price(self) -> float:  # type: ignore[override]
        return _price_in_steps(self._evaluation, self._columns)

    @cached_property
    def _columns(self) -> int:
        """The number of columns of X in a sample."""
        block = self._evaluation.model.x_block
        columns = min(block.design.shape[1], _MOST_COLUMNS // block.outputs)
        while columns * block.outputs > _FEWEST_COLUMNS and _price_in_steps(self._evaluation, columns) > _MOST_STEPS:
            columns //= 2
        return columns

    def refine(self) -> SampledPreconditioner | None:
        """A dense block for the heaviest columns, in which y is eliminated as in S; the exact diagonal for the others.

        The block is computed from rows that are drawn in proportion to their second derivatives. Its diagonal is raised
        to the exact one, since a sample may miss the few rows of a rare column.
        """
        columns = self._choose_heaviest()
        if columns is None:
            return None
        m, h, outputs = self._evaluation.model, self._evaluation.margin_hessian, self._evaluation.model.x_block.outputs
        drawn = _draw_rows(h, _ROWS_PER_COLUMN * (len(columns) * outputs + m.d_y))
        if drawn is None:
            return None
        rows, of_rows = drawn
        xp = namespace_of(self.diagonal)
        joint = DenseDesign(xp.concat([m.y_block.sample(rows), m.x_block.sample(rows, columns)], axis=1))
        places = (columns[:, None] * outputs + np.arange(outputs)).reshape(-1)
        squares = np.concatenate([to_numpy(m.y_block.hessian_squares(h)), to_numpy(self._squares)[places]])
        alpha = np.concatenate([m.y_block.penalty.to_numpy(m.d_y), m.x_block.penalty.to_numpy(m.d_x)[places]])
        root = _eliminated_root(to_numpy(of_rows.gram(joint)), squares, alpha, m.d_y)
        return None if root is None else SampledPreconditioner(self._exact, to_like(root, self._exact), places)

    def _choose_heaviest(self) -> _Vector | None:
        """The numbers of the heaviest columns in ascending order; None if even those are light."""
        by_column = to_numpy(self._squares).reshape(-1, self._evaluation.model.x_block.outputs).sum(axis=1)
        count = self._columns
        if count == 0:
            return None
        if count == len(by_column):
            return np.arange(count)
        columns = np.sort(np.argpartition(by_column, -count)[-count:])
        heavy = np.sort(by_column[columns])[-_HEAVY:].sum()
        return columns if heavy >= _LEAST_SHARE * by_column.sum() else None


class SampledPreconditioner(Preconditioner):
    """A dense matrix for some coefficients, and a diagonal for the others.

    Parameters
    ----------
    diagonal : array
    root : array
        K with KᵀK the inverse of the dense matrix.
    places : array
        The numbers of its coefficients, in ascending order.
    """

    def __init__(self, diagonal: Array, root: Array, places: _Vector):
        super().__init__(diagonal)
        self._root = root
        size = diagonal.shape[0]
        self._has_all = len(places) == size
        order = len(places) + np.arange(size)
        order[places] = np.arange(len(places))
        xp, where = namespace_of(diagonal), device(diagonal)
        self._places, self._order = xp.asarray(places, device=where), xp.asarray(order, device=where)

    def solve(self, r: Array) -> Array:
        if self._has_all:
            return self._root.T @ (self._root @ r)
        xp = namespace_of(r)
        dense = self._root.T @ (self._root @ xp.take(r, self._places, axis=0))
        return xp.take(xp.concat([dense, r / self.diagonal]), self._order, axis=0)


def _price_in_steps(evaluation: LinearEvaluation, columns: int) -> float:
    """How many steps of conjugate gradients cost as much as a sample of this many columns."""
    m = evaluation.model
    size = columns * m.x_block.outputs + m.d_y
    rows = min(_ROWS_PER_COLUMN * size, m.x_block.design.shape[0])
    sample = _FIXED_COST + (rows + size) * size**2 / _PRODUCTS_PER_NUMBER
    numbers = sum(
        block.design.stored * (_DENSE_DISCOUNT if block.design.is_dense else 1.0) for block in (m.x_block, m.y_block)
    )
    return sample / (_STEP_COST + 2.0 * m.x_block.outputs * numbers)


def _draw_rows(h: MarginHessian, count: int) -> tuple[_Vector, MarginHessian] | None:
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


def _eliminated_root(gram: _Vector, squares: _Vector, alpha: _Vector, d_y: int) -> _Vector | None:
    """K with KᵀK the inverse of the Schur complement of y, whose coefficients come first; None if there is no such K.

    The diagonal of ``gram`` is raised to ``squares``, and ``alpha`` is added to it.
    """
    diagonal = np.maximum(np.diagonal(gram), squares) + alpha
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = gram * scale * scale[:, None]
    np.fill_diagonal(scaled, 1.0 + _RIDGE)
    if not np.isfinite(scaled).all():
        return None
    # The last rows of the Cholesky factor are the factor of the Schur complement.
    factor, failed = lapack.dpotrf(scaled, lower=1, clean=1)
    if failed:
        return None
    root, _ = lapack.dtrtri(factor[d_y:, d_y:], lower=1)
    return np.asarray(root * scale[d_y:])
