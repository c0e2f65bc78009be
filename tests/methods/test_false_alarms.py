"""Right constants are not doubted because of rounding, whatever hides behind the gradients."""

import numpy as np
import pytest

import minmin
from minmin.problems import GLM, Composite, Function, Quadratic
from minmin.terms import L1
from reference import VARIANTS, as_function


def uncentred(dtype, mean, seed=0):
    """Centred features, an uncentred target: large residuals that are nearly orthogonal to the columns."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((200, 8))
    A -= A.mean(axis=0)
    target = A @ rng.standard_normal(8) + mean
    return A.astype(dtype), target.astype(dtype)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 2e3), (np.float32, 2e4), (np.float64, 1.7e9)])
@pytest.mark.parametrize("tol", [1e-4, 1e-9, 1e-300])
def test_large_residuals(variant, dtype, mean, tol):
    method, options = VARIANTS[variant]
    A, target = uncentred(dtype, mean)
    problem = GLM(A[:, :5], A[:, 5:], target, "squared", alpha_x=1e-3, alpha_y=1e-3)
    r = minmin.minimize(problem, method=method, tol=tol, max_grad_y=20_000, **options)
    assert r.status in ("converged", "stalled")


@pytest.mark.parametrize("method", ["bam", "nag"])
def test_a_users_residuals_are_not_known_and_the_run_stalls(method):
    A, target = uncentred(np.float64, 2e3)
    c = GLM(A[:, :5], A[:, 5:], target, "squared", alpha_x=1e-3, alpha_y=1e-3).constants

    def gradient(x, y):
        z = np.concatenate([x, y])
        return A.T @ (A @ z - target) / 200 + 1e-3 * z

    f = Function(None, lambda x, y: gradient(x, y)[:5], lambda x, y: gradient(x, y)[5:], d_x=5, d_y=3, constants=c)
    assert minmin.minimize(f, method=method, tol=1e-8).success
    assert minmin.minimize(f, method=method, tol=1e-300).status == "stalled"


@pytest.mark.parametrize("method", ["bam", "nag"])
@pytest.mark.parametrize("what", ["gradients", "values", "both"])
def test_callables_may_compute_in_single_precision(method, what):
    right = Quadratic.random(d_x=20, d_y=5, coupling=1.0)
    H, b = right.H.astype(np.float32), right.b.astype(np.float32)

    def value(x, y):
        z = np.concatenate([x, y]).astype(np.float32)
        return float(0.5 * z @ (H @ z) + b @ z)

    def gradient(x, y):
        return H @ np.concatenate([x, y]).astype(np.float32) + b

    exact = right.fix
    f = Function(
        value if what != "gradients" else lambda x, y: exact(x).at(y).value,
        (lambda x, y: gradient(x, y)[:20]) if what != "values" else lambda x, y: exact(x).at(y).grad_x,
        (lambda x, y: gradient(x, y)[20:]) if what != "values" else lambda x, y: exact(x).at(y).grad_y,
        d_x=20,
        d_y=5,
        constants=right.constants,
    )
    for tol in (1e-2, 1e-4, 1e-8):
        assert minmin.minimize(f, method=method, tol=tol).status in ("converged", "stalled")


def test_single_precision_survives_large_numbers():
    base = Quadratic.random(d_x=20, d_y=5, coupling=1.0)
    c = minmin.Constants(50e10, 500e10, 0.1e10, 0.1e10)
    problem = Quadratic((base.H * 1e10).astype(np.float32), (base.b * 1e10).astype(np.float32), 20, c)
    r = minmin.minimize(problem, np.full(20, 1e7, np.float32), np.full(5, 1e7, np.float32), tol=1e12)
    assert r.success


@pytest.mark.parametrize(
    ("method", "L"),
    [
        *((m, 1.1) for m in ("reduced-lbfgs", "cutting-plane", "bam")),
        ("reduced-lbfgs", np.inf),
        ("cutting-plane", np.inf),
    ],
)
@pytest.mark.parametrize("what", ["a constant added and taken away", "log cosh"])
def test_terms_that_cancel_at_the_minimum(method, L, what):
    """f and z are zero at the minimum, and rounding errors are not: there they look larger than all of f."""
    adds = what == "a constant added and taken away"

    def value(z):
        return 0.05 * z @ z + ((0.45 * z @ z + 1e3) - 1e3 if adds else (np.logaddexp(z, -z) - np.log(2.0)).sum())

    def slope(z):
        return 0.1 * z + (0.9 * z if adds else np.tanh(z))

    c = minmin.Constants(L, L, 0.1, 0.1)
    gradients = (lambda x, y: slope(x), lambda x, y: slope(y))
    f = Function(lambda x, y: value(np.append(x, y)), *gradients, d_x=3, d_y=2, constants=c)
    rng = np.random.default_rng(0)
    for scale in (1e-2, 1.0, 30.0):
        r = minmin.minimize(f, scale * rng.standard_normal(3), scale * rng.standard_normal(2), method=method, tol=1e-20)
        assert r.status in ("converged", "stalled")
        assert value(np.append(r.x, r.y)) <= 1e-6


@pytest.mark.parametrize("outer", ["x", "y"])
def test_terms_of_a_sum_are_not_taken_for_curvature(outer):
    exact = [as_function(Quadratic.random(d_x=4, d_y=3, coupling=1.0, seed=seed)) for seed in (4, 14)]
    f, g = (Function(e.value, e.grad_x, e.grad_y, d_x=4, d_y=3) for e in exact)
    problem = minmin.Sum([Composite(f, term_y=L1(3.0)), g])
    r = minmin.minimize(problem, method="reduced-lbfgs", outer=outer, tol=1e-6)
    assert r.status == "converged", r.message
