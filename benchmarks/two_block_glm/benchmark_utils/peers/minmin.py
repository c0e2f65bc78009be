"""minmin: tol is the proved bound on f - f*. Building the problem is timed, since a problem caches its results."""

from __future__ import annotations

from typing import Any

import minmin
from benchmark_utils.peers import Solve


def why_not(d: int, method: str) -> str | None:
    if method not in minmin.methods.names():
        return f"minmin {minmin.__version__} has no method {method!r}"
    return None


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, method: str = "auto") -> Solve:
    def solve(tol: float) -> tuple[Any, Any]:
        problem = minmin.problems.GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)
        result = minmin.minimize(problem, method=method, tol=tol)
        return result.x, result.y

    return solve
