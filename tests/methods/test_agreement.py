"""Answers agree with scikit-learn's and glum's to what the certificate promises."""

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor, Ridge

import minmin
from benchmark_utils import clicks, real
from benchmark_utils.model import Model
from benchmark_utils.peers import PEERS
from benchmark_utils.timing import fit

ALPHA_X, ALPHA_Y = 1e-3, 1e-5


def data(name):
    if name == "first kind":
        return clicks.first_kind(seed=7, scale=0.1)
    if name == "second kind":
        return clicks.second_kind(seed=7, scale=0.05)
    if (reason := real.missing(name)) is not None:
        pytest.skip(reason)
    return real.load(name)


def require_agreement(problem, x, y, tol=1e-8):
    """f cannot be below what was proved, and two points that are both nearly optimal are near each other.

    By strong convexity alpha/2 |z - z*|² <= f(z) - f* in each block.
    """
    r = minmin.minimize(problem, method="reduced-newton", tol=tol)
    assert r.success
    assert r.certified
    value = problem.fix(x).at(y).value
    lowest = r.fun - r.gap_bound
    assert value >= lowest - 1e-12
    for ours, theirs, alpha in ((r.x, x, problem.alpha_x), (r.y, y, problem.alpha_y)):
        promised = np.sqrt(2 * max(value - lowest, 0) / alpha) + np.sqrt(2 * r.gap_bound / alpha)
        assert np.linalg.norm(ours - theirs) <= promised
    assert value - lowest <= 1e-5  # so that the promise says something


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "peer"),
    [
        *((name, "scikit-learn newton-cg") for name in ("a1a", "a9a", "w8a", "criteo", "first kind", "second kind")),
        *((name, "glum lbfgs") for name in ("a1a", "a9a", "second kind")),  # it takes 6 s on each of the others
    ],
)
def test_logistic_regression(name, peer):
    X, Y, labels = data(name)
    problem = minmin.problems.GLM(X, Y, labels, alpha_x=ALPHA_X, alpha_y=ALPHA_Y)
    x, y = fit(PEERS[peer], Model(X, Y, labels, ALPHA_X, ALPHA_Y), tol=1e-6)
    require_agreement(problem, x, y)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_other_losses(loss):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 20)), rng.standard_normal((300, 4))
    margins = 0.3 * (X[:, 0] - Y[:, 0])
    target = margins + rng.standard_normal(300) if loss == "squared" else rng.poisson(np.exp(margins)).astype(float)
    scale = np.sqrt(ALPHA_X / ALPHA_Y)
    A = np.hstack([X, scale * Y])
    peer = (
        Ridge(alpha=300 * ALPHA_X, fit_intercept=False)
        if loss == "squared"
        else PoissonRegressor(alpha=ALPHA_X, fit_intercept=False, solver="newton-cholesky", tol=1e-8)
    )
    v = peer.fit(A, target).coef_
    problem = minmin.problems.GLM(X, Y, target, loss, alpha_x=ALPHA_X, alpha_y=ALPHA_Y)
    require_agreement(problem, v[:20], scale * v[20:])
