"""minmin's estimator as users call it: fit() on all columns in one matrix or data frame; all that it does is timed."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from benchmark_utils.peers import Solve
from minmin.estimators import BlockLogisticRegression

MOST_COLUMNS = 1000
"""The limit for a data frame, which is dense."""


def why_not(d: int, data: str) -> str | None:
    if data == "frame" and d > MOST_COLUMNS:
        return f"a frame of {d} columns is dense; the limit here is {MOST_COLUMNS}"
    return None


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, data: str = "sparse") -> Solve:
    d_x = X.shape[1]
    A: Any = scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr")
    blocks: dict[str, Any] = {"x": slice(0, d_x), "y": slice(d_x, None)}
    if data == "frame":
        import pandas

        names = [f"x_{i}" for i in range(d_x)] + [f"y_{i}" for i in range(Y.shape[1])]
        A = pandas.DataFrame(A.toarray(), columns=names)
        blocks = {"x": "x_*", "y": "y_*"}

    def solve(tol: float) -> tuple[Any, Any]:
        model = BlockLogisticRegression(blocks, alpha={"x": alpha_x, "y": alpha_y}, fit_intercept=False, tol=tol)
        v = model.fit(A, labels).coef_[0]
        return v[:d_x], v[d_x:]

    return solve
