"""Minimisations over a block by `alternating`, accelerated and plain, as the blocks are coupled more strongly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minmin
from minmin.problems import GLM, Quadratic
from report import print_machine

KINDS = {"accelerated": True, "plain": False}
INVERSES = (10.0, 100.0, 1000.0, 10000.0)


def make_quadratic(rho: float, size: int = 10) -> Quadratic:
    """H_xx = H_yy = I, and H_xy with the largest singular value ρ."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    coupling = (U * np.r_[rho, rho * rng.uniform(size=size - 1)]) @ V.T
    H = np.block([[np.eye(size), coupling], [coupling.T, np.eye(size)]])
    return Quadratic(H, rng.standard_normal(2 * size), size)


def make_logistic(noise: float) -> GLM:
    """Columns of X and Y are the same ones, with a noise of this size added to each."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((200, 5))
    X, Y = (shared + noise * rng.standard_normal((200, 5)) for _ in range(2))
    chance = 1.0 / (1.0 + np.exp(0.5 * Y.sum(axis=1) - X.sum(axis=1)))
    return GLM(X, Y, np.where(rng.uniform(size=200) < chance, 1.0, -1.0), alpha_x=1e-4, alpha_y=1e-4)


def minimize(problem: Any, tol: float, accelerated: bool) -> minmin.Result:
    r = minmin.minimize(problem, method="alternating", accelerated=accelerated, tol=tol)
    assert r.certified, r
    return r


def main() -> None:
    print_machine()
    print("quadratics: minimisations over both blocks for 1/(1 - ρ²) = 10 to 10⁴, and the slope")
    for name, accelerated in KINDS.items():
        counts = []
        for inverse in INVERSES:
            problem = make_quadratic(math.sqrt(1.0 - 1.0 / inverse))
            gap = 0.5 * float(problem.b @ np.linalg.solve(problem.H, problem.b))
            r = minimize(problem, 1e-6 * gap, accelerated)
            counts.append(r.calls["min_x"] + r.calls["min_y"])
        print(f"  {name:<12} {counts}  {np.polyfit(np.log(INVERSES), np.log(counts), 1)[0]:.2f}")
    print("logistic regression: iterations for a noise of 1, 0.1 and 0.01")
    problems = [make_logistic(noise) for noise in (1.0, 0.1, 0.01)]
    for name, accelerated in KINDS.items():
        print(f"  {name:<12} {[minimize(problem, 1e-8, accelerated).nit for problem in problems]}")
    print(f"  κ_x: {[round(problem.constants.kappa_x) for problem in problems]}")


if __name__ == "__main__":
    main()
