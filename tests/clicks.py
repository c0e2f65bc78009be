"""Generated click data: a sparse block of many columns beside a dense block of few."""

import numpy as np
import scipy.sparse
from scipy.special import expit


def ill_conditioned_clicks(seed, n=20_000, d_x=50_000, d_y=20):
    """X: 20 draws a row, j ∝ j^-1.1, of value 1/√20; Y: correlated columns of sizes 1 to 1e-2, rows of length one."""
    rng = np.random.default_rng(seed)
    frequency = np.arange(1, d_x + 1) ** -1.1
    columns = rng.choice(d_x, size=(n, 20), p=frequency / frequency.sum())
    X = scipy.sparse.csr_array((np.full(n * 20, 20**-0.5), columns.ravel(), np.arange(0, n * 20 + 1, 20)), (n, d_x))
    X.sum_duplicates()
    Y = rng.standard_normal((n, d_y)) @ (rng.standard_normal((d_y, d_y)) * np.geomspace(1, 1e-2, d_y))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    Y[:, -1] = 0.5
    margins = X @ (1.5 * rng.standard_normal(d_x)) + Y @ (3 * rng.standard_normal(d_y)) - 1
    return X, Y, np.where(rng.uniform(size=n) < expit(margins), 1.0, -1.0)
