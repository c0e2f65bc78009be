"""Preconditioners for Newton's systems of a linear model with K > 1 outputs, which couple the outputs.

The second derivative with respect to x is Σ_i x_i x_iᵀ ⊗ h_i + diag(alpha), where x_i is a row of X and h_i the second
derivative of that sample's loss, a K × K matrix. A diagonal ignores that the h_i couple the outputs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.core.arrays import Array, array_eps, namespace_of, reshape, to_like, to_numpy
from minmin.core.preconditioner import Preconditioner
from minmin.core.rounding import rounding_error
from minmin.problems.linear.margin_hessian import DiagonalHessian
from minmin.problems.linear.preconditioner import SampledPreconditioner, weaken
from minmin.problems.linear.sampling import (
    MOST_STEPS,
    ROWS_PER_COEFFICIENT,
    draw_rows,
    factorize_without_y,
    price_in_steps,
    price_of_sample,
    root_without_y,
    sample_gram,
)

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation

_Vector = np.ndarray[Any, Any]

_EIGH_COST = 10.0
"""The eigenvectors of a matrix with d columns take this times d³ multiplications."""


class KroneckerPreconditioner(Preconditioner):
    """A matrix with the eigenvectors b ⊗ v, for every b in a basis of the columns and every v in one of the outputs.

    Parameters
    ----------
    diagonal : array of shape (d, K)
        The eigenvalues.
    outputs : array of shape (K, K)
        The orthogonal basis of the outputs, one vector in each column.
    columns : array of shape (d, d), optional
        Likewise for the columns of X, but they need not be orthogonal: with B this array and V ``outputs``, the inverse
        maps a table R to B(BᵀRV / eigenvalues)Vᵀ. By default the identity.
    """

    def __init__(self, diagonal: Array, outputs: Array, columns: Array | None = None):
        super().__init__(diagonal)
        self._outputs, self._columns = outputs, columns

    def solve(self, r: Array) -> Array:
        table = reshape(r, self.diagonal.shape)
        if self._columns is not None:
            table = self._columns.T @ table
        table = super().solve(table @ self._outputs) @ self._outputs.T
        return reshape(table if self._columns is None else self._columns @ table, (-1,))


class CoupledPreconditioner(KroneckerPreconditioner):
    """The columns of X as if they were orthogonal, each with the mean of all h_i.

    :meth:`refine` takes into account that they are not: with the h_i of a sample of the rows if that is cheap, otherwise
    with the mean of all h_i.

    Parameters
    ----------
    evaluation : LinearEvaluation
        Every column of X is penalised.
    coupling : array of shape (K, K)
        The sum of all h_i.
    """

    def __init__(self, evaluation: LinearEvaluation, coupling: _Vector):
        self._model, self._hessian = evaluation.model, evaluation.margin_hessian
        block, h = self._model.x_block, self._hessian.diagonal
        self._of_traces = DiagonalHessian(namespace_of(h).sum(h, axis=1))
        self._squares = block.column_squares(self._of_traces.diagonal)
        self._mean = coupling / np.trace(coupling)
        eigenvalues, vectors = np.linalg.eigh(self._mean)
        # That of the vector of ones is zero, but for rounding errors.
        self._eigenvalues = to_like(np.maximum(eigenvalues, rounding_error(array_eps(h), 1.0)), h)
        alpha = block.penalty.alpha if block.penalty.is_one_number else block.column_penalty()[:, None]
        diagonal = self._squares[:, None] * self._eigenvalues + alpha
        super().__init__(weaken(diagonal, alpha), to_like(vectors, h))

    @cached_property
    def price(self) -> float:  # type: ignore[override]
        return min(self._price_of_sample, self._price_of_mean) if self._price_of_sample > MOST_STEPS else self._price_of_sample

    @cached_property
    def _price_of_sample(self) -> float:
        return price_of_sample(self._model, self._model.x_block.design.shape[1], RS)

    @cached_property
    def _price_of_mean(self) -> float:
        size = self._size
        rows = min(self._rows_for_mean, self._model.x_block.design.shape[0])
        return price_in_steps(self._model, rows * size**2 + _EIGH_COST * size**3)

    @property
    def _size(self) -> int:
        return sum(block.design.shape[1] for block in (self._model.x_block, self._model.y_block))

    @property
    def _rows_for_mean(self) -> int:
        return ROWS_PER_COEFFICIENT * self._size * RM

    def refine(self) -> Preconditioner | None:
        if self._price_of_sample <= MOST_STEPS:
            return self._sample_rows()
        return self._use_mean()

    def _sample_rows(self) -> SampledPreconditioner | None:
        """The matrix of a sample of the rows, in which y is eliminated as in S.

        The samples' sums of squares of every column are raised to the exact ones, since a sample may miss the few rows
        of a rare column.
        """
        m, K = self._model, self._model.x_block.outputs
        drawn = draw_rows(self._hessian, RS * (m.d_x + m.d_y))
        if drawn is None:
            return None
        matrix = sample_gram(m, *drawn)
        columns = np.arange(self._size)
        blocks = matrix.reshape(self._size, K, self._size, K)
        squares = np.trace(blocks[columns, :, columns, :], axis1=1, axis2=2)
        missed = np.maximum(self._exact_squares() - squares, 0.0)
        blocks[columns, :, columns, :] += missed[:, None, None] * self._mean
        matrix += np.diag(np.concatenate([block.penalty.to_numpy(block.size) for block in (m.y_block, m.x_block)]))
        root = root_without_y(matrix, m.d_y, array_eps(self.diagonal))
        if root is None:
            return None
        return SampledPreconditioner(reshape(self.diagonal, (-1,)), to_like(root, self.diagonal), np.arange(m.d_x))

    def _use_mean(self) -> KroneckerPreconditioner | None:
        """The mean of all h_i for every row of X. y is eliminated as if all eigenvalues of that mean were equal."""
        m, K = self._model, self._model.x_block.outputs
        drawn = draw_rows(self._of_traces, self._rows_for_mean)
        if drawn is None:
            return None
        alpha_y, alpha = (block.penalty.to_numpy(block.size)[::K] for block in (m.y_block, m.x_block))
        matrix = sample_gram(m, *drawn)
        np.fill_diagonal(
            matrix, np.maximum(np.diagonal(matrix), self._exact_squares()) + K * np.concatenate([alpha_y, alpha])
        )
        factors = factorize_without_y(matrix, len(alpha_y), array_eps(self.diagonal))
        if factors is None:
            return None
        factor, scale = factors
        units = alpha**-0.5
        in_units = factor * (units / scale)[:, None]
        eigenvalues, vectors = np.linalg.eigh(in_units @ in_units.T)
        sizes, columns = (to_like(v, self.diagonal) for v in (np.maximum(eigenvalues - K, 0.0), units[:, None] * vectors))
        return KroneckerPreconditioner(sizes[:, None] * self._eigenvalues + 1.0, self._outputs, columns)

    def _exact_squares(self) -> _Vector:
        """The sums of squares of all columns, first those of Y, weighted by the traces of the h_i."""
        in_y = self._model.y_block.column_squares(self._of_traces.diagonal)
        return np.concatenate([to_numpy(in_y), to_numpy(self._squares)])


def couple_outputs(evaluation: LinearEvaluation) -> CoupledPreconditioner | None:
    """A preconditioner that couples the outputs; None if they are not coupled, or if some column is not penalised."""
    sum_of_rows = evaluation.margin_hessian.sum_of_rows() if evaluation.model.x_block.penalty.covers_all else None
    if sum_of_rows is None:
        return None
    coupling = to_numpy(sum_of_rows).astype(np.float64)
    is_usable = 0.0 < np.trace(coupling) < np.inf and np.isfinite(coupling).all()
    return CoupledPreconditioner(evaluation, coupling) if is_usable else None
import os
RM=int(os.environ.get("RM","1")); RS=int(os.environ.get("RS","8"))
