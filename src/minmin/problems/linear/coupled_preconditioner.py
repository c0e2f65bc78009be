"""Preconditioners for Newton's systems of a linear model with K > 1 outputs, which couple the outputs.

The second derivative with respect to x is Σ_i x_i x_iᵀ ⊗ h_i + diag(alpha), where x_i is a row of X and h_i the second
derivative of the weighted loss of that sample, a K × K matrix. A diagonal ignores that the h_i couple the outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.core.arrays import Array, array_eps, reshape, sum_rows, to_like, to_numpy
from minmin.core.preconditioner import Preconditioner
from minmin.core.rounding import rounding_error
from minmin.core.rows import map_rows
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.preconditioner import SampledPreconditioner, weaken
from minmin.problems.linear.rows.loss import make_diagonal_hessian
from minmin.problems.linear.sampling import (
    MOST_STEPS,
    ROWS_PER_COEFFICIENT,
    factorize_without_y,
    price_in_steps,
    price_of_sample,
    root_without_y,
    sample_gram,
)

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation

_Vector = np.ndarray[Any, Any]

_ROWS_IN_SAMPLE = 8
"""The rows per coefficient in a sample with K margins per row. With 4, 8 and 16, six fits of pendigits take 432, 305
and 414 steps of conjugate gradients: a larger sample is a better one, but is built later because of its price."""
_EIGH_COST = 10.0
"""The eigenvectors of a matrix with d columns take this times d³ multiplications."""


class KroneckerPreconditioner(Preconditioner):
    """A matrix M with M⁻¹R = B((BᵀRV)/eigenvalues)Vᵀ for tables R, one row per column of X and one column per output.

    Parameters
    ----------
    diagonal : array of shape (d, K)
        The eigenvalues, all positive.
    outputs : array of shape (K, K)
        V, orthogonal.
    columns : array of shape (d, d), optional
        B; by default the identity.
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
    """The mean of all h_i for every row of X, and the columns of X as if they were orthogonal; weakened as a diagonal.

    :meth:`refine` takes the columns as they are: with the h_i of a sample of the rows if that is cheap, otherwise with
    the mean of all h_i.

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
        self._of_traces = make_diagonal_hessian(map_rows(sum_rows, h))
        self._squares = block.column_squares(self._of_traces.diagonal)
        self._mean = coupling / np.trace(coupling)
        eigenvalues, vectors = np.linalg.eigh(self._mean)
        # That of the vector of ones is zero, but for rounding errors.
        self._eigenvalues = to_like(np.maximum(eigenvalues, rounding_error(array_eps(h), 1.0)), self._squares)
        alpha: Any = block.column_penalty()
        alpha = alpha if block.penalty.is_one_number else alpha[:, None]
        diagonal = weaken(self._squares[:, None] * self._eigenvalues + alpha, alpha)
        super().__init__(diagonal, to_like(vectors, diagonal))

    @property
    def price(self) -> float:  # type: ignore[override]
        return self._plan[0]

    def refine(self) -> Preconditioner | None:
        return self._plan[1]()

    @cached_property
    def _plan(self) -> tuple[float, Callable[[], Preconditioner | None]]:
        """The price of a better preconditioner, and how it is built."""
        m, size = self._model, self._size
        of_sample = price_of_sample(m, m.x_block.design.shape[1], _ROWS_IN_SAMPLE)
        if of_sample <= MOST_STEPS:
            return of_sample, self._sample_rows
        rows = min(ROWS_PER_COEFFICIENT * size, m.x_block.design.shape[0])
        of_mean = price_in_steps(m, (rows + _EIGH_COST * size) * size**2)
        if of_mean <= MOST_STEPS and size <= DENSE_UP_TO:
            return of_mean, self._use_mean
        return math.inf, lambda: None

    @property
    def _size(self) -> int:
        """The number of columns of Y and X."""
        return self._model.y_block.design.shape[1] + self._model.x_block.design.shape[1]

    def _sample_rows(self) -> SampledPreconditioner | None:
        """The matrix of a sample of the rows, in which y is eliminated as in S.

        The sum of squares of every column is raised to the exact one, since a sample may miss the few rows of a rare
        column.
        """
        m, K = self._model, self._model.x_block.outputs
        matrix = sample_gram(m, self._hessian, _ROWS_IN_SAMPLE * (m.d_x + m.d_y))
        if matrix is None:
            return None
        blocks, column = matrix.reshape(self._size, K, self._size, K), np.arange(self._size)
        squares = np.trace(blocks[column, :, column, :], axis1=1, axis2=2)
        missed = np.maximum(self._compute_squares() - squares, 0.0)
        blocks[column, :, column, :] += missed[:, None, None] * self._mean
        matrix += np.diag(np.concatenate([block.penalty.to_numpy(block.size) for block in (m.y_block, m.x_block)]))
        root = root_without_y(matrix, m.d_y, array_eps(self.diagonal))
        if root is None:
            return None
        return SampledPreconditioner(reshape(self.diagonal, (-1,)), to_like(root, self.diagonal), np.arange(m.d_x))

    def _use_mean(self) -> KroneckerPreconditioner | None:
        """The mean of all h_i for every row.

        y is eliminated as if K - 1 eigenvalues of that mean were equal, and the last one zero.
        """
        m, K = self._model, self._model.x_block.outputs
        matrix = sample_gram(m, self._of_traces, ROWS_PER_COEFFICIENT * self._size)
        if matrix is None:
            return None
        alpha_y, alpha = (block.penalty.to_numpy(block.size)[::K] for block in (m.y_block, m.x_block))
        squares = np.maximum(np.diagonal(matrix), self._compute_squares())
        np.fill_diagonal(matrix, squares + (K - 1) * np.concatenate([alpha_y, alpha]))
        factors = factorize_without_y(matrix, len(alpha_y), array_eps(self.diagonal))
        if factors is None:
            return None
        units = alpha**-0.5
        root = factors[0] * (units / factors[1])[:, None]
        eigenvalues, vectors = np.linalg.eigh(root @ root.T)
        sizes = to_like(np.maximum(eigenvalues - (K - 1), 0.0), self.diagonal)  # without the penalties
        columns = to_like(units[:, None] * vectors, self.diagonal)
        return KroneckerPreconditioner(sizes[:, None] * self._eigenvalues + 1.0, self._outputs, columns)

    def _compute_squares(self) -> _Vector:
        """The sums of squares of the columns of Y and X, where the traces of the h_i are the weights of the rows."""
        in_y = self._model.y_block.column_squares(self._of_traces.diagonal)
        return np.concatenate([to_numpy(in_y), to_numpy(self._squares)])


def couple_outputs(evaluation: LinearEvaluation) -> CoupledPreconditioner | None:
    """A preconditioner that couples the outputs; None if they are not coupled, or if some column is not penalised."""
    covers_all = evaluation.model.x_block.penalty.covers_all
    sum_of_rows = evaluation.margin_hessian.sum_of_rows() if covers_all else None
    if sum_of_rows is None:
        return None
    coupling = to_numpy(sum_of_rows).astype(np.float64)
    has_curvature = 0.0 < np.trace(coupling) < np.inf and bool(np.isfinite(coupling).all())
    return CoupledPreconditioner(evaluation, coupling) if has_curvature else None
