"""Random fits of estimators to rounded, shifted and scaled data, and the true gap of the numbers that the user gets."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from estimators.exact import find_gap
from minmin.datasets import open_partitions, write_partitions
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockPoissonRegressor,
    BlockRidge,
    BlockTweedieRegressor,
)

ESTIMATORS: dict[str, Any] = {
    "squared": BlockRidge,
    "huber": BlockHuberRegressor,
    "poisson": BlockPoissonRegressor,
    "gamma": BlockGammaRegressor,
    "tweedie": BlockTweedieRegressor,
    "logistic": BlockLogisticRegression,
}
DTYPES = ["float64", "float32", "int32"]


class Fit(NamedTuple):
    """An estimator, its data, and what its true gap takes."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    rows: dict[str, np.ndarray]
    on_disk: bool
    family: str
    parameter: float | None
    told: str

    def run(self) -> tuple[bool, float, float]:
        """Whether the bound is proved, the bound, and the gap."""
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.on_disk:
                half, rows = len(self.y) // 2, Path(folder) / "rows"
                write_partitions(rows, [(self.X[:half], self.y[:half]), (self.X[half:], self.y[half:])])
                parts = open_partitions(rows)
                self.model.fit(parts.X, parts.y)
            else:
                self.model.fit(self.X, self.y, **self.rows)
        m, target = self.model, self.y
        if self.family == "logistic":
            target = np.searchsorted(m.classes_, target)
        weights, offset = self.rows.get("sample_weight"), self.rows.get("offset")
        named = {"weights": weights, "offset": offset, "parameter": self.parameter}
        try:
            gap = find_gap(self.family, self.X, target, m.alpha, m.coef_, m.intercept_, **named)
        except (AssertionError, ArithmeticError):  # Newton's method finds no minimum, in one fit of a hundred
            gap = 0.0
        return m.result_.certified, m.gap_bound_, gap


def draw_fit(rng: np.random.Generator) -> Fit:
    """Columns and targets in any units, far from zero or not, in low precision or not, in memory or on disk."""
    family, dtype = str(rng.choice([*ESTIMATORS])), str(rng.choice(DTYPES))
    noise = rng.standard_normal((int(rng.integers(6, 16)), 3))
    X, spread = noise[:, :2] * 10 ** rng.uniform(-4, 4, size=2), 10 ** rng.uniform(-9, 9)
    X = np.round(10.0 * noise[:, :2]) if dtype == "int32" else X + rng.choice([0.0, 1.0, 1e4, 1e8], size=2)
    ratio = float(rng.choice([0.0, 1.0, 1e4, 1e8, 1e10, 1e12, 1e14]))
    y, options, is_real = spread * (ratio + noise @ [1.0, -0.5, 1.0]), {}, family in ("squared", "huber")
    if family == "huber":
        y, options = y * rng.choice([-1.0, 1.0]), {"delta": float(spread * 10 ** rng.uniform(-2, 1))}
    elif family == "tweedie":
        options = {"power": float(rng.uniform(1.1, 1.9))}
    if family == "logistic":
        y = np.argmax(noise[:, : rng.integers(2, 4)], axis=1)
    else:
        y = (y if is_real else np.maximum(y, 0.1 * spread)).astype(rng.choice(["float64", "float32"]))
    rows = {}
    if rng.uniform() < 0.4:
        rows["sample_weight"] = rng.choice([1e-3, 1.0, 3.0], size=len(y))
    if rng.uniform() < 0.3:
        rows["offset"] = rng.standard_normal(len(y)) * (spread * rng.choice([1.0, 1e6]) if is_real else 1.0)
    if len(np.unique(y)) > 2 and family == "logistic":
        rows.pop("offset", None)
    on_disk = bool(rng.uniform() < 0.3 and not rows)
    tol, alpha = float(10 ** rng.uniform(-12, -2)), tuple((10 ** rng.uniform(-6, 1, size=2)).tolist())
    model = ESTIMATORS[family]([[0]], alpha=alpha, tol=tol, **options)
    told = f"spread {spread:.1e}, mean/spread {ratio:g}, X {dtype}, y {y.dtype}, {[*rows]}, on disk {on_disk}"
    return Fit(model, X.astype(dtype), y, rows, on_disk, family, *(options.values() or [None]), f"{model}, {told}")
