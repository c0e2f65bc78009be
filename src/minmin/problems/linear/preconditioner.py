"""Preconditioners for Newton's systems of a linear model: a diagonal, and a sample of the data where that is poor.

The system is S·dx = -∇F, S = H_xx - H_xy H_yy⁻¹ H_yx, with H_xx = XᵀhX + diag(alpha_x) and h the second derivative of
the weighted mean loss. With K > 1 outputs H_xx is Σ_i x_i x_iᵀ ⊗ h_i + diag(alpha_x), where x_i is a row of X and h_i
the second derivative of the weighted loss of that sample, a K × K matrix. A diagonal ignores that the h_i couple the
outputs, so there are preconditioners that do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, array_eps, namespace_of, replace_zeros, reshape, sum_rows, to_like, to_numpy
from minmin.core.bound import rounding_error
from minmin.core.preconditioner import Preconditioner
from minmin.core.rows import map_rows
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.rows.parts import make_diagonal_hessian
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

_POWER, _LEAST_RATIO = 0.2, 1e-5
"""M is the diagonal of H_xx times (alpha/diagonal)^``_POWER``, where the ratio counts as at least ``_LEAST_RATIO``: the
whole diagonal mistakes columns that go together for many steep directions. Measured: docs/benchmarks/tuning.md."""
_MOST_COLUMNS, _FEWEST_COLUMNS = 256, 64
"""A sample has at most this many coefficients of x: those of all columns, or of the heaviest ones. If it is expensive
it has fewer."""
_HEAVY, _LEAST_SHARE = 64, 0.4
"""If a sample has not all columns, the ``_HEAVY`` heaviest must have this share of the trace of XᵀhX.
Measured: docs/benchmarks/tuning.md."""
_ROWS_IF_COUPLED = 8
"""The rows per coefficient in a sample with K margins per row. Measured: docs/benchmarks/tuning.md."""
_EIGH_COST = 10.0
"""The eigenvectors of a matrix with d columns take this times d³ multiplications."""


class LinearPreconditioner(Preconditioner):
    """A diagonal M; :meth:`refine` samples the data."""

    def __init__(self, evaluation: LinearEvaluation):
        block = evaluation.model.x_block
        self._evaluation = evaluation
        self._squares = block.squares(evaluation.margin_hessian.diagonal)
        self._exact = replace_zeros(self._squares + block.penalty.alpha)
        super().__init__(weaken(self._exact, block.penalty.alpha))

    @cached_property
    def price(self) -> float:  # type: ignore[override]
        return price_of_sample(self._evaluation.model, self._columns)

    @cached_property
    def _columns(self) -> int:
        """The number of columns of X in a sample."""
        model, block = self._evaluation.model, self._evaluation.model.x_block
        columns = min(block.design.shape[1], _MOST_COLUMNS // block.outputs)
        while columns * block.outputs > _FEWEST_COLUMNS and price_of_sample(model, columns) > MOST_STEPS:
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
        squares = np.concatenate([to_numpy(m.y_block.squares(h.diagonal)), to_numpy(self._squares)[places]])
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
        self._size = self._model.y_block.design.shape[1] + self._model.x_block.design.shape[1]  # columns of both
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
        of_sample = price_of_sample(m, m.x_block.design.shape[1], _ROWS_IF_COUPLED)
        if of_sample <= MOST_STEPS:
            return of_sample, self._sample_rows
        rows = min(ROWS_PER_COEFFICIENT * size, m.x_block.design.shape[0])
        of_mean = price_in_steps(m, (rows + _EIGH_COST * size) * size**2)
        if of_mean <= MOST_STEPS and size <= DENSE_UP_TO:
            return of_mean, self._use_mean
        return math.inf, lambda: None

    def _sample_rows(self) -> SampledPreconditioner | None:
        """The matrix of a sample of the rows, in which y is eliminated as in S.

        The sum of squares of every column is raised to the exact one, since a sample may miss the few rows of a rare
        column.
        """
        m, K = self._model, self._model.x_block.outputs
        matrix = sample_gram(m, self._hessian, _ROWS_IF_COUPLED * (m.d_x + m.d_y))
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
