"""Python calls per call of ∇ₓ: what minimize() adds to a user's callables, on logistic regressions with nine variables.

It is the slope between runs to 1e-3 and to 1e-8, so what a run does once does not count. The user's own calls do: about
20 of the number.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import minmin
from report import print_machine

SEEDS = 5
LOOSE, TIGHT = 1e-3, 1e-8


def make_problem(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 9)) * np.geomspace(1.0, 0.05, 9)
    labels = np.sign(rng.standard_normal(30))

    def margins(x: Any, y: Any) -> Any:
        return labels * (A[:, :6] @ x + A[:, 6:] @ y)

    def value(x: Any, y: Any) -> float:
        return float(np.mean(np.logaddexp(0.0, -margins(x, y))) + 0.5e-3 * (x @ x + y @ y))

    def slope(x: Any, y: Any) -> Any:
        return -labels / (1.0 + np.exp(margins(x, y))) / 30.0

    def grad_x(x: Any, y: Any) -> Any:
        return A[:, :6].T @ slope(x, y) + 1e-3 * x

    def grad_y(x: Any, y: Any) -> Any:
        return A[:, 6:].T @ slope(x, y) + 1e-3 * y

    return {"problem": value, "x0": np.zeros(6), "y0": np.zeros(3), "grad_x": grad_x, "grad_y": grad_y}


def count_calls(problem: dict[str, Any], tol: float) -> tuple[int, int]:
    """The Python calls of a run, and its calls of ∇ₓ."""
    calls = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        r = minmin.minimize(**problem, tol=tol)
    finally:
        sys.setprofile(None)
    return calls, r.calls["grad_x"]


def main() -> None:
    print_machine()
    differences = []
    for seed in range(SEEDS):
        problem = make_problem(seed)
        minmin.minimize(**problem)  # what is computed once per process does not count
        differences.append(np.subtract(count_calls(problem, TIGHT), count_calls(problem, LOOSE)))
    calls, gradients = np.sum(differences, axis=0)
    print(f"{calls / gradients:.0f} Python calls per call of ∇ₓ ({gradients} of them, on {SEEDS} problems)")


if __name__ == "__main__":
    main()
