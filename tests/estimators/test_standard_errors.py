"""Standard errors are those of dense algebra."""

import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit, softmax

from estimators.cases import MODELS, case
from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressorCV, BlockRidge, design, standard_errors

BLOCKS = {"first": slice(0, 2), "second": slice(2, None)}
PENALTIES = {"none": (0.0, 0.0), "one": (0.0, 3e-2), "both": (1e-3, 3e-2)}
FAMILIES = {"logistic": 2, "squared": 2, "poisson": 2, "softmax": 4}


@pytest.fixture(params=["factorised", "three columns in y", "no column in y"])
def way(request, monkeypatch):
    """All ways on the same small data: one factorisation, and conjugate gradients with and without columns in y."""
    if request.param != "factorised":
        in_y = 3 if request.param == "three columns in y" else 0
        monkeypatch.setattr(standard_errors, "DENSE_UP_TO", 0)
        monkeypatch.setattr(design, "_choose_columns", lambda matrix, *_: np.arange(matrix.shape[1]) < in_y)


def fit(family, alpha, sample, **options):
    model = MODELS["logistic" if family == "softmax" else family](BLOCKS, alpha=alpha, cheap=BLOCKS, tol=1e-12, **options)
    return model.fit(sample.X, sample.y, sample.weights)


def dense_errors(family, model, sample, alpha, *, robust=False, intercept=True):
    """Roots of the diagonal of H⁺JH⁺/N for the coefficients and the intercept, class by class."""
    X, y, weights = sample
    X = X.toarray() if scipy.sparse.issparse(X) else X
    n_samples = weights.sum()
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
    information = np.einsum("i,ika,ikl,ilb->ab", weights / n_samples, rows, curvature, rows, optimize=True)
    by_column = np.array([alpha[0]] * 2 + [alpha[1]] * (X.shape[1] - 2) + [0.0] * intercept)
    inverse = np.linalg.pinv(information + np.diag(np.repeat(by_column, outputs)), rcond=1e-10, hermitian=True)
    parameters = np.trace(inverse @ information) / outputs
    spread = information
    if robust:
        scores = np.einsum("ik,ika->ia", slope, rows)
        spread = (scores.T * weights) @ scores / (n_samples - parameters)
    elif family == "squared":
        spread = information * (weights @ slope[:, 0] ** 2) / (n_samples - parameters)
    return np.sqrt(np.diagonal(inverse @ spread @ inverse) / n_samples).reshape(-1, outputs)


def assert_equal(found, expected, intercept=True):
    coef, constant = (expected[:-1], expected[-1]) if intercept else (expected, 0.0)
    np.testing.assert_allclose(np.atleast_2d(found.coef).T, coef, rtol=1e-8)
    np.testing.assert_allclose(found.intercept, constant if np.ndim(found.intercept) else np.squeeze(constant), rtol=1e-8)


@pytest.mark.parametrize("alpha", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.usefixtures("way")
def test_they_are_those_of_dense_algebra(family, alpha, robust):
    sample = case("logistic" if family == "softmax" else family, n=300, classes=FAMILIES[family])
    model = fit(family, alpha, sample)
    found = model.standard_errors(sample.X, sample.y, sample.weights, robust=robust)
    assert_equal(found, dense_errors(family, model, sample, alpha, robust=robust))
