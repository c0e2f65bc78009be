"""Rows on disk give the fit of rows in memory: the same answer, the same calls, the same bound."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from minmin import InputError
from minmin.datasets import open_partitions, partitioned_matrix, write_partitions
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockRidge,
    BlockTweedieRegressor,
)
from minmin.problems.linear import partitioned

ROWS, COLUMNS = 300, 20
NAMES = [f"word_{number}" for number in range(COLUMNS - 3)] + ["age", "price", "size"]

MODELS = {
    "logistic": BlockLogisticRegression(),
    "three classes": BlockLogisticRegression(),
    "squared": BlockRidge(),
    "huber": BlockHuberRegressor(),
    "poisson": BlockPoissonRegressor(),
    "gamma": BlockGammaRegressor(),
    "tweedie": BlockTweedieRegressor(),
}
BLOCKS = {
    "one penalty": {"alpha": 1e-2},
    "penalties per block": {"blocks": {"words": "word_*"}, "alpha": {"words": 1e-2, "rest": 1e-4}},
    "a free block": {"blocks": {"free": ["age", "price", "size"]}, "alpha": {"free": 0.0, "rest": 1e-2}},
    "chosen as cheap, no intercept": {"blocks": [slice(5)], "alpha": (1e-1, 1e-2), "cheap": "block0"},
    "none is cheap, no intercept": {"alpha": 1e-2, "cheap": []},
}


def make_data(sparse=True, dtype=np.float64):
    """Sparse words beside three full columns."""
    rng = np.random.default_rng(0)
    words = scipy.sparse.random_array((ROWS, COLUMNS - 3), density=0.2, rng=rng).toarray()
    dense = np.hstack([words, rng.standard_normal((ROWS, 3))]).astype(dtype)
    return scipy.sparse.csr_array(dense) if sparse else dense


def make_target(family):
    rng = np.random.default_rng(1)
    margins = make_data(sparse=False) @ rng.standard_normal(COLUMNS) * 0.5 + rng.standard_normal(ROWS)
    if family == "logistic":
        return margins > 0
    if family == "three classes":
        return np.digitize(margins, [-0.5, 0.5])
    return margins if family in ("squared", "huber") else np.exp(np.clip(margins, -2, 2))


def partition(folder, X, y, weight, count, names=NAMES):
    rows = np.array_split(np.arange(ROWS), count)
    write_partitions(folder, ((X[some], y[some], weight[some]) for some in rows), names=names)
    return open_partitions(folder)


def assert_same(found, expected, X, parts):
    for name in ("coef_", "intercept_"):
        got, wanted = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-10 * max(np.abs(wanted).max(), 1e-300))
    assert found.calls_ == expected.calls_
    assert found.n_iter_ == expected.n_iter_
    assert found.gap_bound_ == pytest.approx(expected.gap_bound_, rel=1e-3, abs=1e-14)
    np.testing.assert_allclose(found.predict(parts.X), expected.predict(X), rtol=1e-9)


@pytest.mark.parametrize("copied", [True, False], ids=["cheap columns copied", "cheap columns viewed"])
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_partitions_give_the_fit_of_memory_for_all_blocks(tmp_path, monkeypatch, sparse, count, copied):
    monkeypatch.setattr(partitioned, "_MOST_COPIED", 10.0 if copied else 0.0)
    X, y, weight = make_data(sparse), make_target("logistic"), np.linspace(0.5, 2.0, ROWS)
    parts = partition(tmp_path / "rows", X, y, weight, count)
    for kind, options in BLOCKS.items():
        expected = BlockLogisticRegression(**options, fit_intercept="no intercept" not in kind)
        expected.feature_names_in_ = np.array(NAMES, dtype=object)
        by_number = {"words": slice(17), "free": slice(17, None)}
        if isinstance(options.get("blocks"), dict):
            name = next(iter(options["blocks"]))
            expected.set_params(blocks={name: by_number[name]})
        found = BlockLogisticRegression(**options, fit_intercept=expected.fit_intercept)
        expected.fit(X, y, weight)
        found.fit(parts.X, parts.y, parts.weight)
        assert list(found.feature_names_in_) == NAMES
        assert_same(found, expected, X, parts)


@pytest.mark.parametrize("family", MODELS)
def test_partitions_give_the_fit_of_memory_for_all_losses(tmp_path, family):
    X, y, weight = make_data(), make_target(family), np.linspace(0.5, 2.0, ROWS)
    parts = partition(tmp_path / "rows", X, y, weight, 3, names=None)
    model = MODELS[family].set_params(blocks=[slice(15)], alpha=(1e-2, 1e-3), tol=1e-8)
    expected = type(model)(**model.get_params()).fit(X, y, weight)
    assert_same(model.fit(parts.X, parts.y, parts.weight), expected, X, parts)


def test_single_precision_is_not_copied_to_double_as_a_whole(tmp_path):
    X, y, weight = make_data(dtype=np.float32), make_target("squared"), np.ones(ROWS)
    parts = partition(tmp_path / "rows", X, y, weight, 2)
    found = BlockRidge(alpha=1e-3, tol=1e-13).fit(parts.X, parts.y)  # only double precision reaches that
    expected = BlockRidge(alpha=1e-3, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
    assert found.coef_.dtype == expected.coef_.dtype


def test_columns_that_are_not_those_of_the_fit_are_refused(tmp_path):
    X, y, weight = make_data(), make_target("squared"), np.ones(ROWS)
    parts = partition(tmp_path / "rows", X, y, weight, 2)
    other = partition(tmp_path / "other", X, y, weight, 2, names=["mot_0", *NAMES[1:]])
    model = BlockRidge().fit(parts.X, parts.y)
    with pytest.raises(InputError, match="column 0 is called 'mot_0', and was 'word_0' in fit"):
        model.predict(other.X)
    with pytest.raises(InputError, match="has 4 features, but BlockRidge is expecting 20"):
        BlockRidge().fit(X, y).predict(parts.X[:, :4])
    with pytest.raises(InputError, match="BlockLogisticRegressionCV needs all rows in memory"):
        BlockLogisticRegressionCV().fit(parts.X, y > 0)


@pytest.mark.parametrize("columns", [None, ["word_1", "age"]])
def test_standard_errors_are_those_of_memory(tmp_path, columns):
    X, y, weight = make_data(), make_target("poisson"), np.linspace(0.5, 2.0, ROWS)
    parts = partition(tmp_path / "rows", X, y, weight, 3)
    found = BlockPoissonRegressor(alpha=1e-2).fit(parts.X, y, weight)
    expected = BlockPoissonRegressor(alpha=1e-2).fit(X, y, weight)
    errors = found.standard_errors(parts.X, y, weight, columns=columns, robust=True)
    by_number = None if columns is None else [NAMES.index(name) for name in columns]
    wanted = expected.standard_errors(X, y, weight, columns=by_number, robust=True)
    np.testing.assert_allclose(errors.coef, wanted.coef, rtol=1e-8)
    assert errors.intercept == pytest.approx(wanted.intercept, rel=1e-8)


@pytest.mark.parametrize("options", [{"alpha": 1e-3}, {"blocks": [slice(100)], "alpha": (1e-1, 1e-3)}])
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_a_fit_and_its_predictions_copy_no_more_than_a_part_of_the_data(tmp_path, monkeypatch, sparse, options):
    monkeypatch.setattr(partitioned, "_NUMBERS_PER_PIECE", 20_000)
    monkeypatch.setattr(partitioned_matrix, "_NUMBERS_AT_A_TIME", 20_000)
    rng, width = np.random.default_rng(0), 800 if sparse else 200
    X = scipy.sparse.random_array((4000, width), density=0.25, rng=rng, format="csr")
    y = X.sum(axis=1) > 0.125 * width
    write_partitions(
        tmp_path / "rows", [(some if sparse else some.toarray(), y[:2000]) for some in (X[:2000], X[2000:])]
    )
    parts = open_partitions(tmp_path / "rows")
    size = parts.X.nbytes
    del X
    tracemalloc.start()
    BlockLogisticRegression(**options).fit(parts.X, parts.y).predict(parts.X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.3 * size


@pytest.mark.parametrize("family", ["squared", "logistic", "poisson"])
def test_a_huge_column_on_disk_is_named(tmp_path, family):
    X = make_data(sparse=False)
    X[:, NAMES.index("price")] *= 1e200
    write_partitions(tmp_path / "rows", [(X, make_target(family))], names=NAMES)
    parts = open_partitions(tmp_path / "rows")
    with pytest.raises(InputError, match="column 'price' holds numbers so large that their squares overflow"):
        MODELS[family].fit(parts.X, parts.y)
