"""What standard errors refuse, and what they warn of."""

import numpy as np
import pandas
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from estimators.cases import case
from minmin.errors import InputError
from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, BlockRidge, column_split, standard_errors

SAMPLE = case("squared", n=40)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError, match="not fitted"):
        BlockRidge().standard_errors(SAMPLE.X, SAMPLE.y)


def test_x_must_have_the_columns_of_the_fit():
    model = BlockRidge().fit(SAMPLE.X, SAMPLE.y)
    with pytest.raises(ValueError, match="X has 5 features, but BlockRidge is expecting 6"):
        model.standard_errors(SAMPLE.X[:, :5], SAMPLE.y)
    frame = pandas.DataFrame(SAMPLE.X, columns=list("abcdef"))
    with pytest.raises(ValueError, match="feature names"):
        BlockRidge().fit(frame, SAMPLE.y).summary(frame.rename(columns={"a": "A"}), SAMPLE.y)


@pytest.mark.parametrize("other", ["X", "y", "weights"])
def test_other_data_than_those_of_the_fit(other):
    model = BlockRidge().fit(SAMPLE.X, SAMPLE.y)
    data = {"X": (SAMPLE.X[::-1], SAMPLE.y), "y": (SAMPLE.X, 2.0 * SAMPLE.y), "weights": SAMPLE}[other]
    with pytest.raises(
        InputError, match=r"do not minimise the loss of these data.*sample_weight and offset of the fit"
    ):
        model.standard_errors(*data)


def test_other_classes_than_those_of_the_fit():
    sample = case("logistic")
    model = BlockLogisticRegression().fit(sample.X, sample.y)
    with pytest.raises(InputError, match=r"classes \[0, 2\], but the model was fitted with \[0, 1\]"):
        model.standard_errors(sample.X, 2 * sample.y)


def test_a_penalty_that_was_not_fitted_does_not_matter():
    """The penalties of the fit count, not those that were set since."""
    model = BlockRidge(alpha=1e-2).fit(SAMPLE.X, SAMPLE.y)
    before = model.standard_errors(SAMPLE.X, SAMPLE.y).coef
    np.testing.assert_array_equal(model.set_params(alpha=1.0).standard_errors(SAMPLE.X, SAMPLE.y).coef, before)


def test_too_many_columns():
    X = np.random.default_rng(0).standard_normal((20, 5000))
    y = X[:, 0]
    model = BlockPoissonRegressor(alpha=1.0).fit(X, np.abs(y))
    with pytest.raises(InputError, match="5001 coefficients take as many linear systems; choose some"):
        model.standard_errors(X, np.abs(y))
    assert model.standard_errors(X, np.abs(y), columns=[0, 4999]).coef.shape == (2,)


@pytest.mark.parametrize("columns", [[9], "age", [], [True] * 5])
def test_columns_that_do_not_exist(columns):
    model = BlockRidge().fit(SAMPLE.X, SAMPLE.y)
    with pytest.raises(InputError, match="block 'columns'"):
        model.standard_errors(SAMPLE.X, SAMPLE.y, columns=columns)


@pytest.mark.filterwarnings("ignore:f - f")
@pytest.mark.parametrize(
    ("model", "in_x"), [(BlockRidge, False), (BlockPoissonRegressor, False), (BlockPoissonRegressor, True)]
)
def test_dependent_columns_without_a_penalty_are_named(model, in_x, monkeypatch):
    """a + b is the intercept and z is zero; c is determined all the same."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 50)
    frame = pandas.DataFrame({"a": a, "b": 1 - a, "c": rng.standard_normal(50), "z": 0.0})
    y = rng.poisson(1.0, 50)
    fitted = model(alpha=0.0, tol=1e-10).fit(frame, y)
    if in_x:
        monkeypatch.setattr(standard_errors, "_FACTORISE", 0)
        monkeypatch.setattr(column_split, "_choose_columns", lambda matrix, *_: np.zeros(4, dtype=bool))
    with pytest.raises(InputError, match=r"these coefficients: 'a', 'b', 'z'.*linearly dependent or zero"):
        fitted.standard_errors(frame, y, columns=slice(None))
    found = fitted.standard_errors(frame, y, columns="c")
    assert np.isnan(found.intercept)
    monkeypatch.undo()
    smaller = frame[["b", "c"]]
    expected = model(alpha=0.0, tol=1e-10).fit(smaller, y).standard_errors(smaller, y, columns="c")
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-5)


def test_more_parameters_than_samples():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 20)), rng.standard_normal(10)
    model = BlockRidge(alpha=1e-12, tol=1e-3).fit(X, y, np.full(10, 0.1))
    with pytest.raises(InputError, match=r"10 parameters for 1 samples.*sample_weight as counts"):
        model.standard_errors(X, y, np.full(10, 0.1))
    square = BlockRidge(alpha=0.0).fit(X[:, :9], y)
    with pytest.raises(InputError, match="10 parameters for 10 samples"):
        square.standard_errors(X[:, :9], y)


def test_a_rough_fit_is_a_warning():
    sample = case("logistic", n=1000)
    with pytest.warns(ConvergenceWarning, match="was not proved"):
        model = BlockLogisticRegression(max_iter=1).fit(sample.X, sample.y)
    with pytest.warns(ConvergenceWarning, match="standard errors from the minimum; fit with a smaller tol") as caught:
        model.summary(sample.X, sample.y)
    assert caught[0].filename == __file__


def test_as_many_targets_as_in_the_fit():
    model = BlockRidge().fit(SAMPLE.X, SAMPLE.y)
    with pytest.raises(InputError, match="not that of the fit"):
        model.summary(SAMPLE.X, np.stack([SAMPLE.y, SAMPLE.y], axis=1))


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_is_a_probability(level):
    model = BlockRidge().fit(SAMPLE.X, SAMPLE.y)
    with pytest.raises(InputError, match=r"level = .* must lie between 0 and 1"):
        model.summary(SAMPLE.X, SAMPLE.y, level=level)
