"""The preconditioners of Newton's systems: positive definite, exact if all is sampled, and built only where it pays."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import scipy.sparse

import minmin
from minmin.problems import GLM
from minmin.problems.linear import preconditioner as module
from minmin.problems.linear.designs import DenseDesign, SparseDesign
from reference import random_columns_glm, random_glm

SEEDS = range(8)


def alike(rows=3000, columns=40, seed=0, **options):
    """A logistic regression whose columns go together, so that a diagonal is a poor preconditioner."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((rows, 3))
    X = common @ rng.standard_normal((3, columns)) + 0.3 * rng.standard_normal((rows, columns))
    Y = rng.standard_normal((rows, 2))
    target = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-X[:, 0] - Y[:, 0])), 1.0, -1.0)
    return GLM(X, Y, target, **{"alpha_x": 1e-4, "alpha_y": 1e-4, **options})


def evaluate(problem, seed):
    rng = np.random.default_rng(seed)
    return problem.evaluate(0.1 * rng.standard_normal(problem.d_x), 0.1 * rng.standard_normal(problem.d_y))


def inverse_of(preconditioner, size):
    return np.stack([preconditioner.solve(row) for row in np.eye(size)])


def schur_complement(evaluation):
    """The Hessian of F, from dense matrices."""
    m, h = evaluation.model, evaluation.margin_hessian.diagonal
    X, Y = m.x_block.design.to_float64(), m.y_block.design.to_float64()
    X, Y = (np.asarray(getattr(A, "toarray", lambda A=A: A)()) for A in (X, Y))
    H_xx = X.T @ (h[:, None] * X) + np.diag(m.x_block.penalty.to_numpy(m.d_x))
    H_yy = Y.T @ (h[:, None] * Y) + np.diag(m.y_block.penalty.to_numpy(m.d_y))
    H_xy = X.T @ (h[:, None] * Y)
    return H_xx - H_xy @ np.linalg.solve(H_yy, H_xy.T)


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_sample_of_all_rows_and_columns_is_the_hessian_of_f(loss, seed):
    rng = np.random.default_rng(seed)
    problem = random_columns_glm(rng, loss) if seed % 2 else random_glm(rng, loss, sparse=seed % 4 == 0)
    evaluation = evaluate(problem, seed)
    refined = evaluation.x_preconditioner().refine()
    S = schur_complement(evaluation)
    assert np.allclose(inverse_of(refined, problem.d_x) @ S, np.eye(problem.d_x), atol=1e-5)


@pytest.mark.parametrize("alpha_x", [1e-4, 0.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_are_symmetric_and_positive_definite_whatever_the_units(alpha_x, seed, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_COEFFICIENT", 2)
    monkeypatch.setattr(module, "_MOST_COLUMNS", 20)
    monkeypatch.setattr(module, "_HEAVY", 5)
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-6, 7, 40)
    weights = np.where(rng.random(3000) < 0.5, 0.0, rng.random(3000))
    problem = alike(seed=seed, alpha_x=alpha_x, sample_weight=weights)
    problem = GLM(problem.X * units, problem.Y, problem.target, alpha_x=alpha_x, alpha_y=1e-4, sample_weight=weights)
    diagonal = problem.evaluate(np.zeros(problem.d_x), np.zeros(problem.d_y)).x_preconditioner()
    for preconditioner in (diagonal, diagonal.refine()):
        inverse = inverse_of(preconditioner, problem.d_x)
        scale = np.diagonal(inverse) ** -0.5  # without it, eigenvalues would drown in rounding errors
        scaled = inverse * scale * scale[:, None]
        assert np.allclose(scaled, scaled.T, atol=1e-8)
        assert np.linalg.eigvalsh(scaled)[0] > 0.0


def test_a_sample_saves_passes_where_columns_go_together(monkeypatch):
    problem = alike(alpha_x=1e-6)
    sampled = minmin.minimize(problem, method="reduced-newton", tol=1e-10)
    monkeypatch.setattr(module.LinearPreconditioner, "refine", lambda self: None)
    by_diagonal = minmin.minimize(problem, method="reduced-newton", tol=1e-10)
    assert sampled.certified
    assert by_diagonal.certified
    assert sampled.calls["passes"] <= 0.6 * by_diagonal.calls["passes"]


def test_light_columns_are_not_sampled():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((2000, 4000), density=0.005, rng=rng, format="csr")
    target = np.sign(rng.standard_normal(2000))
    problem = GLM(X, np.ones((2000, 1)), target, alpha_x=1e-6, alpha_y=1e-6)
    assert evaluate(problem, 0).x_preconditioner().refine() is None


def test_the_same_in_another_array_library():
    numpy = alike(rows=500)
    strict = array_api_strict
    twin = GLM(*(strict.asarray(a) for a in (numpy.X, numpy.Y, numpy.target)), alpha_x=1e-4, alpha_y=1e-4)
    x, y = np.full(numpy.d_x, 0.1), np.full(numpy.d_y, 0.1)
    refined = numpy.evaluate(x, y).x_preconditioner().refine()
    other = twin.evaluate(strict.asarray(x), strict.asarray(y)).x_preconditioner().refine()
    assert np.allclose(refined.solve(x), np.asarray(other.solve(strict.asarray(x))), rtol=1e-9)


def test_a_sample_of_some_columns_in_another_array_library(monkeypatch):
    monkeypatch.setattr(module, "_MOST_COLUMNS", 20)
    test_the_same_in_another_array_library()


@pytest.mark.parametrize("columns", [None, np.array([0, 3, 4])])
def test_rows_are_sampled_from_every_design(columns):
    dense = np.random.default_rng(0).standard_normal((5000, 6)) * (np.arange(30000).reshape(5000, 6) % 3 == 0)
    rows = np.array([0, 7, 7, 2047, 2048, 4999])
    expected = dense[rows] if columns is None else dense[rows][:, columns]

    class Own(DenseDesign):
        sample = DenseDesign.__mro__[1].sample  # what a user's Design inherits

    for design in (DenseDesign(dense), SparseDesign(scipy.sparse.csr_array(dense)), Own(dense)):
        assert (design.sample(rows, columns) == expected).all()


@pytest.mark.parametrize("steps", [2, 4])
def test_a_run_that_samples_is_resumed_bit_by_bit(steps, tmp_path):
    problem, path = alike(), tmp_path / "run"
    options = {"method": "reduced-newton", "tol": 1e-12}
    whole = minmin.minimize(problem, **options)
    minmin.minimize(problem, **options, max_iterations=steps, checkpoint=path)
    resumed = minmin.minimize(problem, **options, checkpoint=path)
    assert (resumed.x == whole.x).all()
    assert (resumed.y == whole.y).all()
    assert resumed.calls == whole.calls
