"""``gap_bound_`` is that of the numbers that the user gets, on the data that the user gave."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.estimators.exact import find_gap

from minmin.datasets import open_partitions, write_partitions
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockPoissonRegressor,
    BlockRidge,
    BlockRidgeCV,
    BlockTweedieRegressor,
)

KINDS = {
    "squared": BlockRidge,
    "huber": BlockHuberRegressor,
    "poisson": BlockPoissonRegressor,
    "gamma": BlockGammaRegressor,
    "tweedie": BlockTweedieRegressor,
    "logistic": BlockLogisticRegression,
}
PARAMETERS = {"huber": "delta", "tweedie": "power"}
RATIOS = [1.0, 1e4, 1e8, 1e10, 1e12, 1e14]
BLOCKS, ALPHA, BY_COLUMN = [[0]], (1e-3, 1e-1), (1e-3, 1e-1)
HIDDEN = "rounding of the intercept hides progress below a bound"


def make_sample(rows=14, seed=0):
    """Two columns, and a target with a mean of 0 and a spread of about 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 2))
    return X, X @ [1.0, -0.5] + rng.standard_normal(rows), rng


def fit_quietly(model, *data, **rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **rows)


def fit_regression(family, ratio, scale, seed):
    """A fit to a target with a mean of ratio·scale and a spread of scale, and its true gap."""
    X, noise, rng = make_sample(seed=seed)
    if seed % 2:
        X = X.astype(np.float32)
    is_real = family in ("squared", "huber")
    y = scale * (ratio + noise if is_real else np.maximum(ratio + noise, 0.1))
    parameter = {"huber": 0.7 * scale, "tweedie": 1.5}.get(family)
    rows = {
        "sample_weight": rng.choice([1.0, 3.0, 7.0], len(y)) if seed % 3 else None,
        "offset": rng.standard_normal(len(y)) * (scale if is_real else 1.0) if seed % 4 == 3 else None,
    }
    options = {PARAMETERS[family]: parameter} if family in PARAMETERS else {}
    model = KINDS[family](BLOCKS, alpha=ALPHA, tol=10.0 ** -(4 + 2 * (seed % 5)), **options)
    fit_quietly(model, X, y, **rows)
    named = {"weights": rows["sample_weight"], "offset": rows["offset"], "parameter": parameter}
    return model, find_gap(family, X, y, BY_COLUMN, model.coef_, model.intercept_, **named)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("family", [*KINDS][:5])
def test_no_bound_of_a_regression_is_below_the_truth(family, ratio):
    for number, scale in enumerate([1e-6, 1e-3, 1.0, 1e3, 1e6, 1.0 / ratio]):
        model, gap = fit_regression(family, ratio, scale, seed=6 * RATIOS.index(ratio) + number)
        assert model.result_.certified
        assert gap <= model.gap_bound_ == model.result_.gap_bound


@pytest.mark.parametrize(("classes", "ratio"), [*((2, ratio) for ratio in RATIOS), (3, 1.0), (3, 1e4)])
def test_no_bound_of_a_classifier_is_below_the_truth(classes, ratio):
    """A column of which the mean is ratio times its spread."""
    for seed in range(2):
        X, noise, _ = make_sample(seed=seed)
        X[:, 1] += ratio
        y = np.digitize(noise, [-0.5, 0.5][: classes - 1])
        weight = None if seed else "balanced"
        model = BlockLogisticRegression(BLOCKS, alpha=ALPHA, tol=1e-9, class_weight=weight)
        fit_quietly(model, X, y)
        weights = None if seed else (1.0 / np.bincount(y))[y]
        gap = find_gap("logistic", X, y, BY_COLUMN, model.coef_, model.intercept_, weights=weights)
        assert gap <= model.gap_bound_


@pytest.mark.parametrize("family", ["squared", "huber"])
@pytest.mark.parametrize("mean", [-1.0, 1e2, 1e4])
def test_the_bound_of_an_ordinary_target_is_that_of_the_centred_one(family, mean):
    for seed in range(4):
        X, y, _ = make_sample(rows=50, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bounds = [KINDS[family](alpha=1e-3, tol=1e-9).fit(X, target).gap_bound_ for target in (y, y + mean)]
        assert bounds[1] == pytest.approx(bounds[0], rel=0.1)


@pytest.mark.parametrize("family", ["squared", "huber"])
def test_a_target_too_far_from_zero_for_tol_is_a_warning(family):
    X, y, _ = make_sample()
    model = KINDS[family](alpha=1e-3)
    with pytest.warns(ConvergenceWarning, match=f"{HIDDEN} of .*; subtract a constant from y"):
        model.fit(X, y + 1e14)
    assert (model.result_.status, model.result_.certified) == ("stalled", True)
    assert f"{model.gap_bound_:.3g} above the minimum (certified)" in str(model.result_)
    model.set_params(tol=1e-2).fit(X, y + 1e14)
    assert model.result_.message.startswith(f"f - f* <= {model.gap_bound_:.3g} at the rounded intercept; before it was")


def test_every_target_has_the_bound_of_its_own_intercept():
    X, y, _ = make_sample()
    targets = np.stack([y, y + 1e12, y - 1e14], axis=1)
    model = fit_quietly(BlockRidge(BLOCKS, alpha=ALPHA, tol=1e-9), X, targets)
    fits = zip(targets.T, model.coef_, model.intercept_, model.result_, strict=True)
    for target, coef, intercept, result in fits:
        gap = find_gap("squared", X, target, BY_COLUMN, coef, intercept)
        assert gap <= result.gap_bound <= 1e-13 + 2.0 * gap
    assert [result.success for result in model.result_] == [True, True, False]
    assert model.gap_bound_ == sum(result.gap_bound for result in model.result_)


def test_fits_along_a_path_are_judged_after_rounding():
    X, y, _ = make_sample()
    model = BlockRidgeCV(BLOCKS, alphas=[ALPHA], cv=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y + 1e14)
    assert "2 of 2 fits along the path did not prove" in str(caught[0].message)
    assert all(HIDDEN in str(warning.message) for warning in caught)
    assert find_gap("squared", X, y + 1e14, BY_COLUMN, model.coef_, model.intercept_) <= model.gap_bound_


def test_a_bound_that_overflows_is_infinite_without_a_warning():
    X, y, _ = make_sample(seed=3)
    model = fit_quietly(BlockHuberRegressor(alpha=0.1), X, 1e200 * y)  # NumPy's warning would fail
    assert model.gap_bound_ == np.inf


def test_rows_on_disk_have_the_bound_of_the_rounded_intercept(tmp_path):
    X, y, _ = make_sample()
    y += 1e12
    write_partitions(tmp_path / "rows", [(X[:6], y[:6]), (X[6:], y[6:])])
    parts = open_partitions(tmp_path / "rows")
    model = BlockHuberRegressor(BLOCKS, alpha=ALPHA, tol=1e-9).fit(parts.X, parts.y)
    gap = find_gap("huber", X, y, BY_COLUMN, model.coef_, model.intercept_, parameter=1.0)
    assert 1e-12 < gap <= model.gap_bound_


@pytest.mark.parametrize("mean", [0.0, 1e12, 1e14])
def test_standard_errors_take_coefficients_whose_intercept_is_rounded(mean):
    X, y, _ = make_sample(rows=50)
    model = fit_quietly(BlockRidge(alpha=1e-3), X, y + mean)
    near = BlockRidge(alpha=1e-3).fit(X, y).standard_errors(X, y)
    assert model.standard_errors(X, y + mean).coef == pytest.approx(near.coef, rel=1e-2)


@pytest.mark.parametrize("family", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("mean", [0.1, 1e8, 1e12])
def test_a_positive_target_that_hardly_varies_is_fitted(family, mean):
    X, noise, _ = make_sample()
    y = mean * (1.0 + 1e-12 * noise)
    model = fit_quietly(KINDS[family](alpha=1e-2), X, y)
    assert model.predict(X) == pytest.approx(y, rel=1e-9)
