"""The page on soft clustering: its condition for convexity, its answer and what it says about the alternatives."""

import numpy as np
import pytest

import minmin

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module")
def page(run_page):
    before = jax.config.jax_enable_x64
    yield run_page("soft_clustering")
    jax.config.update("jax_enable_x64", before)


def compute_least_eigenvalue(problem, x, p):
    """Of the whole Hessian of f in (x, y), by differences of gradients."""
    z, step = np.concatenate([x.ravel(), p[:, :-1].ravel()]), 1e-5

    def differentiate(z):
        at = problem.evaluate(z[: x.size], z[x.size :])
        return np.concatenate([at.grad_x, at.grad_y])

    hessian = [differentiate(z + step * e) - differentiate(z - step * e) for e in np.eye(len(z))]
    return np.linalg.eigvalsh(np.array(hessian) / (2.0 * step))[0]


@pytest.mark.slow
def test_f_is_convex_from_mu_0_on_and_not_far_below(page):
    voters, tau, rng = page["iris"][::5], 0.1, np.random.default_rng(0)
    voters = voters - voters.mean(axis=0)
    mu = page["convex_from"](voters, tau)
    convex, not_convex = (page["make_problem"](voters, voters[:3], tau, factor * mu) for factor in (1.0, 0.1))
    votes = 0.99 * rng.dirichlet(np.full(3, 0.5), (10, 30)) + 0.01 / 3
    for p in votes:
        assert compute_least_eigenvalue(convex, voters[rng.integers(30, size=3)], p) > 0.0
    far = np.tile(voters[(voters**2).sum(axis=1).argmax()], (3, 1))
    undecided = np.tile([0.499, 0.499, 0.002], (30, 1))
    assert compute_least_eigenvalue(convex, far, undecided) > 0.0
    assert compute_least_eigenvalue(not_convex, far, undecided) < 0.0


@pytest.mark.slow
def test_the_minimum_is_the_fixed_point_of_elections(page):
    voters, homes, tau, mu = page["iris"], page["homes"], page["tau"], page["mu"]
    x, p, _ = page["hold_elections"](voters, homes, tau, mu)
    r = minmin.minimize(page["make_problem"](voters, homes, tau, mu), tol=0.0, gtol=1e-9)
    assert r.success
    np.testing.assert_allclose(r.x, x, atol=1e-6)
    np.testing.assert_allclose(r.y, p[:, :-1], atol=1e-6)


@pytest.mark.slow
def test_what_the_page_says(page):
    convex, slow = page["counts"], page["not_convex"]
    assert convex["elections"] < convex["minmin"]
    assert slow["SciPy, best p by hand"] <= slow["minmin"] < slow["elections"]
    assert all(score["convex"] < score["k-means"] for score in page["scores"].values())
