"""More than two classes: the softmax loss, one row of coefficients a class."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

import minmin
from estimators.cases import case, objective
from minmin.estimators import BlockLogisticRegression, BlockLogisticRegressionCV

BLOCKS = {"few": [0, 3], "many": [1, 2, 4, 5]}
ALPHAS = {"few": 2e-3, "many": 5e-2}
PENALTIES = np.array([2e-3, 5e-2, 5e-2, 2e-3, 5e-2, 5e-2])
TOL = 1e-11


def scikit_learn(sample):
    """Columns over the roots of their penalties, so that one penalty of 1 is all of them."""
    roots = np.sqrt(PENALTIES)
    other = LogisticRegression(C=1.0 / sample.weights.sum(), solver="newton-cholesky", tol=1e-12, max_iter=1000)
    other.fit(sample.X / roots, sample.y, sample_weight=sample.weights)
    return other.coef_ / roots, other.intercept_


@pytest.mark.parametrize("cheap", [None, (), "many"], ids=str)
@pytest.mark.parametrize("classes", [3, 5])
def test_scikit_learn_on_scaled_columns(classes, cheap):
    sample = case("logistic", n=300, classes=classes, seed=classes)
    for X in (sample.X, scipy.sparse.csr_array(sample.X)):
        model = BlockLogisticRegression(BLOCKS, alpha=ALPHAS, cheap=cheap, tol=TOL)
        model.fit(X, sample.y, sample_weight=sample.weights)
        assert model.coef_.shape == (classes, 6)
        assert model.intercept_.shape == (classes,)
        assert model.result_.certified
        assert model.gap_bound_ <= TOL
        coef, intercept = scikit_learn(sample)
        least = objective("logistic", sample, model.coef_, model.intercept_, PENALTIES) - model.gap_bound_
        theirs = objective("logistic", sample, coef, intercept, PENALTIES)
        assert -1e-15 <= theirs - least <= 1e-8
        difference = np.sqrt(np.sum(PENALTIES * np.square(model.coef_ - coef)))
        assert difference <= np.sqrt(2 * model.gap_bound_) + np.sqrt(2 * max(theirs - least, 0.0)) + 1e-14
        np.testing.assert_allclose(model.intercept_.sum(), 0.0, atol=1e-9)


def test_the_bound_covers_coefficients_and_intercepts():
    for seed in range(5):
        sample = case("logistic", n=200, classes=4, seed=seed)
        least = objective("logistic", sample, *scikit_learn(sample), PENALTIES)
        model = BlockLogisticRegression(BLOCKS, alpha=ALPHAS, tol=1e-4)
        model.fit(sample.X, sample.y, sample_weight=sample.weights)
        gap = objective("logistic", sample, model.coef_, model.intercept_, PENALTIES) - least
        assert gap <= model.gap_bound_ + 1e-14 <= 1e-4 + 1e-14


def test_a_block_without_a_penalty_is_certified():
    sample = case("logistic", n=400, classes=3, seed=1)
    model = BlockLogisticRegression({"free": [0, 1]}, alpha={"free": 0.0, "rest": 1e-2}, tol=1e-9)
    model.fit(sample.X, sample.y)
    assert model.result_.certified
    assert model.gap_bound_ <= 1e-9


def test_probabilities_and_labels():
    sample = case("logistic", n=300, classes=4)
    names = np.array(["north", "east", "south", "west"])
    model = BlockLogisticRegression().fit(sample.X, names[sample.y])
    assert model.classes_.tolist() == sorted(names)
    probabilities = model.predict_proba(sample.X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(sample.X), model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(sample.X), np.log(probabilities))
    assert model.decision_function(sample.X).shape == (300, 4)


def test_the_softmax_of_two_classes_is_the_binary_model():
    sample = case("logistic")
    binary = BlockLogisticRegression(alpha=1e-2, tol=1e-12).fit(sample.X, sample.y)
    several = minmin.problems.Softmax(
        sample.X, np.ones((120, 1)), sample.y, 2, alpha_x=2e-2, alpha_y=0.0
    )  # the difference of two rows has half of their penalty
    table = minmin.minimize(several, tol=1e-12).x.reshape(-1, 2)
    np.testing.assert_allclose(binary.coef_[0], table[:, 1] - table[:, 0], atol=1e-4)


def test_warm_starts_and_paths():
    sample = case("logistic", n=300, classes=3)
    model = BlockLogisticRegression(alpha=1e-3, tol=1e-9, warm_start=True, cheap=())
    cold = model.fit(sample.X, sample.y).calls_["passes"]
    assert model.fit(sample.X, sample.y).calls_["passes"] < cold / 2
    assert model.fit(sample.X, sample.y % 2).coef_.shape == (1, 6)
    path = BlockLogisticRegressionCV(BLOCKS, alphas=3, cv=3, tol=1e-9).fit(sample.X, sample.y)
    alone = BlockLogisticRegression(BLOCKS, alpha=path.alpha_, tol=1e-9).fit(sample.X, sample.y)
    np.testing.assert_allclose(path.coef_, alone.coef_, atol=1e-2)
    assert -path.best_score_ < np.log(3.0)


def test_a_class_without_weight_is_refused():
    sample = case("logistic", n=60, classes=3)
    with pytest.raises(minmin.InputError, match="the data: class 2 has no sample of positive weight"):
        BlockLogisticRegression().fit(sample.X, sample.y, sample_weight=(sample.y != 2).astype(float))
