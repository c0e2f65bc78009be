"""Calls of ∇ₓ until a gap is proved by `cutting-plane`, without L and mu of x, and by `reduced-lbfgs`, with them.

The gap is ε times the range of F(x) = min_y f(x, y) on the ball of radius 10|x*| around the start, at most
½κ_x (11|x*|)². y has 3 variables. Medians over three random quadratics.

    python benchmarks/cutting_plane.py
"""

from __future__ import annotations

from statistics import median

import numpy as np

import minmin
from minmin.problems import Quadratic
from report import print_machine

SIZES = (2, 5, 10, 20, 50)
KAPPAS = (10.0, 1e3, 1e5)
SEEDS = range(3)


def make_quadratic(d_x: int, kappa: float, seed: int) -> tuple[Quadratic, float]:
    """½(x - x*)ᵀA(x - x*) + 5|y - Cx|², and |x*|. A is the Hessian of F; its eigenvalues are geometric, from 1 to κ."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d_x, d_x)))[0]
    A, C = (Q * np.geomspace(1.0, kappa, d_x)) @ Q.T, rng.standard_normal((3, d_x)) / d_x**0.5
    best = rng.standard_normal(d_x)
    H = np.block([[A + 10.0 * C.T @ C, -10.0 * C.T], [-10.0 * C, 10.0 * np.eye(3)]])
    return Quadratic(H, np.r_[-A @ best, np.zeros(3)], d_x), float(np.linalg.norm(best))


def count(d_x: int, kappa: float, epsilon: float, seed: int) -> tuple[int, int]:
    problem, distance = make_quadratic(d_x, kappa, seed)
    tol = epsilon * 0.5 * kappa * (11.0 * distance) ** 2
    planes = minmin.minimize(problem, method="cutting-plane", radius=10.0 * distance, tol=tol)
    reduced = minmin.minimize(problem, method="reduced-lbfgs", tol=tol)
    for r in (planes, reduced):
        assert r.certified, r
        assert r.success, r
    return planes.calls["grad_x"], reduced.calls["grad_x"]


def main() -> None:
    print_machine()
    print(f"\nκ_x = {', '.join(f'{kappa:g}' for kappa in KAPPAS)}\n")
    print("| d_x | `cutting-plane`, ε = 1e-6 | `reduced-lbfgs` | `cutting-plane`, ε = 1e-9 | `reduced-lbfgs` |")
    print("|---|---|---|---|---|")
    for d_x in SIZES:
        columns = []
        for epsilon in (1e-6, 1e-9):
            counts = [[count(d_x, kappa, epsilon, seed) for seed in SEEDS] for kappa in KAPPAS]
            columns += [" / ".join(str(median(pair[i] for pair in pairs)) for pairs in counts) for i in (0, 1)]
        print(f"| {d_x} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    main()
