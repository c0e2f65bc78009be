"""Bounds without constants, on random convex functions: none is below the true gap."""

import numpy as np
import pytest
import torch

import minmin

LOSSES = {
    "logistic": lambda m: torch.nn.functional.softplus(m, threshold=100).mean() - 0.4 * m.mean(),
    "log-sum-exp": lambda m: torch.logsumexp(m, 0),
    "root": lambda m: torch.sqrt(1.0 + m * m).mean(),
    "exponential": lambda m: (torch.exp(m) - m).mean(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_no_estimate_is_below_the_gap(loss, seed):
    rng = np.random.default_rng(seed)
    n, d_x, d_y = int(rng.integers(5, 60)), int(rng.integers(1, 12)), int(rng.integers(1, 6))
    A = torch.tensor(rng.standard_normal((n, d_x)) * 10 ** rng.uniform(-1.5, 0.5, size=d_x))
    B, shift = torch.tensor(rng.standard_normal((n, d_y))), torch.tensor(rng.standard_normal(n))
    alpha_x, alpha_y = 10 ** rng.uniform(-5, -1, size=2)

    def fun(x, y):
        return LOSSES[loss](A @ x + B @ y + shift) + alpha_x / 2 * (x @ x) + alpha_y / 2 * (y @ y)

    start = torch.zeros(d_x, dtype=torch.float64), torch.zeros(d_y, dtype=torch.float64)
    known = minmin.problems.from_torch(fun, *start, constants=minmin.Constants(1e9, 1e9, alpha_x, alpha_y))
    best = minmin.minimize(known, method="reduced-newton", tol=1e-13)
    assert best.certified
    for method in ("reduced-newton", "reduced-lbfgs"):
        r = minmin.minimize(minmin.problems.from_torch(fun, *start), method=method, tol=1e-6)
        assert r.success
        assert not r.certified
        assert r.fun - best.fun <= min(r.gap_bound, 1e-6) + 1e-13
