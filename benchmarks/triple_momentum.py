"""Calls of BAM with triple momentum, divided by those of BAM with Nesterov's steps.

python benchmarks/triple_momentum.py
"""

from __future__ import annotations

import statistics

import numpy as np

import minmin
from minmin.problems import Quadratic
from report import print_machine

TOL = 1e-8
COUPLINGS = (0.0, 0.5, 1.0)


def count(problem: Quadratic, scheme: str) -> tuple[int, int]:
    r = minmin.minimize(problem, method="bam", scheme=scheme, tol=TOL)
    assert r.certified, r
    assert r.success, r
    return r.calls["grad_x"], r.calls["grad_y"]


def make_random_problems(number: int) -> list[Quadratic]:
    """κ_x up to 10⁴ and κ_y up to 10⁶, in blocks of 20 to 60 and 5 to 30 variables."""
    rng = np.random.default_rng(0)
    return [
        Quadratic.random(
            d_x=int(rng.integers(20, 61)),
            d_y=int(rng.integers(5, 31)),
            mu_x=1.0,
            L_x=10.0 ** rng.uniform(0.5, 4.0),
            mu_y=1.0,
            L_y=10.0 ** rng.uniform(0.5, 6.0),
            coupling=COUPLINGS[i % len(COUPLINGS)],
            seed=i,
        )
        for i in range(number)
    ]


def print_row(name: str, problems: list[Quadratic]) -> None:
    pairs = [(count(problem, "triple-momentum"), count(problem, "nesterov")) for problem in problems]
    columns = []
    for block in (0, 1):
        ours, theirs = [a[block] for a, _ in pairs], [b[block] for _, b in pairs]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        more = sum(ratio > 1.0 for ratio in ratios)
        total = sum(ours) / sum(theirs)
        columns.append(f"{max(ratios):.2f}, {statistics.median(ratios):.2f}, {total:.2f} | {more} of {len(ratios)}")
    print(f"| {name} | {' | '.join(columns)} |", flush=True)


def main() -> None:
    print_machine()
    print("\n| problems | ∇ₓ: largest, median, total | more | ∇ᵧ: largest, median, total | more |")
    print("|---|---|---|---|---|")
    paper = [Quadratic.random(L_y=L_y, coupling=c) for L_y in (500.0, 5e3, 5e4) for c in (0.0, 1.0)]
    print_row("the paper's six quadratics, L_y = 500 to 50000, coupling 0 and 1", paper)
    print_row("180 random quadratics, κ_x to 10⁴ and κ_y to 10⁶, coupling 0, 0.5 and 1", make_random_problems(180))


if __name__ == "__main__":
    main()
