"""Counts the calls of each gradient for all methods, on two problems of arXiv:2212.14439.

The paper is by Kovalev, Gasnikov and Malinovsky. Each run stops when f - f* <= 1e-6 is proved.
"""

from __future__ import annotations

from typing import Any

import minmin

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "reduced-lbfgs": ("reduced-lbfgs", {}),
    "bam": ("bam", {}),
    "bam, inner='newton'": ("bam", {"inner": "newton"}),
    "bam, inner='nag-ogmg' (the paper's)": ("bam", {"inner": "nag-ogmg"}),
    "nag": ("nag", {}),
    "nag, rescale=True": ("nag", {"rescale": True}),
    "acdm, rescale=True": ("acdm", {"rescale": True}),
    "lincoupling, rescale=True": ("lincoupling", {"rescale": True}),
}


def logistic_regression(alpha_y: float) -> minmin.problems.GLM:
    """The paper's logistic regression: a1a, 100 columns in x, 19 in y, a penalty per block."""
    X, labels = minmin.datasets.load_a1a()
    return minmin.problems.GLM(X[:, :100], X[:, 100:], labels, "logistic", alpha_x=0.01, alpha_y=alpha_y)


def solve_all(problem: Any) -> dict[str, minmin.Result]:
    return {
        name: minmin.minimize(problem, method=method, tol=1e-6, **options) for name, (method, options) in RUNS.items()
    }


def show(title: str, results: dict[str, minmin.Result]) -> None:
    print(f"\n{title}")
    print(f"  {'method':<36} {'∇x calls':>9} {'∇y calls':>9} {'f - f* at most':>15} {'seconds':>8}")
    for name, r in results.items():
        print(f"  {name:<36} {r.calls['grad_x']:>9} {r.calls['grad_y']:>9} {r.gap_bound:>15.2g} {r.seconds:>8.3f}")


def main() -> None:
    for coupling, name in ((0.0, "block-diagonal"), (1.0, "coupled")):
        problem = minmin.problems.Quadratic.random(L_y=5000.0, coupling=coupling)
        show(f"Quadratic, {name}: d_x = 100, d_y = 10, κ_x = 500, κ_y = 50000", solve_all(problem))
    for alpha_y in (0.002, 0.0001):
        problem = logistic_regression(alpha_y)
        c = problem.constants
        title = (
            f"Logistic regression on a1a, alpha_y = {alpha_y}: κ_x = {c.kappa_x:.0f}, κ_y = {c.kappa_y:.0f} (proved)"
        )
        show(title, solve_all(problem))


if __name__ == "__main__":
    main()
