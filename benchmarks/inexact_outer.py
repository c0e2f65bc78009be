"""Calls of ∇ᵧ by inexact-outer and by BAM, as one condition number grows; draws docs/images/inexact-outer.png.

Both solve in y by Nesterov's method. The quadratics are random, with spectra that fill what their constants allow, and
each run ends when it has proved a gap of 1e-6 times that of the start.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import minmin
from minmin.problems import Quadratic
from report import print_machine

RUNS: dict[str, dict[str, Any]] = {
    "inexact-outer": {"method": "inexact-outer"},
    'bam, inner="nag"': {"method": "bam", "inner": "nag"},
}
COLOURS = ("#D55E00", "#0072B2")
KAPPAS = np.logspace(1, 4, 7)
FIXED = 1000.0
SIZE = 20


def make_quadratic(kappa_x: float, kappa_y: float, seed: int) -> Quadratic:
    """Pairs of eigenvectors of H_xx and H_yy, coupled by half of what keeps H positive definite."""
    rng = np.random.default_rng(seed)
    a, b = (
        (kappa / 3) ** (rng.permutation(np.r_[0.0, 1.0, rng.uniform(size=SIZE - 2)]) - 1.0)
        for kappa in (kappa_x, kappa_y)
    )
    U, V = (np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0] for _ in range(2))
    coupling = (U * (0.5 * np.sqrt(a * b))) @ V.T
    H = np.block([[(U * a) @ U.T, coupling], [coupling.T, (V * b) @ V.T]])
    L, mu = 1.5 * (1 + 1e-9), 1.5 * (1 - 1e-9)  # with a margin for rounding
    constants = minmin.Constants(L_x=L, L_y=L, mu_x=mu / kappa_x, mu_y=mu / kappa_y, source="proved")
    return Quadratic((H + H.T) / 2, rng.standard_normal(2 * SIZE), SIZE, constants)


def median_calls(kappa_x: float, kappa_y: float, options: dict[str, Any], seeds: int) -> float:
    counts = []
    for seed in range(seeds):
        problem = make_quadratic(kappa_x, kappa_y, seed)
        gap = 0.5 * float(problem.b @ np.linalg.solve(problem.H, problem.b))
        r = minmin.minimize(problem, tol=1e-6 * gap, **options)
        assert r.certified, r
        counts.append(r.calls["grad_y"])
    return float(np.median(counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/images/inexact-outer.png"))
    arguments = parser.parse_args()
    print_machine()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    for axis, block in zip(axes, "xy", strict=True):
        for (name, options), colour in zip(RUNS.items(), COLOURS, strict=True):
            pairs = [(k, FIXED) if block == "x" else (FIXED, k) for k in KAPPAS]
            calls = [median_calls(*pair, options, arguments.seeds) for pair in pairs]
            slope = np.polyfit(np.log(KAPPAS), np.log(calls), 1)[0]
            print(f"{name:<18} κ_{block} = 10 to 10⁴: {calls} calls of ∇ᵧ, slope {slope:.2f}")
            axis.loglog(KAPPAS, calls, "o-", color=colour, label=f"{name}: slope {slope:.2f}")
        axis.set_xlabel(f"$\\kappa_{block}$  (the other: {FIXED:g})")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("calls of $\\nabla_y f$")
    figure.savefig(arguments.out, dpi=120)


if __name__ == "__main__":
    main()
