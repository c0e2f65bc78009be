"""Preconditioners that couple the classes: what they are the inverse of, and that runs with them can be resumed."""

import math

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import minmin
from minmin.methods.y_system import YSystem
from minmin.numerics import cg
from minmin.problems import Softmax
from minmin.problems.linear import preconditioner
from minmin.problems.linear.designs import DenseDesign, Design
from minmin.problems.linear.preconditioner import (
    CoupledPreconditioner,
    KroneckerPreconditioner,
    LinearPreconditioner,
    SampledPreconditioner,
)

KINDS = {"coupled": CoupledPreconditioner, "sample": SampledPreconditioner, "mean": KroneckerPreconditioner}


def make_softmax(seed, rows=40, sparse=False, dtype=np.float64, **changes):
    """Correlated columns in different units, a penalty per column, and samples without weight."""
    rng = np.random.default_rng(seed)
    columns, classes = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    X = rng.standard_normal((rows, columns)) @ rng.standard_normal((columns, columns)) * rng.uniform(0.1, 3.0, columns)
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    Y = np.c_[np.ones(rows), rng.standard_normal((rows, 1))]
    weights = np.where(rng.uniform(size=rows) < 0.2, 0.0, rng.uniform(0.1, 2.0, rows))
    given = {"alpha_x": rng.uniform(0.02, 1.0, columns), "alpha_y": [0.0, 0.1], "sample_weight": weights} | changes
    X, Y = X.astype(dtype), Y.astype(dtype)
    return Softmax(scipy.sparse.csr_array(X) if sparse else X, Y, rng.integers(0, classes, rows), classes, **given)


def make_preconditioner(evaluation, kind):
    """A small set of data is too cheap to be worth more than the first kind, so the others must be forced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preconditioner, "MOST_STEPS", 1e300)
        if kind == "mean":
            patch.setattr(preconditioner, "price_of_sample", lambda *arguments: math.inf)
        first = evaluation.x_preconditioner()
        chosen = first if kind == "coupled" else first.refine()
    assert type(chosen) is KINDS[kind]
    return chosen


def evaluate_near_zero(problem, seed):
    rng = np.random.default_rng(seed)
    return problem.fix(0.3 * rng.standard_normal(problem.d_x)).at(0.3 * rng.standard_normal(problem.d_y))


def tabulate(apply, size):
    return np.stack([apply(column) for column in np.eye(size)], axis=1)


def make_schur_complement(evaluation):
    system = YSystem(evaluation)

    def apply(dx):
        direction = evaluation.slice.along(dx)
        return evaluation.hess_product(direction, -system.solve(evaluation.hess_yx(direction)))

    return tabulate(apply, evaluation.x.shape[0])


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_each_is_symmetric_and_positive_definite_and_not_far_from_the_matrix(kind, seed):
    """They differ from S by the factor that the first weakens its diagonal with, and by what S has besides a mean."""
    problem = make_softmax(seed, sparse=seed % 2 == 0)
    here = evaluate_near_zero(problem, seed)
    inverse = tabulate(make_preconditioner(here, kind).solve, problem.d_x)
    assert np.allclose(inverse, inverse.T, rtol=1e-9, atol=1e-12)
    root = np.linalg.cholesky(inverse)
    eigenvalues = np.linalg.eigvalsh(root.T @ make_schur_complement(here) @ root)
    assert eigenvalues[0] > 1e-3
    assert eigenvalues[-1] < 1e3


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_sample_of_all_rows_is_the_exact_matrix(seed):
    problem = make_softmax(seed, sparse=seed % 2 == 0)
    here = evaluate_near_zero(problem, seed)
    inverse = tabulate(make_preconditioner(here, "sample").solve, problem.d_x)
    assert np.allclose(inverse @ make_schur_complement(here), np.eye(problem.d_x), atol=1e-5)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_the_mean_is_exact_where_all_samples_have_the_same_second_derivative(seed):
    problem = make_softmax(seed, sparse=seed % 2 == 0)
    here = problem.fix(np.zeros(problem.d_x)).at(np.zeros(problem.d_y))
    inverse = tabulate(make_preconditioner(here, "mean").solve, problem.d_x)
    assert np.allclose(inverse @ make_schur_complement(here), np.eye(problem.d_x), atol=1e-5)


@pytest.mark.parametrize("kind", ["sample", "mean"])
def test_a_sample_of_some_rows_is_close_and_sees_rare_columns(kind):
    rng = np.random.default_rng(0)
    n = 3000
    X, target = rng.standard_normal((n, 3)), rng.integers(0, 3, size=n)
    X[:, 2] = 0.0
    X[7, 2] = 1000.0
    here = evaluate_near_zero(Softmax(X, np.ones((n, 1)), target, alpha_x=1e-3, alpha_y=0.0), 0)
    inverse = tabulate(make_preconditioner(here, kind).solve, 9)
    eigenvalues = np.linalg.eigvals(inverse @ make_schur_complement(here)).real
    assert 0.3 < eigenvalues.min() < eigenvalues.max() < 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_other_libraries_precisions_and_designs_get_the_same(kind):
    class Own(DenseDesign):
        sample = Design.sample

    xp = array_api_strict
    plain = make_softmax(3)
    here = evaluate_near_zero(plain, 0)
    r = np.random.default_rng(1).standard_normal(plain.d_x)
    expected = make_preconditioner(here, kind).solve(r)
    own = Softmax(Own(plain.X), Own(plain.Y), plain.target, plain.classes, **penalties_and_weights(plain))
    assert np.allclose(make_preconditioner(own.fix(here.x).at(here.y), kind).solve(r), expected, rtol=1e-9)
    for dtype, tolerance in ((xp.float64, 1e-9), (xp.float32, 1e-2)):
        x, y, right = (xp.asarray(v, dtype=dtype) for v in (here.x, here.y, r))
        other = plain.to_like(x).fix(x).at(y)
        solved = make_preconditioner(other, kind).solve(right)
        assert solved.dtype == dtype
        assert np.allclose(np.asarray(solved), expected, rtol=tolerance, atol=tolerance)


def penalties_and_weights(problem):
    return {"alpha_x": problem.alpha_x, "alpha_y": problem.alpha_y, "sample_weight": problem.weights}


def test_unpenalised_columns_and_surrogates_have_a_diagonal():
    here = evaluate_near_zero(make_softmax(0, alpha_x=0.0), 0)
    assert type(here.x_preconditioner()) is LinearPreconditioner
    surrogate = evaluate_near_zero(make_softmax(0), 0).with_surrogate_curvature()
    assert type(surrogate.x_preconditioner()) is LinearPreconditioner


def test_samples_that_are_certain_leave_a_diagonal():
    """Their second derivatives are zero."""
    problem = Softmax(np.eye(3), np.ones((3, 1)), [0, 1, 2], alpha_x=1e-3, alpha_y=1e-3)
    here = problem.fix(1e4 * np.eye(3).reshape(-1)).at(np.zeros(3))
    assert np.array_equal(here.x_preconditioner().solve(np.ones(9)), np.full(9, 1e3))


@pytest.mark.parametrize("kind", ["sample", "mean"])
def test_runs_that_refined_their_preconditioner_are_resumed_bit_by_bit(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    n, d = 600, {"sample": 12, "mean": 40}[kind]
    X = rng.standard_normal((n, d)) @ np.diag(np.geomspace(1.0, 30.0, d)) @ rng.standard_normal((d, d))
    problem = Softmax(X, np.ones((n, 1)), rng.integers(0, 4, size=n), alpha_x=1e-6, alpha_y=0.0)
    built, refine = [], CoupledPreconditioner.refine

    def watch(self):
        built.append(refine(self))
        return built[-1]

    monkeypatch.setattr(CoupledPreconditioner, "refine", watch)
    monkeypatch.setattr(cg, "_LEAST_LEFT", 0.0)
    whole = minmin.minimize(problem, tol=1e-12)
    assert len(built) > 2
    assert {type(better) for better in built} == {KINDS[kind]}
    file = tmp_path / "run.minmin"
    for cut in range(2, whole.nit):
        minmin.minimize(problem, tol=1e-12, max_iterations=cut, checkpoint=file)
    resumed = minmin.minimize(problem, tol=1e-12, checkpoint=file)
    assert np.array_equal(resumed.x, whole.x)
    assert resumed.calls == whole.calls
