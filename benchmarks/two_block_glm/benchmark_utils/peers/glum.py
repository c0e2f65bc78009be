"""glum with a P2 vector of both penalties, on tabmat's split of sparse and dense columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import tabmat
from glum import GeneralizedLinearRegressor

from benchmark_utils.peers import Solve
from benchmark_utils.peers.scaled import with_int32

MOST_COLUMNS = 3000
"""The limit for irls-ls, which forms the dense Hessian."""


def why_not(d: int, algorithm: str, threads: int = 1) -> str | None:
    if algorithm == "irls-ls" and d > MOST_COLUMNS:
        return f"irls-ls forms the dense Hessian of {d} columns; the limit here is {MOST_COLUMNS}"
    return None


def prepare(
    X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, algorithm: str = "lbfgs", threads: int = 1
) -> Solve:
    d_x, d_y = X.shape[1], Y.shape[1]
    sparse = tabmat.SparseMatrix(with_int32(scipy.sparse.csc_matrix(X)))
    A = tabmat.SplitMatrix([sparse, tabmat.DenseMatrix(np.asfortranarray(Y))])
    positive = (labels > 0).astype(np.float64)
    penalties = np.repeat([alpha_x, alpha_y], [d_x, d_y])

    def solve(tol: float) -> tuple[Any, Any]:
        model = GeneralizedLinearRegressor(
            family="binomial",
            alpha=1.0,
            P2=penalties,
            fit_intercept=False,
            solver=algorithm,
            gradient_tol=tol,
            max_iter=20_000,
        )
        v = model.fit(A, positive).coef_
        return v[:d_x], v[d_x:]

    return solve
