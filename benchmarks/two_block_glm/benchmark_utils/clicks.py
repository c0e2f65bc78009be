"""Generated click data: sparse hashed features in X, a few dense columns in Y, labels from a logistic model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

Data = tuple[scipy.sparse.csr_array, np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""X, Y and the labels."""

FIRST_KIND_PENALTIES = {"easy": (2e-3, 2e-7), "middle": (2e-5, 2e-8), "hard": (2e-6, 2e-9)}
"""(alpha_x, alpha_y) of the first kind: κ_x is about 170, 17,000 and 170,000."""

SECOND_KIND_PENALTIES = (1e-6, 1e-3)


def first_kind(seed: int = 0, scale: float = 1.0) -> Data:
    """Many rare columns beside 20 ill-conditioned ones; scale = 1 is 20,000 rows with 20 draws each."""
    rng = np.random.default_rng(seed)
    n, columns, draws, dense = round(20_000 * scale), 50_000, 20, 20
    X = _draw_columns(rng, n, columns, draws, power=1.1, value=1.0 / np.sqrt(draws))
    mixing = rng.standard_normal((dense, dense)) * np.geomspace(1.0, 1e-2, dense)
    Y = _normalise_rows(rng.standard_normal((n, dense)) @ mixing)
    Y[:, -1] = 0.5
    w_x = 1.5 * rng.standard_normal(columns)
    w_y = 3.0 * rng.standard_normal(dense)
    return X, Y, _draw_labels(rng, X @ w_x + Y @ w_y - 1.0)


def second_kind(seed: int = 0, scale: float = 1.0) -> Data:
    """Fewer, fuller columns beside 50 well-conditioned ones; scale = 1 is 100,000 rows with 25 draws each."""
    rng = np.random.default_rng(seed)
    n, columns, draws, dense = round(100_000 * scale), 20_000, 25, 50
    X = _draw_columns(rng, n, columns, draws, power=1.0, value=1.0)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    Y = rng.standard_normal((n, dense))
    w_x = 3.0 * rng.standard_normal(columns)
    w_y = 0.3 * rng.standard_normal(dense)
    return X, Y, _draw_labels(rng, X @ w_x + Y @ w_y - 1.0)


def _draw_columns(rng: Any, n: int, columns: int, draws: int, *, power: float, value: float) -> scipy.sparse.csr_array:
    """Each row draws columns j with probability ∝ j^-power; a column drawn twice gets the sum."""
    odds = np.arange(1, columns + 1) ** -power
    indices = rng.choice(columns, size=n * draws, p=odds / odds.sum()).astype(np.int32)
    pointers = np.arange(0, n * draws + 1, draws, dtype=np.int32)
    X = scipy.sparse.csr_array((np.full(n * draws, value), indices, pointers), shape=(n, columns))
    X.sum_duplicates()
    return X


def _normalise_rows(Y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return Y / np.linalg.norm(Y, axis=1, keepdims=True)


def _draw_labels(rng: Any, margins: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(rng.random(len(margins)) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)
