"""Preconditioners for Newton's systems of a linear model: a diagonal, and a sample of the data where that is poor.

The system is S·dx = -∇F, S = H_xx - H_xy H_yy⁻¹ H_yx, with H_xx = XᵀhX + diag(alpha_x) and h the second derivative of
the weighted mean loss.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, array_eps, namespace_of, replace_zeros, to_like, to_numpy
from minmin.core.preconditioner import Preconditioner
from minmin.problems.linear.sampling import (
    MOST_STEPS,
    ROWS_PER_COEFFICIENT,
    price_of_sample,
    root_without_y,
    sample_gram,
)

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
_HEAVY, _LEAST_SHARE = 64, 0.4
"""If a sample has not all columns, the ``_HEAVY`` heaviest must have this share of the trace of XᵀhX: 0.48 on Criteo,
where the sample saves half of the passes, and 0.13 on text, where it saves none."""


class LinearPreconditioner(Preconditioner):
    """A diagonal M; :meth:`refine` samples the data."""

    def __init__(self, evaluation: LinearEvaluation):
        block = evaluation.model.x_block
        self._evaluation = evaluation
        self._squares = block.hessian_squares(evaluation.margin_hessian)
        self._exact = replace_zeros(self._squares + block.penalty.alpha)
        super().__init__(weaken(self._exact, block.penalty.alpha))

    @cached_property
    def price(self) -> float:  # type: ignore[override]
        return price_of_sample(self._evaluation.model, self._columns)

    @cached_property
    def _columns(self) -> int:
        """The number of columns of X in a sample."""
        block = self._evaluation.model.x_block
        columns = min(block.design.shape[1], _MOST_COLUMNS // block.outputs)
        while (
            columns * block.outputs > _FEWEST_COLUMNS and price_of_sample(self._evaluation.model, columns) > MOST_STEPS
        ):
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
        matrix = sample_gram(m, h, ROWS_PER_COEFFICIENT * (len(columns) * outputs + m.d_y), columns)
        if matrix is None:
            return None
        places = (columns[:, None] * outputs + np.arange(outputs)).reshape(-1)
        squares = np.concatenate([to_numpy(m.y_block.hessian_squares(h)), to_numpy(self._squares)[places]])
        alpha = np.concatenate([m.y_block.penalty.to_numpy(m.d_y), m.x_block.penalty.to_numpy(m.d_x)[places]])
        np.fill_diagonal(matrix, np.maximum(np.diagonal(matrix), squares) + alpha)
        root = root_without_y(matrix, m.d_y, array_eps(self.diagonal))
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


def weaken(diagonal: Array, alpha: float | Array) -> Array:
    """A diagonal times (alpha/diagonal)^``_POWER``."""
    ratio = alpha / diagonal
    return replace_zeros(diagonal * namespace_of(ratio).clip(ratio, _LEAST_RATIO, 1.0) ** _POWER)  # it may underflow


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
