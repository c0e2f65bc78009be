"""Points at which `sliding` and other methods take ∇f and ∇g, as g becomes less smooth.

The first table is the example of docs/guides/methods.md: logistic regression on a1a, where neighbouring coefficients
should be similar. The second has quadratics where f is hard in one half of the directions and g in the other.

    python benchmarks/sliding.py
"""

from __future__ import annotations

import numpy as np

import minmin
from minmin.problems import GLM, Quadratic, Split
from report import print_machine

METHODS = ("sliding", "reduced-lbfgs", "nag", "bam")
WEIGHTS = (1.0, 10.0, 100.0, 1000.0)
SMOOTHNESS = (1e2, 1e3, 1e4, 1e5)


def make_smoothed_model(weight: float) -> Split:
    X, labels = minmin.datasets.load_a1a()
    f = GLM(X[:, :100], X[:, 100:], labels, "logistic", alpha_x=1e-3, alpha_y=1e-3)
    D = np.diff(np.eye(119), axis=0)
    constants = minmin.Constants(L_x=4 * weight, L_y=4 * weight, mu_x=0, mu_y=0)
    return Split(f, Quadratic(weight * D.T @ D, np.zeros(119), 100, constants))


def make_quadratics(L_f: float, L_g: float, size: int = 100) -> Split:
    """mu = 1 for f + g; f has the curvatures 1 to L_f in one half of the directions, g 0 to L_g in the other."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    half = size // 2
    of_f = np.r_[np.geomspace(1.0, L_f, half), np.ones(half)]
    of_g = np.r_[np.zeros(half), np.geomspace(1.0, L_g, half)]
    f_constants = minmin.Constants(L_x=L_f, L_y=L_f, mu_x=1.0, mu_y=1.0)
    g_constants = minmin.Constants(L_x=L_g, L_y=L_g, mu_x=0.0, mu_y=0.0)
    f = Quadratic((Q * of_f) @ Q.T, rng.standard_normal(size), half, f_constants)
    return Split(f, Quadratic((Q * of_g) @ Q.T, np.zeros(size), half, g_constants))


def count(problems: list[Split], inner: str) -> tuple[list[int], list[int]]:
    runs = [minmin.minimize(problem, method="sliding", inner=inner, tol=1e-8) for problem in problems]
    return [r.calls["grad_f"] for r in runs], [r.calls["grad_g"] for r in runs]


def find_slope(counts: list[int]) -> float:
    return float(np.polyfit(np.log(SMOOTHNESS), np.log(counts), 1)[0])


def main() -> None:
    print_machine()
    print(f"\n| method, weights {', '.join(f'{w:g}' for w in WEIGHTS)} | ∇f | ∇g | ∇ₓf |\n|---|---|---|---|")
    problems = [make_smoothed_model(weight) for weight in WEIGHTS]
    for method in METHODS:
        runs = [minmin.minimize(problem, method=method, tol=1e-6) for problem in problems]
        assert all(r.certified and r.success for r in runs)
        columns = (" / ".join(str(r.calls[kind]) for r in runs) for kind in ("grad_f", "grad_g", "grad_x"))
        print(f"| `{method}` | {' | '.join(columns)} |", flush=True)
    print("\n| inner solver | ∇f, L_g/mu = 10² to 10⁵ | ∇g | slope of ∇g over L_g | slope of ∇f over L_f |")
    print("|---|---|---|---|---|")
    for inner in ("lbfgs", "nag", "nag-ogmg"):
        f_calls, g_calls = count([make_quadratics(10.0, L_g) for L_g in SMOOTHNESS], inner)
        growing, _ = count([make_quadratics(L_f, 1e5) for L_f in SMOOTHNESS], inner)
        counts = " | ".join(" / ".join(map(str, calls)) for calls in (f_calls, g_calls))
        print(f"| `{inner}` | {counts} | {find_slope(g_calls):.2f} | {find_slope(growing):.2f} |", flush=True)


if __name__ == "__main__":
    main()
