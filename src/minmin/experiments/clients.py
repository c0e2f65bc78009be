"""Problems over many clients with dissimilar data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.problem import Problem
from minmin.datasets import load_libsvm
from minmin.problems import GLM
from minmin.problems.sum import Sum

_COLUMNS, _SHARED = 123, 100
_GENERATED_ROWS = 20_000


def data_name(a9a: Path | None) -> str:
    """A description of the clients' data, for the report."""
    return f"{_GENERATED_ROWS} generated rows like a9a's" if a9a is None else "a9a"


def clients_of_a9a(seed: int, count: int, a9a: Path | None) -> Problem:
    """Sort the rows by a random combination of columns, so that clients differ, and split them among ``count`` clients.

    The weight of a client is its share of the rows. ``a9a`` is a LIBSVM file; if it is None, similar rows are
    generated.
    """
    A, labels = _rows(a9a)
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(_COLUMNS - _SHARED), rng.standard_normal(20)
    order = np.argsort(A[:, _SHARED:] @ u + A[:, :20] @ v, kind="stable")
    pieces = np.array_split(order, count)
    terms = []
    for rows in pieces:
        of_client = A[rows]
        Y = np.hstack([of_client[:, _SHARED:].toarray(), np.ones((len(rows), 1))])
        terms.append(GLM(of_client[:, :_SHARED], Y, labels[rows], alpha_x=1e-3, alpha_y=1e-4))
    return Sum(terms, [len(rows) / len(order) for rows in pieces])


def clients_of_squares(seed: int) -> Problem:
    """Eight clients with 100 rows each, d_x = 100, d_y = 50; the rows of each client have another scale."""
    rng = np.random.default_rng(seed)
    terms = []
    for _ in range(8):
        A = rng.standard_normal((100, 150)) * rng.uniform(0.5, 1.5)
        target = A @ rng.standard_normal(150) + rng.standard_normal(100)
        terms.append(GLM(A[:, :100], A[:, 100:], target, "squared", alpha_x=1e-3, alpha_y=1e-3))
    return Sum(terms)


@lru_cache(maxsize=1)
def _rows(a9a: Path | None) -> tuple[Any, Any]:
    if a9a is not None:
        return load_libsvm(a9a, n_features=_COLUMNS)
    rng = np.random.default_rng(0)
    odds = rng.uniform(0.0, 0.25, _COLUMNS)
    A = scipy.sparse.csr_array((rng.random((_GENERATED_ROWS, _COLUMNS)) < odds).astype(np.float64))
    margins = A @ rng.standard_normal(_COLUMNS) - 1.0
    return A, np.where(rng.random(_GENERATED_ROWS) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)
