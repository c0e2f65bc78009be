"""skglm on scaled columns: L-BFGS with its L2 penalty, or prox-Newton with an elastic net that has no ℓ1 part."""

from __future__ import annotations

from typing import Any

import scipy.sparse
from skglm.datafits import Logistic
from skglm.penalties import L2, L1_plus_L2
from skglm.solvers import LBFGS, ProxNewton

from benchmark_utils.peers import Solve
from benchmark_utils.peers.scaled import Scaled


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, algorithm: str = "lbfgs") -> Solve:
    scaled = Scaled(X, Y, alpha_x, alpha_y)
    A = scipy.sparse.csc_matrix(scaled.A)

    def solve(tol: float) -> tuple[Any, Any]:
        if algorithm == "lbfgs":
            v, *_ = LBFGS(max_iter=20_000, tol=tol).solve(A, labels, Logistic(), L2(scaled.penalty))
        else:
            newton = ProxNewton(p0=A.shape[1], max_iter=1000, tol=tol, fit_intercept=False)
            v, *_ = newton.solve(A, labels, Logistic(), L1_plus_L2(scaled.penalty, 0.0))
        return scaled.blocks(v)

    return solve
