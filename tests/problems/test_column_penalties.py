"""A penalty for every column: the problem whose columns are scaled by its root, and what no penalty at all means."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.core.start import make_start
from minmin.loop.checkpoint import fingerprint
from minmin.methods import ReducedNewton, y_system
from minmin.problems import GLM
from minmin.problems.linear.losses import LOSSES
from reference import glm_minimum, random_columns_glm, random_glm, with_penalties

seeds = st.integers(0, 10**6)


def with_unit_penalties(problem):
    """Columns over the root of their penalty, and what takes coefficients there."""
    alphas = ((problem.alpha_x, problem.d_x), (problem.alpha_y, problem.d_y))
    roots = [np.sqrt(np.broadcast_to(alpha, columns)) for alpha, columns in alphas]
    X, Y = (A / root for A, root in zip((problem.X, problem.Y), roots, strict=True))
    twin = GLM(X, Y, problem.target, problem.loss.name, alpha_x=1.0, alpha_y=1.0, sample_weight=problem.weights)
    return twin, *roots


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
@given(seed=seeds)
def test_it_is_the_problem_with_columns_scaled_by_the_root(loss, seed):
    rng = np.random.default_rng(seed)
    problem = random_columns_glm(rng, loss, free_y=False)
    scaled, root_x, root_y = with_unit_penalties(problem)
    x, y = 0.3 * rng.standard_normal(problem.d_x), 0.3 * rng.standard_normal(problem.d_y)
    here, there = problem.fix(x).at(y), scaled.fix(root_x * x).at(root_y * y)
    close = {"rtol": 1e-9, "atol": 1e-9}
    assert here.value == pytest.approx(there.value, rel=1e-12)
    assert np.allclose(here.grad_x, root_x * there.grad_x, **close)
    assert np.allclose(here.grad_y, root_y * there.grad_y, **close)
    assert np.allclose(here.hess_yy(), root_y * there.hess_yy() * root_y[:, None], **close)
    one, other = (minmin.minimize(p, tol=1e-8) for p in (problem, scaled))
    assert one.success
    assert one.certified
    assert one.fun == pytest.approx(other.fun, abs=one.gap_bound + other.gap_bound + 1e-12)


@given(seed=seeds)
def test_the_bound_is_that_of_scaled_columns(seed):
    """So it is as tight where penalties differ by orders of magnitude as where there is one."""
    problem = random_columns_glm(np.random.default_rng(seed), free_y=False)
    scaled, root_x, root_y = with_unit_penalties(problem)
    best = minmin.minimize(problem, tol=1e-3)
    bounds = []
    for p, x, y in ((problem, best.x, best.y), (scaled, root_x * best.x, root_y * best.y)):
        here = p.fix(x).at(y)
        system = minmin.methods.y_system.YSystem(here)
        after = here.model_after(system.y_step.dy)
        bounds.append(p.bound_after(here, after, system.full_rank_root)[0].value)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6, abs=1e-13)


@given(seed=seeds)
def test_equal_penalties_are_one(seed):
    problem = random_glm(np.random.default_rng(seed), sparse=bool(seed % 2))
    numbers = with_penalties(problem, problem.alpha_x, problem.alpha_y)
    columns = with_penalties(problem, np.full(problem.d_x, problem.alpha_x), [problem.alpha_y] * problem.d_y)
    one, other = (minmin.minimize(p, tol=1e-9) for p in (numbers, columns))
    assert np.array_equal(one.x, other.x)
    assert one.calls == other.calls
    assert one.gap_bound == other.gap_bound


@given(seed=seeds)
def test_nearly_equal_penalties_are_nearly_one(seed):
    rng = np.random.default_rng(seed)
    problem = random_glm(rng, sparse=bool(seed % 2))
    alphas = [a * (1 + 1e-9 * rng.uniform(size=d)) for a, d in ((problem.alpha_x, problem.d_x), (problem.alpha_y, 5))]
    columns = with_penalties(problem, alphas[0], alphas[1][: problem.d_y])
    one, other = (minmin.minimize(p, tol=1e-9) for p in (problem, columns))
    assert np.allclose(one.x, other.x, rtol=1e-6, atol=1e-7)
    assert one.nit == other.nit
    assert one.gap_bound == pytest.approx(other.gap_bound, rel=1e-3, abs=1e-12)
    by_column = int(problem.d_x > 1)
    assert other.calls["passes"] == one.calls["passes"] + by_column  # the norms of the rows over the penalties


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
@given(seed=seeds)
def test_columns_of_y_without_a_penalty_are_certified_beside_others(loss, seed):
    rng = np.random.default_rng(seed)
    problem = random_columns_glm(rng, loss, sparse=bool(seed % 2))
    try:
        r = minmin.minimize(problem, tol=1e-8)
    except minmin.NoMinimumError:
        assert loss != "squared"
        return
    _, minimum = glm_minimum(problem)
    assert r.success
    assert r.certified
    assert -1e-12 * (1 + abs(minimum)) <= r.fun - minimum <= r.gap_bound + 1e-12 * (1 + abs(minimum))


@pytest.mark.parametrize("loss", LOSSES)
def test_an_intercept_beside_a_large_y_is_certified(loss, monkeypatch):
    """There y is eliminated by conjugate gradients, and only its unpenalised columns by a factorisation."""
    monkeypatch.setattr(y_system, "DENSE_UP_TO", 0)
    rng = np.random.default_rng(4)
    for case in range(10):
        problem = random_columns_glm(rng, loss, sparse=bool(case % 2), free_y=False)
        Y = np.c_[problem.Y, np.ones(60)]
        problem = GLM(problem.X, Y, problem.target, loss, alpha_x=problem.alpha_x, alpha_y=np.r_[problem.alpha_y, 0.0])
        values = []

        def note(record, problem=problem, values=values):
            values.append((record.value, record.gap_bound))

        r = minmin.minimize(problem, tol=1e-9, callback=note)
        assert r.success
        assert r.certified
        assert r.calls.get("hess_yy", 0) == 0
        _, minimum = glm_minimum(problem)
        assert all(value - minimum <= bound + 1e-12 * (1 + abs(minimum)) for value, bound in values)


def test_an_intercept_is_certified_for_every_loss_in_either_precision():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((200, 5)), rng.standard_normal((200, 2))
    margins = X[:, 0] + Z[:, 0] + 0.5
    targets = {
        "logistic": np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-margins)), 1.0, -1.0),
        "squared": margins + rng.standard_normal(200),
        "poisson": rng.poisson(np.exp(margins / 3)).astype(float),
    }
    for loss, target in targets.items():
        for dtype, tol in ((np.float64, 1e-10), (np.float32, 1e-4)):
            Y = np.c_[Z, np.ones(200)].astype(dtype)
            problem = GLM(X.astype(dtype), Y, target.astype(dtype), loss, alpha_x=1e-2, alpha_y=[1e-2, 1e-7, 0.0])
            r = minmin.minimize(problem, tol=tol)
            assert r.success, (loss, dtype)
            assert r.certified
            assert r.x.dtype == dtype


def test_columns_of_x_without_a_penalty_leave_an_estimate():
    rng = np.random.default_rng(3)
    for _ in range(10):
        problem = random_columns_glm(rng, free_x=True)
        r = minmin.minimize(problem, tol=1e-8)
        _, minimum = glm_minimum(problem)
        assert r.success
        assert r.certified == (np.min(problem.alpha_x) > 0.0)
        assert r.fun - minimum <= r.gap_bound + 1e-12


@pytest.mark.parametrize("sparse", [False, True])
def test_no_minimum_is_found_only_where_what_separates_has_no_penalty(sparse):
    rng = np.random.default_rng(0)
    labels = np.where(rng.uniform(size=40) < 0.5, 1.0, -1.0)
    separating, other, more = labels * rng.uniform(0.5, 1.0, size=40), *rng.standard_normal((2, 40))
    columns = np.c_[other, separating]
    columns = scipy.sparse.csr_array(columns) if sparse else columns
    rest = more[:, None]
    for free, alpha in ((True, [1e-2, 0.0]), (False, [0.0, 1e-2])):
        for block in "xy":
            in_x = block == "x"
            problem = GLM(
                columns if in_x else rest,
                rest if in_x else columns,
                labels,
                alpha_x=alpha if in_x else 1e-2,
                alpha_y=1e-2 if in_x else alpha,
            )
            if free:
                with pytest.raises(minmin.NoMinimumError):
                    minmin.minimize(problem, tol=1e-12)
                with pytest.raises(minmin.NoMinimumError):
                    minmin.minimize(minmin.Sum([problem]) if block == "y" else problem, method="reduced-newton", tol=0)
            else:
                assert minmin.minimize(problem, tol=1e-8).success


def test_other_methods_other_libraries_and_exchanged_blocks_follow():
    problem = random_columns_glm(np.random.default_rng(5), free_y=False)
    mild = with_penalties(problem, np.geomspace(1e-1, 1e-2, problem.d_x), np.geomspace(1.0, 1e-2, problem.d_y))
    _, minimum = glm_minimum(mild)
    for method, options in (("bam", {}), ("bam", {"outer": "y"}), ("nag", {}), ("reduced-lbfgs", {})):
        r = minmin.minimize(mild, method=method, tol=1e-8, **options)
        assert r.success
        assert r.certified
        assert r.fun == pytest.approx(minimum, abs=1e-8)
    exchanged = minmin.minimize(mild.swapped(), method="reduced-newton", tol=1e-9)
    assert exchanged.certified
    assert exchanged.fun == pytest.approx(minimum, abs=1e-9)
    start = array_api_strict.zeros(mild.d_x, dtype=array_api_strict.float32)
    assert minmin.minimize(mild, start, tol=1e-4).fun == pytest.approx(minimum, abs=1e-4)
    summed = minmin.Sum([mild, mild])
    assert minmin.minimize(summed, tol=1e-7).fun == pytest.approx(minimum, abs=1e-7)
    assert minmin.check(mild).ok


def test_problems_with_other_penalties_are_other_problems():
    problem = random_columns_glm(np.random.default_rng(1), free_y=False)
    x, y = make_start(problem)
    other = with_penalties(problem, np.r_[0.3, problem.alpha_x[1:]], problem.alpha_y)
    same = with_penalties(problem, problem.alpha_x.copy(), problem.alpha_y)
    marks = [fingerprint(p, ReducedNewton(), x, y)["problem"] for p in (problem, other, same)]
    assert marks[0] != marks[1]
    assert marks[0] == marks[2]
