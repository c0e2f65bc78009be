"""Units do not matter: neither those of the target nor those of the features."""

import warnings

import numpy as np
import pytest
from tests.estimators.cases import MODELS, case

from minmin.estimators import BlockHuberRegressor, BlockLogisticRegression, BlockPoissonRegressor, BlockRidge

POWERS = [-9, -4, 4, 9]


def fit(family, X, y, alphas):
    """A fit that must prove a relative 1e-12, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return MODELS[family]([[0, 3]], alpha=alphas, tol=1e-12).fit(X, y)


def require_equal(coef, other):
    assert np.abs(coef - other).max() <= 1e-6 * np.abs(other).max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", MODELS)
def test_features_in_other_units_give_the_same_model(family, seed):
    sample = case(family, seed=seed)
    alphas = np.array([1e-3, 2e-2])
    usual = fit(family, sample.X, sample.y, alphas)
    for power in POWERS:
        c = 10.0**power
        require_equal(c * fit(family, c * sample.X, sample.y, c**2 * alphas).coef_, usual.coef_)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", ["squared", "poisson"])
def test_a_target_in_other_units_gives_the_same_model(family, seed):
    sample = case(family, seed=seed)
    alphas = np.array([0.0, 2e-2])
    usual = fit(family, sample.X, sample.y, alphas)
    for power in POWERS:
        c = 10.0**power
        # exp(m) - y·m is multiplied by c, and so must be the penalties
        scaled = fit(family, sample.X, c * sample.y, alphas * (c if family == "poisson" else 1.0))
        require_equal(scaled.coef_ / (c if family == "squared" else 1.0), usual.coef_)


@pytest.mark.parametrize("kind", [BlockRidge, BlockHuberRegressor])
def test_a_target_and_an_offset_in_other_units_gain_as_much_over_the_null_model(kind):
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((60, 3)), rng.standard_normal((2, 60))
    offset = 100.0 + 3.0 * noise[0]
    y = offset + X[:, 0] + noise[1]
    relative = []
    for c in (1.0, 1e6):
        given = {"delta": c} if kind is BlockHuberRegressor else {}
        model = kind(alpha=1e-3, tol=1e-4, **given).fit(X, c * y, offset=c * offset)
        relative.append(float(model.result_.message.split(" of ")[1].split(",")[0]) / c**2)
    assert relative[0] == pytest.approx(relative[1], rel=0.02)


def test_rare_events_are_fitted_as_exactly_as_frequent_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20000, 3))
    y = rng.random(20000) < 1 / (1 + np.exp(7.0 - X[:, 0]))
    assert 0 < y.mean() < 3e-3
    exact = BlockLogisticRegression(alpha=1e-6, tol=1e-12).fit(X, y)
    usual = BlockLogisticRegression(alpha=1e-6).fit(X, y)
    assert np.abs(usual.coef_ - exact.coef_).max() <= 1e-2 * np.abs(exact.coef_).max()


@pytest.mark.parametrize(("kind", "y"), [(BlockRidge, 7.0), (BlockPoissonRegressor, 3.0)])
def test_a_target_that_no_feature_explains_is_fitted_without_a_warning(kind, y):
    X = np.random.default_rng(0).standard_normal((50, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(alpha=1e-2).fit(X, np.full(50, y))
    assert np.abs(model.coef_).max() <= 1e-7
    assert model.predict(X) == pytest.approx(y)


def test_the_gap_is_relative_to_the_gain_over_the_null_model():
    sample = case("squared", seed=4)
    model = BlockRidge(alpha=1e-2, tol=1e-3).fit(sample.X, sample.y)
    gain = 0.5 * np.var(sample.y) - model.result_.fun
    assert model.gap_bound_ <= 1e-3 * gain
    assert "rtol = 0.001 of" in model.result_.message
