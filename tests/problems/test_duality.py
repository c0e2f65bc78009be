"""The duality gap is never below f - f*, whatever the loss, the point and the penalties."""

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

import minmin
from minmin.core.counting import Tally
from minmin.methods.y_system import YSystem
from minmin.problems import GLM
from minmin.problems.linear.duality_rounding import Rounding
from minmin.problems.linear.losses import LOSSES
from reference import random_columns_glm, random_glm, with_penalties

seeds = st.integers(0, 10**6)
NAMES = ("logistic", "squared", "poisson")


def conjugate(name, s, target):
    if name == "squared":
        return 0.5 * s * s + s * target
    if name == "poisson":
        return xlogy(s + target, s + target) - (s + target)
    q = -s * target
    return xlogy(q, q) + xlogy(1 - q, 1 - q)


@pytest.mark.parametrize("name", NAMES)
@given(margin=st.floats(-20, 20), u=st.floats(-1, 1), target=st.sampled_from([-1.0, 1.0, 3.0]))
def test_the_losses_fenchel_gap_is_at_most_curvature_times_the_square(name, margin, u, target):
    """ℓ(m) + ℓ*(s) - m·s <= ℓ''(m)·u² for s = ℓ'(m) + ℓ''(m)·u."""
    loss = LOSSES[name]
    m, t = np.array([margin]), np.array([np.sign(target) if name == "logistic" else abs(target)])
    shared = loss.prepare(m, t)
    curvature = loss.curvature(m, t, shared)
    s = loss.slope(m, t, shared) + curvature * u
    value = loss.value(m, t, shared)
    gap = value + conjugate(name, s, t) - m * s
    slack = 1e-13 * (np.abs(value) + np.abs(m * s) + 1)
    assert np.all(gap <= curvature * u * u + slack)
    assert np.all(gap >= -slack)


def bound_at(problem, x, y):
    here = problem.evaluate(x, y)
    system = YSystem(here)
    after = here.model_after(system.y_step.dy)
    return here, problem.bound_after(here, after, system.full_rank_root)[0]


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("penalised", ["both", "x", "columns"])
@given(seed=seeds, log_distance=st.floats(-9, 1))
def test_never_below_the_gap(loss, penalised, seed, log_distance):
    rng = np.random.default_rng(seed)
    if penalised == "columns":
        problem = random_columns_glm(rng, loss, sparse=bool(seed % 2), free_y=bool(seed % 3))
    else:
        problem = random_glm(rng, loss, sparse=bool(seed % 2))
        problem = with_penalties(problem, problem.alpha_x, problem.alpha_y if penalised == "both" else 0.0)
    try:
        best = minmin.minimize(problem, method="reduced-newton", tol=1e-15)
    except minmin.NoMinimumError:
        return
    minimum = best.fun - best.gap_bound
    x = best.x + 10**log_distance * rng.standard_normal(problem.d_x)
    y = best.y + 10**log_distance * rng.standard_normal(problem.d_y)
    here, bound = bound_at(problem, x, y)
    # The reference itself is known to within its bound only.
    slack = 2 * best.gap_bound + 1e-15 * (1 + abs(here.value))
    assert bound.basis == ("data" if np.isfinite(bound.value) else "estimate")
    assert here.value - minimum <= bound.value + slack
    assert here.value - minimum <= problem.bound(problem.evaluate(x, y)).value + slack


def test_far_ahead_of_the_model_there_is_no_bound():
    problem = random_glm(np.random.default_rng(0))
    here = problem.fix(np.zeros(problem.d_x)).at(np.zeros(problem.d_y))
    after = here.model_after(np.full(problem.d_y, 1e3))
    assert problem.bound_after(here, after, None)[0].value == math.inf


def test_it_costs_no_pass_beyond_the_gradient_but_once_a_run():
    tally = Tally()
    problem = random_glm(np.random.default_rng(0)).counted(tally)
    x, y = np.ones(problem.d_x), np.ones(problem.d_y)
    bound_at(problem, x, y)
    assert tally["passes"] == 3  # Xx, Xᵀθ, and the norms of the rows
    bound_at(problem, x, y)
    assert tally["passes"] == 5


def test_it_is_tighter_than_strong_convexity_where_y_is_hardly_penalised():
    problem = random_glm(np.random.default_rng(0))
    hardly = with_penalties(problem, problem.alpha_x, 1e-9)
    best = minmin.minimize(hardly, method="reduced-newton", tol=1e-12)
    here, bound = bound_at(hardly, best.x, best.y + 1e-3)
    assert bound.value <= 1e-3 * hardly.bound(here).value


def test_an_unpenalised_block_without_a_dual_point_has_no_bound():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    problem = GLM(X, Y, np.where(rng.uniform(size=30) < 0.5, 1.0, -1.0), alpha_x=0.0, alpha_y=0.1)
    _, bound = bound_at(problem, rng.standard_normal(4), rng.standard_normal(2))
    assert bound.value == math.inf


def test_a_tiny_column_without_a_penalty_is_not_taken_for_zero():
    """Its gradient is below the rounding errors of other columns, but a huge coefficient takes f down to zero."""
    z = np.random.default_rng(0).standard_normal((100, 1))
    z -= z.mean()
    ones = np.ones((100, 1))
    problem = GLM(np.c_[ones, 1e-16 * z], ones, z[:, 0], "squared", alpha_x=0.0, alpha_y=1.0)
    r = minmin.minimize(problem, method="reduced-newton")
    assert r.fun <= r.gap_bound + 1e-30
    here, bound = bound_at(problem, np.zeros(2), np.zeros(1))
    assert here.value <= bound.value


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_that_the_hessian_in_y_hides_leave_no_proof(loss, dtype):
    """Columns that differ by rounding only: a proof would need a bound on how far apart their coefficients are."""
    rng = np.random.default_rng(1)
    X, a, b = (rng.standard_normal((30, 1)) for _ in range(3))
    Y = np.c_[a, a + 10 * np.finfo(dtype).eps * b]
    target = {"logistic": np.where(b > a, 1.0, -1.0), "squared": b, "poisson": np.exp(b)}[loss][:, 0]
    problem = GLM(*(A.astype(dtype) for A in (X, Y, target)), loss, alpha_x=0.1, alpha_y=0.0)
    _, bound = bound_at(problem, np.zeros(1, dtype), np.zeros(2, dtype))
    assert bound.basis != "data"
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-3)
    assert not r.certified or r.gap_bound >= r.fun  # by the constants of least squares, which know how little they know


def test_a_column_of_zeros_takes_no_proof_away():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 2)), np.c_[rng.standard_normal(30), np.zeros(30)]
    labels = np.where(rng.uniform(size=30) < 0.5, 1.0, -1.0)
    r = minmin.minimize(GLM(X, Y, labels, alpha_x=0.1, alpha_y=0.0), method="reduced-newton", tol=1e-9)
    assert r.success
    assert r.certified


@pytest.mark.parametrize("seed", range(20))
def test_rough_limits_of_rounding_errors_lie_above_the_exact_ones(seed):
    problem = random_columns_glm(np.random.default_rng(seed), NAMES[seed % 3])
    problem = with_penalties(problem, problem.alpha_x, 0.0)
    rng = np.random.default_rng(seed)
    here = problem.evaluate(rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y))
    after = here.model_after(YSystem(here).y_step.dy)
    rough, exact = (Rounding(here, after, rough=rough) for rough in (True, False))
    pairs = [
        (rough.y_sizes, exact.y_sizes),
        (rough.noise_by_y_column(rough.y_sizes), exact.noise_by_y_column(exact.y_sizes)),
        (np.array(rough.in_x_over_penalty()), np.array(exact.in_x_over_penalty())),
    ]
    assert all((high >= (1.0 - 1e-12) * low).all() for high, low in pairs)


@pytest.mark.parametrize("unit", [1e-170, 1e-200, 1e-300])
def test_a_bound_that_underflows_is_not_zero(unit):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    problem = GLM(X, Y, unit * rng.standard_normal(20), "squared", alpha_x=1e-3, alpha_y=1e-3)
    r = minmin.minimize(problem, tol=1e-6, max_iterations=1)
    assert r.certified
    assert r.gap_bound > 0.0
    assert minmin.Constants(L_x=1.0, L_y=1.0, mu_x=0.5, mu_y=0.5).bound((unit, 0.0), (0.0, 0.0), 1e-16).value > 0.0


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_weight_spoils_no_bound(name, make):
    rng = np.random.default_rng(0)
    X, Y, weights = rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), rng.uniform(1.0, 2.0, 30)
    target = (X[:, 0] > 0).astype(float)
    wild, weights[3] = X.copy(), 0.0
    wild[3] = 1e300
    options = {"alpha_x": 1e-2, "alpha_y": 1e-2}
    r = minmin.minimize(GLM(make(wild), make(Y), target, name, sample_weight=weights, **options), tol=1e-12)
    kept = weights > 0.0
    same = GLM(X[kept], Y[kept], target[kept], name, sample_weight=weights[kept], **options)
    assert r.certified
    assert r.success
    assert np.allclose(r.x, minmin.minimize(same, tol=1e-12).x, atol=1e-5)
