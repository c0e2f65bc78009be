"""The path finds what single fits find, and keeps what was best on the samples held out."""

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold

from estimators.cases import case, objective
from minmin.estimators import (
    BlockGammaRegressor,
    BlockGammaRegressorCV,
    BlockHuberRegressor,
    BlockHuberRegressorCV,
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockPoissonRegressorCV,
    BlockRidge,
    BlockRidgeCV,
    BlockTweedieRegressor,
    BlockTweedieRegressorCV,
)
from minmin.estimators.features import MatrixFeatures
from minmin.estimators.penalties import path_order, resolve_grid
from minmin.problems.linear.designs import wrap_matrix

PAIRS = {
    "logistic": (BlockLogisticRegression, BlockLogisticRegressionCV),
    "squared": (BlockRidge, BlockRidgeCV),
    "poisson": (BlockPoissonRegressor, BlockPoissonRegressorCV),
    "gamma": (BlockGammaRegressor, BlockGammaRegressorCV),
    "tweedie": (BlockTweedieRegressor, BlockTweedieRegressorCV),
    "huber": (BlockHuberRegressor, BlockHuberRegressorCV),
}
BLOCKS = {"a": [0, 1], "b": [2, 3, 4, 5]}
GRID = {"a": [1e-1, 1e-3], "b": [1.0, 1e-2, 0.0]}


@pytest.mark.parametrize("family", PAIRS)
def test_scores_are_those_of_single_fits(family):
    single, path = PAIRS[family]
    sample = case(family, n=90)
    splits = list(KFold(3).split(sample.X))
    model = path(BLOCKS, alphas=GRID, cv=splits, tol=1e-9).fit(sample.X, sample.y, sample_weight=sample.weights)
    assert len(model.cv_results_["params"]) == 6
    for i, alphas in enumerate(model.cv_results_["params"]):
        for j, (train, test) in enumerate(splits):
            alone = single(BLOCKS, alpha=alphas, tol=1e-9)
            alone.fit(sample.X[train], sample.y[train], sample_weight=sample.weights[train])
            held_out = type(sample)(*(part[test] for part in sample))
            loss = objective(family, held_out, alone.coef_, alone.intercept_, 0.0)
            assert model.cv_results_[f"split{j}_test_score"][i] == pytest.approx(-loss, abs=1e-3)
    best = model.cv_results_["mean_test_score"].argmax()
    assert model.best_index_ == best
    assert model.alpha_ == model.cv_results_["params"][best]
    assert model.cv_results_["rank_test_score"][best] == 1
    again = single(BLOCKS, alpha=model.alpha_, tol=1e-9).fit(sample.X, sample.y, sample_weight=sample.weights)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-3)
    assert model.gap_bound_ <= 1e-9


def test_explicit_combinations_and_one_number_for_all():
    sample = case("squared")
    combinations = [(1e-3, 1.0), {"a": 1.0, "b": 1e-3}, 0.5]
    model = BlockRidgeCV(BLOCKS, alphas=combinations).fit(sample.X, sample.y)
    assert model.cv_results_["params"] == [{"a": 1e-3, "b": 1.0}, {"a": 1.0, "b": 1e-3}, {"a": 0.5, "b": 0.5}]


@pytest.mark.parametrize(("blocks", "points"), [(None, 10), (BLOCKS, 25), ([[0], [1], [2]], 81)])
def test_the_default_grid_is_in_units_of_the_data(blocks, points):
    sample = case("squared")
    model = BlockRidgeCV(blocks, cv=3).fit(sample.X, sample.y)
    scaled = BlockRidgeCV(blocks, cv=3).fit(10.0 * sample.X, sample.y)
    assert len(model.cv_results_["params"]) == points
    for name, alpha in model.alpha_.items():
        assert scaled.alpha_[name] == pytest.approx(100.0 * alpha)


def test_scoring_by_name_sees_the_samples_held_out():
    sample = case("logistic", seed=3)
    model = BlockLogisticRegressionCV(BLOCKS, alphas=3, scoring="roc_auc", cv=3).fit(sample.X, sample.y)
    assert ((model.cv_results_["mean_test_score"] > 0.5) & (model.cv_results_["mean_test_score"] <= 1.0)).all()
    (train, test), *_ = model_splits = list(KFold(3).split(sample.X))
    weighted = BlockLogisticRegressionCV(BLOCKS, alphas=[1e-2], scoring="accuracy", cv=model_splits)
    weighted.fit(sample.X, sample.y, sample_weight=sample.weights)
    alone = BlockLogisticRegression(BLOCKS, alpha=1e-2)
    alone.fit(sample.X[train], sample.y[train], sample_weight=sample.weights[train])
    expected = alone.score(sample.X[test], sample.y[test], sample.weights[test])
    assert weighted.cv_results_["split0_test_score"][0] == pytest.approx(expected)


@pytest.mark.parametrize("container", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_scoring_takes_every_sparse_format(container):
    sample = case("squared", n=40)
    model = BlockRidgeCV(alphas=[1.0, 1e-2], cv=2, scoring="r2")
    dense = model.fit(sample.X, sample.y).best_score_
    assert model.fit(scipy.sparse.csr_array(sample.X).asformat(container), sample.y).best_score_ == pytest.approx(dense)


def test_penalties_without_a_score_come_last():
    sample = case("squared", n=40)
    largest = np.abs(BlockRidge(alpha=1.0).fit(sample.X, sample.y).coef_).sum()

    def unknown_for_small_coefficients(model, X, y):
        size = np.abs(model.coef_).sum()
        return np.nan if size < 2.0 * largest else -size

    model = BlockRidgeCV(alphas=[10.0, 1e-3, 1e-4], cv=2, scoring=unknown_for_small_coefficients)
    with pytest.warns(UserWarning, match="NaN for 1 of 3 penalties"):
        model.fit(sample.X, sample.y)
    assert model.alpha_ == {"all": 1e-3}
    assert np.isfinite(model.best_score_)
    assert model.cv_results_["rank_test_score"].tolist() == [3, 1, 2]


def test_nothing_to_choose_by():
    sample = case("squared", n=40)
    with pytest.raises(ValueError, match="NaN for all penalties"):
        BlockRidgeCV(alphas=[1.0, 0.1], cv=2, scoring=lambda model, X, y: np.nan).fit(sample.X, sample.y)
    with pytest.raises(ValueError, match="cv yields no split"):
        BlockRidgeCV(alphas=[1.0, 0.1], cv=[]).fit(sample.X, sample.y)


def test_the_default_grid_does_not_depend_on_how_entries_are_stored():
    sample = case("squared", n=40)
    rows, columns = sample.X.shape
    whole = scipy.sparse.csr_array(sample.X)
    numbers = np.concatenate([np.tile(np.arange(columns), 2)] * rows)
    halves = np.concatenate([np.tile(row / 2.0, 2) for row in sample.X])
    twice = scipy.sparse.csr_array((halves, numbers, np.arange(rows + 1) * 2 * columns), shape=whole.shape)
    grids = [BlockRidgeCV(alphas=2, cv=2).fit(X, sample.y).cv_results_["params"] for X in (whole, twice)]
    assert not twice.has_canonical_format
    assert twice.nnz == 2 * sample.X.size
    assert [point["all"] for point in grids[0]] == pytest.approx([point["all"] for point in grids[1]])


def test_single_precision_along_a_path():
    sample = case("squared")
    loose = BlockRidgeCV(BLOCKS, alphas=2, tol=1e-3).fit(sample.X.astype(np.float32), sample.y)
    assert loose.coef_.dtype == np.float32
    tight = BlockRidgeCV(BLOCKS, alphas=2, tol=1e-12).fit(sample.X.astype(np.float32), sample.y)
    assert tight.gap_bound_ <= 1e-12
    np.testing.assert_allclose(tight.best_score_, loose.best_score_, rtol=1e-2)


@pytest.mark.parametrize("has_text", [False, True])
def test_folds_may_be_masks(has_text):
    sample, fold = case("squared", n=60), np.arange(60) % 3
    frame = pandas.DataFrame(sample.X).add_prefix("x")
    if has_text:
        frame["text"] = np.where(fold == 1, "a", "b")
    numbers, masks = ([(ways(fold != k), ways(fold == k)) for k in range(3)] for ways in (np.flatnonzero, np.asarray))
    found = [BlockRidgeCV(alphas=[1e-2, 1.0], cv=splits).fit(frame, sample.y) for splits in (numbers, masks)]
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    assert found[0].best_score_ == found[1].best_score_


def test_groups_go_to_the_splitter():
    sample = case("squared")
    groups = np.arange(120) % 4
    model = BlockRidgeCV(alphas=[1.0], cv=GroupKFold(4)).fit(sample.X, sample.y, groups=groups)
    assert "split3_test_score" in model.cv_results_


def test_a_path_that_falls_short_warns_once():
    sample = case("logistic")
    with pytest.warns(ConvergenceWarning) as caught:
        BlockLogisticRegressionCV(alphas=[1e-2, 1e-3], cv=3, max_seconds=1e-9).fit(sample.X, sample.y)
    assert ["6 of 6 fits along the path" in str(warning.message) for warning in caught] == [True, False]


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1e-6, 1e-4, 1e-2, 1.0])] * 2), min_size=1, max_size=12))
def test_a_path_visits_every_point_once_from_the_largest_on(points):
    points = np.array(points)
    order = path_order(points, [1, 1])
    assert sorted(order) == list(range(len(points)))
    if (points > 0).all():
        assert points[order[0]].prod() == points.prod(axis=1).max()


def test_a_path_over_a_grid_goes_from_neighbour_to_neighbour():
    values = np.geomspace(1.0, 1e-6, 4)
    points = np.array([(a, b) for a in values for b in values])
    moves = np.diff(np.log(points[path_order(points, [1000, 10])]), axis=0)
    assert np.abs(moves).sum(axis=1).max() == pytest.approx(np.log(100.0))
    assert np.count_nonzero(moves[:, 0]) == 3, "the larger block's penalty changes as rarely as it can"


@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_grid_of_huge_single_precision(sparse):
    X = (1e20 * np.random.default_rng(0).standard_normal((30, 3))).astype(np.float32)
    matrix = scipy.sparse.csr_array(X) if sparse else X
    grid = resolve_grid(None, {"all": np.arange(3)}, MatrixFeatures(wrap_matrix(matrix)), None)
    assert np.isfinite(grid).all()
    assert grid.max() == pytest.approx(0.1 * np.square(X, dtype=np.float64).sum() / 30)
