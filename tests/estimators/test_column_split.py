"""Splitting columns into the expensive and the cheap block changes nothing but who solves for what."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from minmin import InputError
from minmin.estimators import BlockLogisticRegression
from minmin.estimators.column_split import split_columns
from minmin.estimators.features import MatrixFeatures
from minmin.problems.linear.designs import wrap_matrix

ROWS = 12


def as_features(matrix):
    return MatrixFeatures(wrap_matrix(matrix))


@st.composite
def splits(draw):
    width = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    matrix = (rng.standard_normal((ROWS, width)) * (rng.random((ROWS, width)) < rng.random(width))).astype(dtype)
    owners = rng.integers(0, 3, width)
    blocks = {f"b{k}": np.flatnonzero(owners == k) for k in range(3) if (owners == k).any()}
    cheap = draw(st.one_of(st.none(), st.sets(st.sampled_from(sorted(blocks)))))
    given_one = scipy.sparse.csr_array(matrix) if draw(st.booleans()) else matrix
    unpenalised = draw(st.sets(st.sampled_from(sorted(blocks))))
    features = split_columns(as_features(given_one), blocks, unpenalised, cheap, draw(st.booleans()))
    return matrix, blocks, cheap, features, rng


@given(splits())
def test_margins_and_coefficients_survive_the_split(case):
    matrix, blocks, cheap, features, rng = case
    coef = rng.standard_normal(matrix.shape[1]).astype(matrix.dtype)
    intercept = matrix.dtype.type(0.7 if features.fit_intercept else 0.0)
    x, y = features.split(coef, intercept)
    np.testing.assert_allclose(features.X @ x + features.Y @ y, matrix @ coef + intercept, rtol=1e-5, atol=1e-5)
    back, same_intercept = features.coefficients(x, y)
    assert back.dtype == features.X.prototype.dtype == features.Y.prototype.dtype == matrix.dtype
    np.testing.assert_array_equal(back, coef)
    assert same_intercept == intercept
    if cheap is not None:
        wanted = np.concatenate([np.zeros(0, dtype=int), *(blocks[name] for name in cheap)])
        assert sorted(features.y_columns.tolist()) == sorted(wanted.tolist())


@given(splits())
def test_penalties_follow_their_columns_and_spare_the_intercept(case):
    matrix, blocks, _, features, rng = case
    alphas = {name: rng.random() for name in blocks}
    by_column = np.empty(matrix.shape[1])
    for name, columns in blocks.items():
        by_column[columns] = alphas[name]
    alpha_x, alpha_y = features.penalties(alphas).values()
    if len(features.x_columns):
        np.testing.assert_array_equal(np.broadcast_to(alpha_x, len(features.x_columns)), by_column[features.x_columns])
    alpha_y = np.broadcast_to(alpha_y, features.Y.shape[1])
    np.testing.assert_array_equal(alpha_y[: len(features.y_columns)], by_column[features.y_columns])
    if features.fit_intercept:
        assert alpha_y[-1] == 0.0


def test_what_is_cheap_by_itself():
    rng = np.random.default_rng(0)
    rare = scipy.sparse.random_array((2000, 500), density=0.01, format="csr", rng=rng)
    matrix = scipy.sparse.hstack([rare, scipy.sparse.csr_array(rng.standard_normal((2000, 5)))], format="csr")
    one = {"all": np.arange(505)}
    two = {"rare": np.arange(500), "dense": np.arange(500, 505)}
    for blocks in (one, two):
        assert split_columns(as_features(matrix), blocks, [], None, True).y_columns.tolist() == list(range(500, 505))
    assert split_columns(as_features(matrix), two, ["rare"], None, True).y_columns.tolist() == list(range(500))
    assert split_columns(as_features(matrix), two, [], "rare", True).x_columns.tolist() == list(range(500, 505))
    assert split_columns(as_features(matrix), two, [], (), True).y_columns.tolist() == []
    small = split_columns(as_features(rng.standard_normal((50, 4))), {"all": np.arange(4)}, [], None, True)
    assert small.x_columns.tolist() == []


def test_a_matrix_without_cheap_columns_is_not_copied():
    dense, sparse = np.ones((50, 400)), scipy.sparse.random_array((50, 400), density=0.1, format="csr")
    for matrix in (dense, sparse):
        assert split_columns(as_features(matrix), {"all": np.arange(400)}, [], (), True).X.matrix is matrix
    part = split_columns(as_features(dense), {"a": np.arange(300), "b": np.arange(300, 400)}, [], "b", True)
    assert np.shares_memory(part.X.matrix, dense)


def test_unknown_cheap_blocks_are_refused():
    with pytest.raises(InputError, match="cheap names 'c', which is not a block"):
        split_columns(as_features(np.ones((3, 2))), {"a": np.arange(2)}, [], ["c"], True)


@pytest.mark.parametrize("cheap", [(), ("all",)])
def test_a_matrix_without_columns_costs_no_product(cheap):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    labels = rng.random(200) < 1.0 / (1.0 + np.exp(-X[:, 0]))
    model = BlockLogisticRegression(alpha=1e-2, cheap=cheap, fit_intercept=False).fit(X, labels)
    assert model.result_.certified
    if cheap == ():
        assert model.result_.calls["passes_y"] < model.result_.calls["passes"]
    else:
        assert model.result_.calls.get("hess_product", 0) == 0
