"""Calls of ∇ₓ by `bam` and `nag` with adaptive=True, divided by those with the true constants.

Random quadratics with condition numbers up to 10⁴ in each block, and random GLMs. A run that stops with a gap above tol
has stopped too early; the minimum is computed apart.

    python benchmarks/adaptive.py
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

import minmin
from minmin.problems import GLM, Quadratic
from report import print_machine

TOLS = (1e-2, 1e-4, 1e-6)
NUMBER = 100


def make_quadratic(seed: int) -> Quadratic:
    rng = np.random.default_rng(seed)
    return Quadratic.random(
        d_x=int(rng.integers(5, 61)),
        d_y=int(rng.integers(2, 31)),
        mu_x=1.0,
        L_x=10.0 ** rng.uniform(0.5, 4.0),
        mu_y=1.0,
        L_y=10.0 ** rng.uniform(0.5, 4.0),
        coupling=float(rng.uniform()),
        seed=seed,
    )


def make_glm(seed: int) -> GLM:
    rng = np.random.default_rng(seed)
    n, d_x, d_y = int(rng.integers(50, 300)), int(rng.integers(3, 30)), int(rng.integers(2, 15))
    X, Y = rng.standard_normal((n, d_x)), rng.standard_normal((n, d_y)) * 10.0 ** rng.uniform(-1, 1)
    loss = ("logistic", "squared", "huber")[seed % 3]
    signal = X.sum(axis=1) / d_x**0.5 + rng.standard_normal(n)
    target = np.where(signal > 0, 1.0, -1.0) if loss == "logistic" else signal
    alpha_x, alpha_y = 10.0 ** rng.uniform(-4, -1, 2)
    return GLM(X, Y, target, loss, alpha_x=alpha_x, alpha_y=alpha_y)


def compare(problem: Any, method: str, tol: float, lowest: float) -> tuple[int, int, bool]:
    """Calls without and with the constants, and whether the first run stopped too early."""
    adaptive = minmin.minimize(problem, method=method, adaptive=True, tol=tol)
    known = minmin.minimize(problem, method=method, tol=tol)
    assert adaptive.success, adaptive
    assert known.success, known
    return adaptive.calls["grad_x"], known.calls["grad_x"], adaptive.fun - lowest > tol


def main() -> None:
    print_machine()
    print("\n| method | problems | tol | in total | median | largest | above 1.4 | stopped too early |")
    print("|---|---|---|---|---|---|---|---|")
    kinds = {"quadratics": [make_quadratic(s) for s in range(NUMBER)], "GLMs": [make_glm(s) for s in range(NUMBER)]}
    for name, problems in kinds.items():
        lowest = [minmin.minimize(p, tol=1e-11).fun for p in problems]
        for method in ("bam", "nag"):
            for tol in TOLS:
                counts = [compare(p, method, tol, low) for p, low in zip(problems, lowest, strict=True)]
                ratios = [a / b for a, b, _ in counts]
                total = sum(a for a, _, _ in counts) / sum(b for _, b, _ in counts)
                a, b, _ = counts[ratios.index(max(ratios))]
                summary = f"{total:.2f} | {statistics.median(ratios):.2f} | {max(ratios):.2f} ({a} instead of {b})"
                late = sum(early for _, _, early in counts)
                above = sum(r > 1.4 for r in ratios)
                print(f"| `{method}` | {NUMBER} {name} | {tol:g} | {summary} | {above} | {late} |", flush=True)


if __name__ == "__main__":
    main()
