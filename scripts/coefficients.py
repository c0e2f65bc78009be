"""The figure of docs/guides/estimators.md, and how often intervals cover, for docs/benchmarks/estimators.md.

Needs the extras sklearn, pandas and plot, and takes about half a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, BlockRidge

ROWS, RUNS = 200, 600
TRUTH = np.array([0.5, -0.5, 0.3, 0.0, 0.8, 0.2])
"""The true coefficients, and the intercept."""
Draw = Callable[[], Any]


def summarise_diabetes(alpha: float) -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = StandardScaler().set_output(transform="pandas").fit_transform(X)
    blocks = {"person": ["age", "sex", "bmi", "bp"], "serum": "s[1-6]"}
    model = BlockRidge(blocks, alpha={"person": 0.0, "serum": alpha})
    return model.fit(X, y).summary(X, y)


def print_coverage() -> None:
    """How often intervals of 95 % cover the true coefficients, and the mean of the estimates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 5)) @ (np.eye(5) + 0.3) * np.geomspace(1.0, 0.3, 5)
    margins = X @ TRUTH[:5] + TRUTH[5]
    draws: dict[str, tuple[type, Draw]] = {
        "squares": (BlockRidge, lambda: margins + rng.standard_normal(ROWS)),
        "logistic": (BlockLogisticRegression, lambda: (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-margins))).astype(int)),
        "Poisson": (BlockPoissonRegressor, lambda: rng.poisson(np.exp(margins))),
        "too much variance": (
            BlockPoissonRegressor,
            lambda: rng.poisson(np.exp(margins) * rng.gamma(0.5, 2.0, ROWS)),
        ),
    }
    print("\n| data | penalty | robust | covers the truth | covers the mean estimate |\n|---|---|---|---|---|")
    cases = [("squares", 0.0), ("logistic", 0.0), ("Poisson", 0.0), ("squares", 0.2), ("logistic", 0.05)]
    for name, alpha, robust in [*((*case, False) for case in cases), *(("too much variance", 0.0, r) for r in (0, 1))]:
        kind, draw = draws[name]
        of_truth, of_mean = cover(kind, draw, X, alpha, bool(robust))
        ranges = (f"{100 * found.min():.0f} to {100 * found.max():.0f} %" for found in (of_truth, of_mean))
        print(f"| {name} | {alpha:g} | {'yes' if robust else 'no'} | {' | '.join(ranges)} |")


def cover(kind: Any, draw: Draw, X: Any, alpha: float, robust: bool) -> tuple[Any, Any]:
    """The share of the runs in which the interval of each coefficient has the truth in it, and the mean estimate."""
    tables = []
    for _ in range(RUNS):
        y = draw()
        model = kind({"penalised": [0, 1, 2, 3], "free": [4]}, alpha={"penalised": alpha, "free": 0.0}, tol=1e-9)
        tables.append(model.fit(X, y).summary(X, y, robust=robust))
    low, high, estimate = (np.array([table[name] for table in tables]) for name in ("low", "high", "coefficient"))
    of_truth, of_mean = (((low <= wanted) & (wanted <= high)).mean(axis=0) for wanted in (TRUTH, estimate.mean(axis=0)))
    return of_truth, of_mean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, default=Path("docs/images/coefficients.png"), help="where it goes")
    arguments = parser.parse_args()
    summary = summarise_diabetes(0.1)
    print(summary)
    summary.plot().savefig(arguments.figure, dpi=110)
    print_coverage()
