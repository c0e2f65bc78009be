"""glum with a vector P2 of the penalties, on tabmat's matrices: categories, sparse and dense columns each apart.

Without an intercept, glum always scales the columns to unit deviation and the penalties with them; there is no option.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import tabmat
from glum import GeneralizedLinearRegressor

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Data, Objective
from estimator_benchmark.peers import Solve

_FAMILIES = {"logistic": "binomial", "poisson": "poisson", "squared": "normal"}
_DENSE_FROM = 0.1
"""The share of non-zeros from which tabmat itself keeps a column dense."""


def prepare(objective: Objective, form: str, solver: str) -> Solve:
    data = objective.data
    A, order = _split(data) if form == "split" else _keep_dense(data)
    target = (data.target > 0).astype(np.float64) if objective.loss == "logistic" else data.target
    family, penalties = _FAMILIES[objective.loss], objective.penalties[order]

    def solve(tol: float) -> Vector:
        model = GeneralizedLinearRegressor(
            family=family,
            alpha=1.0,
            P2=penalties,
            fit_intercept=False,
            solver=solver,
            gradient_tol=tol,
            max_iter=20_000,
        )
        coef = np.empty(len(order))
        coef[order] = model.fit(A, target, sample_weight=data.weights).coef_
        return coef

    return solve


def _split(data: Data) -> tuple[Any, Vector]:
    """The matrix for glum, and the number of each of its columns in the data."""
    if not scipy.sparse.issparse(data.matrix) and not data.one_hot:
        return _keep_dense(data)
    matrix = scipy.sparse.csc_array(data.matrix)
    parts, numbers, others = [], [], np.ones(matrix.shape[1], dtype=bool)
    for columns in data.one_hot:
        codes = np.empty(matrix.shape[0], dtype=np.int32)
        part = matrix[:, columns].tocoo()
        codes[part.row] = part.col
        parts.append(tabmat.CategoricalMatrix(codes, categories=np.arange(part.shape[1])))
        numbers.append(np.arange(columns.start, columns.stop))
        others[columns] = False
    full = np.diff(matrix.indptr) >= _DENSE_FROM * matrix.shape[0]
    if (others & full).any():
        numbers.append(np.flatnonzero(others & full))
        parts.append(tabmat.DenseMatrix(np.asfortranarray(matrix[:, numbers[-1]].toarray())))
    if (others & ~full).any():
        numbers.append(np.flatnonzero(others & ~full))
        sparse = scipy.sparse.csc_matrix(matrix[:, numbers[-1]])
        sparse.indices, sparse.indptr = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32)
        parts.append(tabmat.SparseMatrix(sparse))
    return (parts[0] if len(parts) == 1 else tabmat.SplitMatrix(parts)), np.concatenate(numbers)


def _keep_dense(data: Data) -> tuple[Any, Vector]:
    matrix = data.matrix.toarray() if scipy.sparse.issparse(data.matrix) else data.matrix
    return tabmat.DenseMatrix(np.asfortranarray(matrix)), np.arange(matrix.shape[1])
