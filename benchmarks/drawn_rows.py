"""Counts the rows of Y that BAM takes with the inner solvers "nag", "lbfgs" and "katyusha", on logistic GLMs.

The first table is for one inner solve, from the centre and without anything kept from another; κ is that of the inner
problem. The second is for whole runs, the third for a1a. Rows are in units of n, and "katyusha" is a mean over three
seeds.

    python benchmarks/drawn_rows.py
"""

from __future__ import annotations

import time

import numpy as np

import minmin
from minmin.extend import Tally
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.inner.solvers import find_solver
from minmin.methods.theory import block_parameters
from minmin.problems import GLM
from report import print_machine

SOLVERS = {"nag": 1, "lbfgs": 1, "katyusha": 3}
"""How many seeds each is run with."""
COLUMNS = 60


def make_glm(n: int, alpha_x: float, alpha_y: float) -> GLM:
    """The eigenvalues of YᵀY fall over five orders of magnitude."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    Y = rng.standard_normal((n, COLUMNS)) * np.logspace(0, -2.5, COLUMNS)
    Y = Y @ np.linalg.qr(rng.standard_normal((COLUMNS, COLUMNS)))[0]
    margins = X @ rng.standard_normal(20) / 20**0.5 + Y @ rng.standard_normal(COLUMNS)
    labels = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-margins)), 1.0, -1.0)
    return GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)


def solve_once(problem: GLM, inner: str, seed: int) -> tuple[int, float]:
    """The rows of one inner solve, and κ."""
    tally, solver = Tally(), find_solver(inner)
    center, parameters = np.ones(problem.d_y), block_parameters(problem.constants)
    slice_ = problem.counted(tally).fix(np.ones(problem.d_x))
    objective = ProximalCondition(parameters).make_goal(slice_, center, 0.0 * center)
    point, _ = solver.solve(objective, solver.init(center, seed))
    assert point.solved
    return tally["rows_y"], objective.smoothness / objective.convexity


def print_solves() -> None:
    print("| n | κ | nag | lbfgs | katyusha |\n|---|---|---|---|---|")
    for n in (300, 3_000, 30_000):
        for alpha_y in (1e-3, 1e-4, 1e-5):
            problem = make_glm(n, 0.1, alpha_y)
            rows = [np.mean([solve_once(problem, i, s)[0] for s in range(k)]) / n for i, k in SOLVERS.items()]
            kappa = solve_once(problem, "lbfgs", 0)[1]
            print(f"| {n:,} | {kappa:,.0f} | " + " | ".join(f"{r:.0f}" for r in rows) + " |", flush=True)


def run(problem: GLM, inner: str, seeds: int) -> str:
    calls, seconds = [], []
    for seed in range(seeds):
        begin = time.perf_counter()
        r = minmin.minimize(problem, method="bam", inner=inner, tol=1e-8, seed=seed)
        seconds.append(time.perf_counter() - begin)
        assert r.certified
        calls.append((r.calls["grad_x"], r.calls["rows_y"] / len(problem.target)))
    grad_x, rows = np.mean(calls, axis=0)
    return f"{grad_x:.0f} / {rows:.0f} / {np.mean(seconds):.1f}"


def print_runs(problems: list[tuple[GLM, float, float]]) -> None:
    print("\n| n | alpha_x, alpha_y | κ_x, κ_y | nag: ∇ₓ / rows / s | lbfgs | katyusha |\n|---|---|---|---|---|---|")
    for problem, alpha_x, alpha_y in problems:
        c = problem.constants
        head = f"| {len(problem.target):,} | {alpha_x:g}, {alpha_y:g} | {c.kappa_x:.0f}, {c.kappa_y:,.0f} | "
        print(head + " | ".join(run(problem, i, k) for i, k in SOLVERS.items()) + " |", flush=True)


def main() -> None:
    print_machine()
    print_solves()
    penalties = [(0.1, 1e-3), (0.1, 1e-4), (0.1, 1e-5)]
    print_runs([(make_glm(10_000, *alphas), *alphas) for alphas in penalties])
    print_runs([(make_glm(100_000, *alphas), *alphas) for alphas in [(0.1, 1e-4), (0.01, 1e-5)]])
    X, labels = minmin.datasets.load_a1a()
    of_a1a = [(0.01, 1e-5), (0.01, 1e-7)]
    print_runs([(GLM(X[:, :100], X[:, 100:], labels, alpha_x=a, alpha_y=b), a, b) for a, b in of_a1a])


if __name__ == "__main__":
    main()
