"""The data of a hospital, drawn at random with a fixed seed. Replace them with data from a file or a database."""

from __future__ import annotations

import numpy as np

import minmin


def problem(number: int) -> tuple[minmin.problems.GLM, int]:
    """Measurements with the same meaning in all hospitals (X), local measurements (Y), and which patients recovered."""
    rng = np.random.default_rng(number)
    patients = int(rng.integers(200, 1000))
    X, Y = rng.standard_normal((patients, 30)), rng.standard_normal((patients, 4))
    effect_of_shared = np.linspace(1.0, -1.0, 30)  # the same everywhere
    effect_of_local = rng.standard_normal(4)  # different in each hospital
    recovered = rng.random(patients) < 1.0 / (1.0 + np.exp(-X @ effect_of_shared - Y @ effect_of_local))
    return minmin.problems.GLM(X, Y, recovered.astype(float), "logistic", alpha_x=1e-2, alpha_y=1e-3), patients
