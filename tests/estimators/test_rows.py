"""What may be given for every sample: offsets, class weights with sample weights, several targets; and n_jobs."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, LogisticRegression, Ridge, TweedieRegressor
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from tests.estimators.cases import MODELS, case, objective

import minmin
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockPoissonRegressorCV,
    BlockRidge,
    BlockRidgeCV,
    BlockTweedieRegressor,
)


@pytest.mark.parametrize("family", MODELS)
def test_an_offset_is_added_to_the_margins(family):
    sample = case(family, seed=2)
    offset = np.random.default_rng(3).standard_normal(len(sample.y))
    model = MODELS[family](alpha=1e-2, tol=1e-12).fit(sample.X, sample.y, sample.weights, offset=offset)
    penalties = np.full(sample.X.shape[1], 1e-2)

    def f(z):
        return objective(family, sample, z[:-1], z[-1] + offset, penalties)

    z = np.append(np.ravel(model.coef_), model.intercept_)
    assert f(z) == pytest.approx(model.result_.fun, rel=1e-12)
    found = scipy.optimize.minimize(f, z + 0.1, method="BFGS", options={"gtol": 1e-9})
    assert f(z) <= found.fun + 1e-9
    predict = model.decision_function if family == "logistic" else model.predict
    margins = sample.X @ z[:-1] + z[-1] + offset
    score = {"logistic": accuracy_score, "squared": r2_score, "poisson": partial(d2_tweedie_score, power=1)}[family]
    expected = score(sample.y, model.predict(sample.X, offset=offset))
    assert model.score(sample.X, sample.y, offset=offset) == expected != model.score(sample.X, sample.y)
    assert predict(sample.X, offset=offset) == pytest.approx(np.exp(margins) if family == "poisson" else margins)


def test_an_exposure_as_offset_equals_rates_with_weights():
    rng = np.random.default_rng(0)
    X, years = rng.standard_normal((300, 3)), rng.uniform(0.1, 1.0, 300)
    counts = rng.poisson(years * np.exp(0.5 * X[:, 0]))
    offset = BlockPoissonRegressor(alpha=0.0, tol=1e-12).fit(X, counts, offset=np.log(years))
    rates = BlockPoissonRegressor(alpha=0.0, tol=1e-12).fit(X, counts / years, sample_weight=years)
    assert offset.coef_ == pytest.approx(rates.coef_, rel=1e-6)
    assert offset.intercept_ == pytest.approx(rates.intercept_, rel=1e-6)


def test_cross_validation_uses_the_offset_of_the_held_out_samples():
    sample = case("poisson", seed=1)
    offset = np.random.default_rng(3).standard_normal(len(sample.y))
    splits = [(np.arange(60), np.arange(60, 120))]
    model = BlockPoissonRegressorCV(alphas=[1e-2], cv=splits).fit(sample.X, sample.y, offset=offset)
    part = BlockPoissonRegressor(alpha=1e-2).fit(sample.X[:60], sample.y[:60], offset=offset[:60])
    means = part.predict(sample.X[60:], offset=offset[60:])
    assert model.best_score_ == pytest.approx(-np.mean(means - sample.y[60:] * np.log(means)), rel=1e-4)


@pytest.mark.parametrize(
    ("offset", "message"),
    [(np.zeros(3), r"offset has shape \(3,\); X has 120 rows"), (np.full(120, np.nan), r"offset\[0\] = nan")],
)
def test_a_wrong_offset_is_named(offset, message):
    sample = case("squared")
    with pytest.raises(minmin.InputError, match=message):
        BlockRidge().fit(sample.X, sample.y, offset=offset)


def test_an_offset_excludes_what_cannot_use_it():
    sample = case("logistic", classes=3)
    with pytest.raises(minmin.InputError, match="offset needs two classes, and y has 3"):
        BlockLogisticRegression().fit(sample.X, sample.y, offset=np.zeros(120))
    sample = case("logistic")
    with pytest.raises(minmin.InputError, match="scoring cannot use an offset"):
        BlockLogisticRegressionCV(scoring="accuracy").fit(sample.X, sample.y, offset=np.zeros(120))


def test_balanced_classes_with_weights_are_those_of_scikit_learn():
    sample = case("logistic", seed=5)
    y = np.where(sample.X[:, 0] > 1.0, 1, 0)
    ours = BlockLogisticRegression(alpha=1e-2, class_weight="balanced", tol=1e-12).fit(sample.X, y, sample.weights)
    # each class weighs half of the sum of the weights, so the sum does not change
    C = 1.0 / (1e-2 * sample.weights.sum())
    theirs = LogisticRegression(C=C, class_weight="balanced", tol=1e-10, max_iter=10000)
    theirs.fit(sample.X, y, sample.weights)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)


def test_several_targets_are_each_fitted_by_themselves():
    sample = case("squared", seed=3)
    targets = np.c_[sample.y, 1e6 * sample.X[:, 1] + 7.0, np.random.default_rng(0).standard_normal(120)]
    model = BlockRidge([[0, 1]], alpha=(1e-3, 1e-1)).fit(sample.X, targets, sample.weights)
    assert model.coef_.shape == (3, sample.X.shape[1])
    assert model.predict(sample.X).shape == (120, 3)
    for i in range(3):
        alone = BlockRidge([[0, 1]], alpha=(1e-3, 1e-1)).fit(sample.X, targets[:, i], sample.weights)
        assert model.coef_[i] == pytest.approx(alone.coef_, rel=1e-10)
        assert model.intercept_[i] == pytest.approx(alone.intercept_, rel=1e-10)
    theirs = Ridge(alpha=1e-2 * 120, solver="cholesky").fit(sample.X, targets)
    ours = BlockRidge(alpha=1e-2, tol=1e-13).fit(sample.X, targets)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-6)
    assert len(ours.result_) == 3
    with pytest.raises(ValueError, match="1d array"):
        BlockRidgeCV().fit(sample.X, targets)


@pytest.mark.parametrize(
    ("ours", "theirs", "family"),
    [
        (BlockGammaRegressor(), GammaRegressor(), "gamma"),
        (BlockTweedieRegressor(power=1.3), TweedieRegressor(power=1.3, link="log"), "tweedie"),
    ],
)
def test_gamma_and_tweedie_agree_with_scikit_learn(ours, theirs, family):
    sample = case("poisson", seed=6)
    y = sample.y + (0.5 if family == "gamma" else 0.0)
    ours.set_params(alpha=1e-2, tol=1e-13).fit(sample.X, y, sample.weights)
    theirs.set_params(alpha=1e-2, tol=1e-10, max_iter=10000).fit(sample.X, y, sample.weights)
    assert ours.result_.certified
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
    assert ours.predict(sample.X) == pytest.approx(theirs.predict(sample.X), rel=1e-5)
    assert ours.score(sample.X, y) == pytest.approx(theirs.score(sample.X, y), rel=1e-6)


def test_huber_minimises_its_objective_and_resists_outliers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(100)
    y[:5] += 100.0
    model = BlockHuberRegressor(delta=0.5, alpha=1e-3, tol=1e-10).fit(X, y)

    def f(z):
        size = np.abs(X @ z[:-1] + z[-1] - y)
        return np.where(size <= 0.5, 0.5 * size**2, 0.5 * (size - 0.25)).mean() + 5e-4 * z[:-1] @ z[:-1]

    z = np.append(model.coef_, model.intercept_)
    assert model.result_.certified
    assert f(z) == pytest.approx(model.result_.fun, rel=1e-10)
    assert f(z) <= scipy.optimize.minimize(f, z + 0.01, method="BFGS", options={"gtol": 1e-8}).fun + 1e-9
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.5], abs=0.05)


def test_targets_out_of_range_are_named():
    X = np.ones((3, 1))
    with pytest.raises(ValueError, match="valid range of a Gamma target: 0 <= 0"):
        BlockGammaRegressor().fit(X, [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="valid range of a Tweedie target: -1 < 0"):
        BlockTweedieRegressor().fit(X, [-1.0, 1.0, 2.0])
    with pytest.raises(minmin.InputError, match="power"):
        BlockTweedieRegressor(power=3.0).fit(X, [1.0, 1.0, 2.0])


def test_the_number_of_jobs_does_not_change_a_bit():
    sample = case("logistic", n=300, seed=2)
    models = [BlockLogisticRegressionCV([[0, 1]], cv=3, n_jobs=jobs).fit(sample.X, sample.y) for jobs in (None, 2)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    for name in ("mean_test_score", "split2_test_score", "mean_passes"):
        assert np.array_equal(models[0].cv_results_[name], models[1].cv_results_[name])


def test_max_iter_ends_a_fit_with_a_warning():
    sample = case("logistic", seed=2)
    with pytest.warns(ConvergenceWarning, match="max_iterations = 1"):
        model = BlockLogisticRegression(alpha=1e-6, max_iter=1).fit(sample.X, sample.y)
    assert model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BlockLogisticRegression(alpha=1e-6, max_iter=100).fit(sample.X, sample.y)
