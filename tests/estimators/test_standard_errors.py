"""Standard errors are those of dense algebra."""

import pickle

import numpy as np
import pandas
import pytest
import scipy.sparse
from scipy.special import expit, softmax

from estimators.cases import MODELS, case
from minmin.errors import UnsupportedError
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockPoissonRegressor,
    BlockPoissonRegressorCV,
    BlockRidge,
    BlockTweedieRegressor,
    column_split,
    standard_errors,
)

BLOCKS = {"first": slice(0, 2), "second": slice(2, None)}
PENALTIES = {"none": (0.0, 0.0), "one": (0.0, 3e-2), "both": (1e-3, 3e-2)}
FAMILIES = {"logistic": 2, "squared": 2, "poisson": 2, "softmax": 4}


@pytest.fixture(params=["factorised", "three columns in y", "no column in y"])
def way(request, monkeypatch):
    """All ways on the same small data: one factorisation, and conjugate gradients with and without columns in y."""
    if request.param != "factorised":
        in_y = 3 if request.param == "three columns in y" else 0
        monkeypatch.setattr(standard_errors, "_FACTORISE", 0)
        monkeypatch.setattr(column_split, "_choose_columns", lambda matrix, *_: np.arange(matrix.shape[1]) < in_y)


def draw(family):
    return case("logistic" if family == "softmax" else family, n=300, classes=FAMILIES[family])


def fit(family, alpha, sample, **options):
    model = MODELS["logistic" if family == "softmax" else family](
        BLOCKS, alpha=alpha, cheap=BLOCKS, tol=1e-12, **options
    )
    return model.fit(sample.X, sample.y, sample.weights)


def dense_errors(family, model, sample, alpha, *, robust=False, intercept=True, of_class=None):
    """Roots of the diagonal of H⁺JH⁺/N for the coefficients and the intercept, class by class."""
    X, y, weights = sample
    X = X.toarray() if scipy.sparse.issparse(X) else X
    n_samples = weights.sum()
    of_class = np.ones(len(y)) if of_class is None else np.array(of_class)[y]
    total = weights * of_class
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    margins = X @ np.atleast_2d(model.coef_).T + model.intercept_
    outputs = margins.shape[1]
    if family == "softmax":
        p = softmax(margins, axis=1)
        curvature = np.einsum("ik,kl->ikl", p, np.eye(outputs)) - np.einsum("ik,il->ikl", p, p)
        slope = p - np.eye(outputs)[y]
    else:
        mean = {"logistic": expit, "squared": np.copy, "poisson": np.exp}[family](margins)
        variance = {"logistic": mean * (1.0 - mean), "squared": np.ones_like(mean), "poisson": mean}[family]
        curvature, slope = variance[:, :, None], mean - y[:, None]
    rows = np.einsum("ij,kl->ikjl", Z, np.eye(outputs)).reshape(len(Z), outputs, -1)  # margins of every coefficient
    information = np.einsum("i,ika,ikl,ilb->ab", total / total.sum(), rows, curvature, rows, optimize=True)
    by_column = np.array([alpha[0]] * 2 + [alpha[1]] * (X.shape[1] - 2) + [0.0] * intercept)
    inverse = np.linalg.pinv(information + np.diag(np.repeat(by_column, outputs)), rcond=1e-10, hermitian=True)
    parameters = np.trace(inverse @ information) / outputs
    spread = information
    if robust:
        scores = np.einsum("ik,ika->ia", slope, rows)
        factors = total * of_class * (n_samples / total.sum()) ** 2
        spread = (scores.T * factors) @ scores / (n_samples - parameters)
    elif family == "squared":
        spread = information * (weights @ slope[:, 0] ** 2) / (n_samples - parameters)
    return np.sqrt(np.diagonal(inverse @ spread @ inverse) / n_samples).reshape(-1, outputs)


def assert_equal(found, expected, intercept=True):
    coef, constant = (expected[:-1], expected[-1]) if intercept else (expected, 0.0)
    np.testing.assert_allclose(np.atleast_2d(found.coef).T, coef, rtol=1e-8)
    np.testing.assert_allclose(
        found.intercept, constant if np.ndim(found.intercept) else np.squeeze(constant), rtol=1e-8
    )


@pytest.mark.parametrize("alpha", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("way")
def test_they_are_those_of_dense_algebra(family, alpha):
    sample = draw(family)
    model = fit(family, alpha, sample)
    for robust in (False, True):
        found = model.standard_errors(sample.X, sample.y, sample.weights, columns=slice(None), robust=robust)
        assert_equal(found, dense_errors(family, model, sample, alpha, robust=robust))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("way")
def test_sparse_data_without_an_intercept(family):
    sample = draw(family)
    sample = sample._replace(X=scipy.sparse.csr_array(sample.X * (sample.X > 0.0)))
    model = fit(family, PENALTIES["both"], sample, fit_intercept=False)
    found = model.standard_errors(sample.X, sample.y, sample.weights, columns=slice(None))
    assert_equal(found, dense_errors(family, model, sample, PENALTIES["both"], intercept=False), intercept=False)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("robust", [False, True])
def test_a_weight_counts_equal_samples(family, robust):
    sample = draw(family)
    counts = np.random.default_rng(1).integers(0, 4, len(sample.y))
    repeated = [np.repeat(array, counts, axis=0) for array in sample[:2]]
    options = {"class_weight": {0: 3.0}} if robust and family in ("logistic", "softmax") else {}
    model = fit(family, PENALTIES["both"], sample._replace(weights=counts), **options)
    twin = fit(family, PENALTIES["both"], sample._replace(X=repeated[0], y=repeated[1], weights=None), **options)
    found = model.standard_errors(sample.X, sample.y, counts, robust=robust)
    expected = twin.standard_errors(*repeated, robust=robust)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-6)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=1e-6)


@pytest.mark.parametrize("family", ["logistic", "softmax"])
def test_class_weights_need_robust_standard_errors(family):
    sample = draw(family)
    of_class = [3.0, 0.5, 1.0, 1.0][: FAMILIES[family]]
    model = fit(family, PENALTIES["both"], sample, class_weight=dict(enumerate(of_class)))
    with pytest.raises(UnsupportedError, match="robust=True"):
        model.standard_errors(*sample)
    expected = dense_errors(family, model, sample, PENALTIES["both"], robust=True, of_class=of_class)
    assert_equal(model.standard_errors(*sample, robust=True), expected)


def test_classical_standard_errors_of_least_squares():
    """A straight line through ten points, by the textbook."""
    t = np.arange(10.0)
    y = 2.0 * t + np.array([0.3, -0.1, 0.2, -0.4, 0.1, 0.5, -0.6, 0.2, -0.3, 0.1])
    found = BlockRidge(alpha=0.0, tol=1e-11).fit(t[:, None], y).standard_errors(t[:, None], y)
    residual = y - np.polyval(np.polyfit(t, y, 1), t)
    squares = np.sum((t - t.mean()) ** 2)
    sigma = np.sqrt(np.sum(residual**2) / 8.0)
    assert found.coef == pytest.approx([sigma / np.sqrt(squares)])
    assert found.intercept == pytest.approx(sigma * np.sqrt(0.1 + t.mean() ** 2 / squares))


@pytest.mark.usefixtures("way")
def test_a_tiny_penalty_on_several_classes_costs_no_digits():
    """The penalty alone determines the sum over the classes, which no standard error depends on."""
    sample = draw("softmax")
    without, with_tiny = (
        fit("softmax", alpha, sample).standard_errors(*sample, columns=slice(None)).coef
        for alpha in ((0.0, 0.0), (1e-13, 1e-13))
    )
    np.testing.assert_allclose(with_tiny, without, rtol=1e-5)


def test_an_offset_is_part_of_the_margins():
    sample = draw("poisson")
    offset = sample.weights - 1.0
    model = BlockPoissonRegressor(alpha=0.0, tol=1e-12).fit(sample.X, sample.y, offset=offset)
    found = model.standard_errors(sample.X, sample.y, offset=offset)
    Z = np.column_stack([sample.X, np.ones(len(sample.y))])
    covariance = np.linalg.inv((Z.T * model.predict(sample.X, offset)) @ Z)
    np.testing.assert_allclose([*found.coef, found.intercept], np.sqrt(np.diagonal(covariance)), rtol=1e-8)


@pytest.mark.parametrize("name", ["gamma", "tweedie", "huber"])
def test_an_estimated_dispersion(name):
    """Pearson's for gamma and Tweedie; Huber's second proposal for Huber."""
    sample = draw("poisson")
    X, y = sample.X, sample.y + (0.5 if name == "gamma" else 0.0)
    Z = np.column_stack([X, np.ones(len(y))])
    kind = {"gamma": BlockGammaRegressor, "tweedie": BlockTweedieRegressor, "huber": BlockHuberRegressor}[name]
    model = kind(alpha=0.0, tol=1e-12).fit(X, y)
    mean = model.predict(X)
    freedom = len(y) - Z.shape[1]
    if name == "gamma":
        curvature, dispersion = y / mean, np.sum((y - mean) ** 2 / mean**2) / freedom
    elif name == "tweedie":
        curvature = 0.5 * mean**0.5 + 0.5 * y * mean**-0.5
        dispersion = np.sum((y - mean) ** 2 / mean**1.5) / freedom
    else:
        curvature, slope = np.abs(y - mean) <= 1.0, np.clip(y - mean, -1.0, 1.0)
        dispersion = np.sum(slope**2) / np.mean(curvature) / freedom
    expected = np.sqrt(dispersion * np.diagonal(np.linalg.inv((Z.T * curvature) @ Z)))
    found = model.summary(X, y)
    assert found.dispersion == pytest.approx(dispersion, rel=1e-3 if name == "huber" else 1e-8)
    # The Hessian of the Huber loss has a little curvature where the loss has none.
    np.testing.assert_allclose(found["standard_error"], expected, rtol=1e-3 if name == "huber" else 1e-8)


def test_several_targets_are_those_of_separate_fits():
    sample = draw("squared")
    targets = np.stack([sample.y, 3.0 * sample.y**2], axis=1)
    model = BlockRidge(BLOCKS, alpha=PENALTIES["one"]).fit(sample.X, targets)
    found, table = model.standard_errors(sample.X, targets), model.summary(sample.X, targets)
    for k, y in enumerate(targets.T):
        alone = BlockRidge(BLOCKS, alpha=PENALTIES["one"]).fit(sample.X, y)
        expected = alone.standard_errors(sample.X, y)
        np.testing.assert_allclose(found.coef[k], expected.coef)
        np.testing.assert_allclose(found.intercept[k], expected.intercept)
        np.testing.assert_allclose(table["p_value"][k::2], alone.summary(sample.X, y)["p_value"], rtol=1e-6)
    assert table["target"].tolist() == ["0", "1"] * 7
    assert len(table.plot().axes) == 2


def test_some_columns_only():
    sample = draw("softmax")
    frame = pandas.DataFrame(sample.X, columns=["age", "price", "c1", "c2", "c3", "c4"])
    model = BlockLogisticRegression({"numbers": ["age", "price"]}).fit(frame, sample.y)
    everything = model.standard_errors(frame, sample.y)
    assert everything.coef.shape == model.coef_.shape
    assert everything.intercept.shape == model.intercept_.shape
    some = model.standard_errors(frame, sample.y, columns=["c*", "age"])
    np.testing.assert_allclose(some.coef, everything.coef[:, [0, 2, 3, 4, 5]])


def test_the_number_of_parameters_is_estimated_well():
    """300 coefficients are penalised, ten times as many as random vectors."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 300)) * np.geomspace(1.0, 0.05, 300), rng.standard_normal(500)
    model = BlockRidge(alpha=0.1, tol=1e-12).fit(X, y)
    exact = model.summary(X, y).dispersion
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standard_errors, "_FACTORISE", 0)
        patch.setattr(column_split, "_choose_columns", lambda matrix, *_: np.zeros(300, dtype=bool))
        assert model.summary(X, y, columns=[0]).dispersion == pytest.approx(exact, rel=0.02)


def test_a_model_is_not_changed():
    sample = draw("logistic")
    model = fit("logistic", PENALTIES["both"], sample)
    before = pickle.dumps(vars(model))
    model.standard_errors(*sample)
    assert pickle.dumps(vars(model)) == before


def test_single_precision_and_chosen_penalties():
    sample = draw("poisson")
    X = sample.X.astype(np.float32)
    model = BlockPoissonRegressorCV(BLOCKS, alphas=[(1e-3, 3e-2)], cv=2).fit(X, sample.y)
    reference = fit("poisson", (1e-3, 3e-2), sample._replace(weights=None)).standard_errors(*sample[:2])
    np.testing.assert_allclose(model.standard_errors(X, sample.y).coef, reference.coef, rtol=1e-2)
