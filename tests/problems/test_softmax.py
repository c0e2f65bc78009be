"""Multinomial logistic regression: what f is, where its minimum is, and that the bound is never below the gap."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax, xlogy
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

import minmin
from minmin.methods import y_system
from minmin.methods.y_system import YSystem
from minmin.problems import GLM, Softmax
from minmin.problems.linear.designs import DenseDesign
from reference import random_softmax

seeds = st.integers(0, 10**6)


def random_point(problem, rng, size=0.3):
    return size * rng.standard_normal(problem.d_x), size * rng.standard_normal(problem.d_y)


@given(seed=seeds)
def test_the_value_is_the_formula(seed):
    rng = np.random.default_rng(seed)
    n, K = 20, int(rng.integers(2, 5))
    X, Y, target = rng.standard_normal((n, 3)), rng.standard_normal((n, 2)), rng.integers(0, K, size=n)
    weight, alpha_x, alpha_y = rng.uniform(size=n), rng.uniform(size=3), rng.uniform(size=2)
    A, B = rng.standard_normal((3, K)), rng.standard_normal((2, K))
    problem = Softmax(X, Y, target, K, alpha_x=alpha_x, alpha_y=alpha_y, sample_weight=weight)
    losses = -log_softmax(X @ A + Y @ B, axis=1)[np.arange(n), target]
    expected = np.average(losses, weights=weight) + 0.5 * np.sum(alpha_x * A.T**2) + 0.5 * np.sum(alpha_y * B.T**2)
    assert problem.fix(A.reshape(-1)).at(B.reshape(-1)).value == pytest.approx(expected, rel=1e-12)


@given(seed=seeds)
def test_two_classes_are_logistic_regression(seed):
    """With coefficients ∓x/2, whose penalty is half of that on x."""
    rng = np.random.default_rng(seed)
    X, Y, labels = rng.standard_normal((40, 3)), rng.standard_normal((40, 2)), rng.integers(0, 2, size=40)
    two = Softmax(X, Y, labels, 2, alpha_x=2e-2, alpha_y=[2e-1, 0.0])
    one = GLM(X, Y, labels, alpha_x=1e-2, alpha_y=[1e-1, 0.0])
    x, y = rng.standard_normal(3), rng.standard_normal(2)
    split = [np.outer(v, [-0.5, 0.5]).reshape(-1) for v in (x, y)]
    assert two.fix(split[0]).at(split[1]).value == pytest.approx(one.fix(x).at(y).value, rel=1e-12)
    r, s = (minmin.minimize(p, tol=1e-12) for p in (two, one))
    assert r.certified
    assert np.allclose(r.x.reshape(3, 2), np.outer(s.x, [-0.5, 0.5]), atol=1e-4)
    assert np.allclose(r.y.reshape(2, 2), np.outer(s.y, [-0.5, 0.5]), atol=1e-4)


@given(seed=seeds)
def test_what_f_does_not_depend_on_stays_zero(seed):
    """One number added to an intercept of every class changes nothing, and no step adds one."""
    rng = np.random.default_rng(seed)
    problem = random_softmax(rng, free_y=True)
    x, y = random_point(problem, rng)
    shifted = y.copy()
    shifted[-problem.classes :] += 3.7
    here, there = problem.fix(x).at(y), problem.fix(x).at(shifted)
    assert here.value == pytest.approx(there.value, rel=1e-12)
    assert np.allclose(here.grad_y, there.grad_y, atol=1e-13)
    assert abs(np.sum(here.grad_y[-problem.classes :])) <= 1e-15
    r = minmin.minimize(problem, x, shifted, tol=1e-9)
    assert r.success
    assert r.certified
    sums = np.r_[r.x, r.y].reshape(-1, problem.classes).sum(axis=1)
    assert np.abs(sums).max() <= 1e-3 * (1 + np.abs(r.x).max() + np.abs(r.y).max())
    assert abs(sums[-1]) <= 1e-9 * (1 + np.abs(r.y).max())


@given(seed=seeds, log_size=st.floats(-6, 2))
def test_the_fenchel_gap_is_at_most_the_hessian(seed, log_size):
    """ℓ(m) + ℓ*(s) - <m, s> = KL(q, p) <= <u, ℓ''u> wherever q = p + ℓ''u is a distribution."""
    rng = np.random.default_rng(seed)
    problem = random_softmax(rng)
    n, K = problem.X.shape[0], problem.classes
    loss, target = problem.loss, problem.target
    margins, u = 3.0 * rng.standard_normal((n, K)), 10**log_size * rng.standard_normal((n, K))
    hessian = loss.hessian(margins, target, loss.prepare(margins, target), problem.weights)
    p = softmax(margins, axis=1)
    change = hessian.times(u) / problem.weights[:, None]
    q = p + change
    assert loss.is_in_dual_domain(u, margins, target, hessian) == bool(np.all(q >= -1e-300))
    if np.all(q >= 0):
        gap = np.sum(xlogy(q, q / p) - change, axis=1)
        assert np.all(gap <= np.sum(u * change, axis=1) + 1e-13)
    dense = [np.diag(row) - np.outer(row, row) for row in p]
    expected = np.einsum("nkl,nl->nk", dense, u)
    assert np.allclose(change, expected, rtol=1e-9, atol=1e-12 * np.abs(u).max())


@pytest.mark.parametrize("free", [False, True])
@given(seed=seeds, log_distance=st.floats(-9, 1))
def test_the_bound_is_never_below_the_gap(free, seed, log_distance):
    rng = np.random.default_rng(seed)
    problem = random_softmax(rng, sparse=bool(seed % 2), free_y=free)
    best = minmin.minimize(problem, method="reduced-newton", tol=1e-14)
    x = best.x + 10**log_distance * rng.standard_normal(problem.d_x)
    y = best.y + 10**log_distance * rng.standard_normal(problem.d_y)
    here = problem.fix(x).at(y)
    system = YSystem(here)
    bound, _ = problem.bound_after(here, here.model_after(system.y_step.dy), system.full_rank_root)
    slack = 2 * best.gap_bound + 1e-15 * (1 + here.value)
    assert bound.basis == ("data" if np.isfinite(bound.value) else "estimate")
    assert here.value - best.fun <= bound.value + slack
    assert here.value - best.fun <= problem.bound(problem.evaluate(x, y)).value + slack


def test_the_bound_holds_in_every_step_and_is_reached_in_either_precision():
    rng = np.random.default_rng(0)
    for case in range(30):
        problem = random_softmax(rng, sparse=bool(case % 2), free_y=bool(case % 3))
        minimum = minmin.minimize(problem, tol=1e-14).fun
        dtype, tol = (np.float32, 1e-3) if case % 5 == 0 else (np.float64, 1e-10)

        def compare(record, problem=problem, minimum=minimum):
            value = problem.fix(np.asarray(record.x, float)).at(np.asarray(record.y, float)).value
            assert value - minimum <= record.gap_bound + 1e-14

        r = minmin.minimize(problem, np.zeros(problem.d_x, dtype), tol=tol, callback=compare)
        assert r.success
        assert r.certified
        assert r.x.dtype == dtype


@pytest.mark.parametrize("free", [False, True])
def test_a_large_y_is_certified_too(free, monkeypatch):
    monkeypatch.setattr(y_system, "DENSE_UP_TO", 0)
    rng = np.random.default_rng(0)
    for case in range(10):
        problem = random_softmax(rng, sparse=bool(case % 2), free_y=free)
        r = minmin.minimize(problem, tol=1e-9)
        assert r.success
        assert r.certified
        assert r.calls.get("hess_yy", 0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("dense_up_to", [0, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_intercept_in_another_library(dense_up_to, dtype, monkeypatch):
    monkeypatch.setattr(y_system, "DENSE_UP_TO", dense_up_to)
    problem = random_softmax(np.random.default_rng(2), free_y=True)
    xp, tol = array_api_strict, {"float32": 1e-3, "float64": 1e-9}[dtype]
    start = xp.zeros(problem.d_x, dtype=getattr(xp, dtype))
    r = minmin.minimize(problem, start, method="reduced-newton", tol=tol)
    assert r.success
    assert r.certified
    assert r.y.dtype == start.dtype
    far = minmin.minimize(problem, start + 1e3, method="reduced-newton", tol=10 * tol)
    assert far.fun == pytest.approx(r.fun, abs=20 * tol)


def sets():
    X, target = load_iris(return_X_y=True)
    yield X, target, 1.0
    X, target = load_digits(return_X_y=True)
    yield X / 16.0, target, 0.1
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 80), density=0.1, rng=rng, format="csr")
    yield X, rng.integers(0, 4, size=300), 10.0


@pytest.mark.parametrize("case", range(3))
def test_it_agrees_with_scikit_learn_to_what_the_bound_promises(case):
    X, target, C = list(sets())[case]
    n, alpha = len(target), 1.0 / (C * len(target))
    problem = Softmax(X, np.ones((n, 1)), target, alpha_x=alpha, alpha_y=0.0)
    r = minmin.minimize(problem, tol=1e-11)
    assert r.certified
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(X, target)
    theirs = peer.coef_.T.reshape(-1)
    gap = problem.fix(theirs).at(peer.intercept_).value - r.fun + r.gap_bound
    assert gap >= 0.0
    apart = np.sqrt(2 * r.gap_bound / alpha) + np.sqrt(2 * gap / alpha)
    assert np.linalg.norm(r.x - theirs) <= apart + 1e-12
    assert np.allclose(r.x, theirs, atol=1e-3)
    assert np.allclose(r.y, peer.intercept_, atol=1e-3)


@given(seed=seeds, log_size=st.floats(-1, 5))
def test_the_surrogate_curvature_leads_to_the_slopes_at_zero(seed, log_size):
    rng = np.random.default_rng(seed)
    problem = random_softmax(rng)
    loss, target, n, K = problem.loss, problem.target, problem.X.shape[0], problem.classes
    margins = 10**log_size * rng.standard_normal((n, K))
    shared = loss.prepare(margins, target)
    slopes = loss.slope(margins, target, shared)
    near = loss.hessian(margins, target, shared, problem.weights)
    surrogate = loss.surrogate_hessian(margins, target, slopes, problem.weights, near)
    at_zero = loss.slope(0.0 * margins, target, loss.prepare(0.0 * margins, target))
    led = surrogate.times(margins)
    change = problem.weights[:, None] * (slopes - at_zero)
    apart = np.diff(np.sort(margins, axis=1), axis=1).min(axis=1) > 10.0
    assert np.allclose(led[apart], change[apart], rtol=1e-3, atol=1e-6)
    u, design = rng.standard_normal((n, K)), problem.y_block.design
    for hessian in (near, surrogate):
        assert np.allclose(np.sum(hessian.times(u), axis=1), 0.0, atol=1e-12)
        images = [hessian.times(design.image(e.reshape(-1, K))) for e in np.eye(problem.d_y)]
        columns = [design.adjoint(image).reshape(-1) for image in images]
        assert np.allclose(hessian.gram(design), np.array(columns), rtol=1e-9, atol=1e-14)
    assert np.sum(u * surrogate.times(u)) >= np.sum(u * near.times(u)) - 1e-12


@pytest.mark.parametrize("size", [1e1, 1e3])
def test_far_starts_are_left_behind(size):
    rng = np.random.default_rng(1)
    for _ in range(5):
        problem = random_softmax(rng, free_y=True)
        minimum = minmin.minimize(problem, tol=1e-12).fun
        r = minmin.minimize(problem, *random_point(problem, rng, size), tol=1e-9)
        assert r.success
        assert r.fun == pytest.approx(minimum, abs=2e-9)


def test_no_minimum_is_said_only_where_there_is_none():
    rng = np.random.default_rng(0)
    X, ones = rng.standard_normal((60, 2)), np.ones((60, 1))
    target = np.argmax(X @ rng.standard_normal((2, 3)), axis=1)
    for problem in (
        Softmax(X, ones, target, alpha_x=0.0, alpha_y=0.1),
        Softmax(ones, X, target, alpha_x=0.1, alpha_y=0.0),
        Softmax(X, ones, rng.integers(0, 2, size=60), 3, alpha_x=0.1, alpha_y=0.0),  # nobody is of the third class
    ):
        with pytest.raises(minmin.NoMinimumError):
            minmin.minimize(problem, tol=0)
    for problem in (
        Softmax(X, ones, target, alpha_x=0.1, alpha_y=0.0),
        Softmax(X, ones, rng.integers(0, 2, size=60), 3, alpha_x=0.1, alpha_y=0.1),
    ):
        assert minmin.minimize(problem, tol=1e-9).certified


def test_columns_of_x_without_a_penalty_leave_an_estimate():
    rng = np.random.default_rng(0)
    X, Y, target = rng.standard_normal((200, 3)), np.ones((200, 1)), rng.integers(0, 3, size=200)
    r = minmin.minimize(Softmax(X, Y, target, alpha_x=[0.1, 0.0, 1e-3], alpha_y=0.0), tol=1e-8)
    exchanged = minmin.minimize(
        Softmax(np.c_[X[:, [0, 2]]], np.c_[X[:, 1], Y], target, alpha_x=[0.1, 1e-3], alpha_y=0.0)
    )
    assert r.success
    assert not r.certified
    assert r.fun == pytest.approx(exchanged.fun, abs=1e-6)


def test_small_losses_keep_their_digits():
    """Where a sample is nearly sure its loss is the others' exponentials, not what one minus something leaves."""
    problem = Softmax(np.eye(3), np.ones((3, 1)), [0, 1, 2], alpha_x=0.0, alpha_y=0.0)
    here = problem.fix(50.0 * np.eye(3).reshape(-1)).at(np.zeros(3))
    small = 2 * np.exp(-50.0)
    assert here.value == pytest.approx(small, rel=1e-12)
    assert here.grad_x.reshape(3, 3)[0] == pytest.approx(np.array([-small, small / 2, small / 2]) / 3, rel=1e-12)
    far = problem.fix(1e6 * (1 - np.eye(3)).reshape(-1)).at(np.zeros(3))
    assert far.value == pytest.approx(1e6 + np.log(2), rel=1e-12)


def test_passes_are_the_products_with_all_classes_at_once():
    plain = random_softmax(np.random.default_rng(3), free_y=True)
    made = []

    class Counting(DenseDesign):
        def image(self, v):
            made.append(v.shape)
            return super().image(v)

        def adjoint(self, r):
            made.append(r.shape)
            return super().adjoint(r)

    labels = plain.target
    penalties = {"alpha_x": plain.alpha_x, "alpha_y": plain.alpha_y}
    problem = Softmax(Counting(plain.X), plain.Y, labels, plain.classes, **penalties, sample_weight=plain.weights)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-9)
    others = r.nit - 1 + 2  # the preconditioner of every step but the first; norms of the rows, and over the penalties
    assert len(made) == r.calls["passes"] - others
    assert {shape[1] for shape in made} == {problem.classes}


def test_other_methods_libraries_wrappers_and_checkpoints(tmp_path):
    problem = random_softmax(np.random.default_rng(8))
    mild = Softmax(problem.X, problem.Y, problem.target, alpha_x=0.1, alpha_y=0.1)
    r = minmin.minimize(mild, tol=1e-10)
    for method in ("bam", "nag", "reduced-lbfgs"):
        other = minmin.minimize(mild, method=method, tol=1e-7)
        assert other.certified
        assert other.fun == pytest.approx(r.fun, abs=1e-7)
    assert minmin.minimize(mild.swapped(), method="reduced-newton", tol=1e-8).fun == pytest.approx(r.fun, abs=1e-8)
    assert minmin.minimize(minmin.Sum([mild, mild]), tol=1e-7).fun == pytest.approx(r.fun, abs=1e-7)
    xp = array_api_strict
    for dtype, tol in ((xp.float64, 1e-8), (xp.float32, 1e-3)):
        start = xp.zeros(mild.d_x, dtype=dtype)
        strict = minmin.minimize(mild, start, method="reduced-newton", tol=tol)
        assert strict.success
        assert strict.x.dtype == dtype
        assert strict.fun == pytest.approx(r.fun, abs=tol)
    for checked in (mild, random_softmax(np.random.default_rng(0), free_y=True)):
        assert minmin.check(checked).ok
    file = tmp_path / "run.minmin"
    for cut in (3, 5):
        minmin.minimize(mild, tol=1e-10, max_grad_y=cut, checkpoint=file)
    resumed = minmin.minimize(mild, tol=1e-10, checkpoint=file)
    assert np.array_equal(resumed.x, r.x)
    assert resumed.calls == r.calls


def test_one_rising_margin_among_many_rows_is_found():
    rng = np.random.default_rng(0)
    n, K = 5000, 3
    problem = Softmax(np.ones((n, 1)), np.ones((n, 1)), rng.integers(0, K, n), K, alpha_x=1.0, alpha_y=1.0)
    loss, target = problem.loss, problem.target
    change, slack = np.zeros((n, K)), np.full((n, K), 1e-3)
    assert not loss.rises(change, target, slack)
    assert not loss.falls(change, target, slack)
    row, of_class = n - 1, int(target[-1])
    change[row, of_class] = 1.0
    assert not loss.rises(change, target, slack)
    assert loss.falls(change, target, slack)
    change[row] += 5.0
    change[row, (of_class + 1) % K] = 6.5
    assert loss.rises(change, target, slack)


def test_margins_in_any_order_of_memory_give_the_same():
    problem = random_softmax(np.random.default_rng(4))
    loss, target, weights = problem.loss, problem.target, problem.weights
    margins = np.random.default_rng(5).standard_normal((problem.X.shape[0], problem.classes))
    results = []
    for table in (margins, np.asfortranarray(margins)):
        shared = loss.prepare(table, target)
        hessian = loss.hessian(table, target, shared, weights)
        results.append([f(table, target, shared) for f in (loss.value, loss.slope)])
        results[-1] += [hessian.times(table), hessian.diagonal, hessian.gram(problem.y_block.design)]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-17)
