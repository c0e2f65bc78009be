"""The minimum is that of other packages, as nearly as the certificate promises.

f - f* >= ½ Σ_j alpha_j (w_j - w*_j)², as the rest of f is convex and minimal in the intercept. So two answers whose
gaps are at most g and h differ by at most √(2g) + √(2h) in the norm that the penalties make.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse
from glum import GeneralizedLinearRegressor
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from estimators.cases import MODELS, case, objective

BLOCKS = {"few": [0, 3], "many": [1, 2, 4, 5]}
ALPHAS = {"few": 2e-3, "many": 5e-2}
PENALTIES = np.array([2e-3, 5e-2, 5e-2, 2e-3, 5e-2, 5e-2])
TOL = 1e-11


def fitted(family, sample, **options):
    model = MODELS[family](BLOCKS, alpha=ALPHAS, tol=TOL, **options)
    return model.fit(sample.X, sample.y, sample_weight=sample.weights)


def require_agreement(family, sample, model, coef, intercept, penalties=PENALTIES, others_gap=1e-8):
    ours = objective(family, sample, model.coef_, model.intercept_, penalties)
    theirs = objective(family, sample, coef, intercept, penalties)
    assert model.result_.certified
    # f(0) is at least f of the null model, from which the gain is measured
    at_zero = objective(family, sample, np.zeros_like(model.coef_), np.zeros_like(model.intercept_), penalties)
    assert model.gap_bound_ <= TOL * (at_zero - ours)
    least = ours - model.gap_bound_
    assert theirs >= least - 1e-15, "another answer lies below a proved lower bound"
    assert theirs - least <= others_gap, "the other package is not near its minimum"
    difference = np.sqrt(np.sum(penalties * np.square(np.ravel(model.coef_) - np.ravel(coef))))
    assert difference <= np.sqrt(2 * model.gap_bound_) + np.sqrt(2 * max(theirs - least, 0.0)) + 1e-14


def scikit_learn(family, sample, penalties, fit_intercept=True):
    """Columns over the roots of their penalties, so that one penalty of 1 is all of them."""
    roots = np.sqrt(penalties)
    X, n = sample.X / roots, sample.weights.sum()
    if family == "logistic":
        other = LogisticRegression(C=1.0 / n, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    elif family == "poisson":
        other = PoissonRegressor(alpha=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    else:
        other = Ridge(alpha=n, solver="cholesky")
    other.set_params(fit_intercept=fit_intercept).fit(X, sample.y, sample_weight=sample.weights)
    return np.ravel(other.coef_) / roots, np.ravel(other.intercept_)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", MODELS)
def test_scikit_learn_on_scaled_columns(family, seed):
    sample = case(family, seed=seed)
    require_agreement(family, sample, fitted(family, sample), *scikit_learn(family, sample, PENALTIES))


@pytest.mark.parametrize("cheap", [None, (), "few", "many"], ids=str)
@pytest.mark.parametrize("family", MODELS)
def test_whatever_is_cheap_the_minimum_is_the_same(family, cheap):
    sample = case(family, seed=5)
    require_agreement(family, sample, fitted(family, sample, cheap=cheap), *scikit_learn(family, sample, PENALTIES))
    as_sparse = sample._replace(X=scipy.sparse.csc_array(sample.X))
    model = fitted(family, as_sparse, cheap=cheap)
    require_agreement(family, sample, model, *scikit_learn(family, sample, PENALTIES))


@pytest.mark.parametrize("cheap", [None, (), "few"], ids=str)
@pytest.mark.parametrize("family", MODELS)
def test_without_an_intercept(family, cheap):
    sample = case(family, seed=6)
    model = fitted(family, sample, cheap=cheap, fit_intercept=False)
    assert np.all(model.intercept_ == 0.0)
    require_agreement(family, sample, model, *scikit_learn(family, sample, PENALTIES, fit_intercept=False))


@pytest.mark.parametrize("family", MODELS)
def test_glum_with_a_vector_of_penalties(family):
    sample = case(family, seed=1)
    kind = {"logistic": "binomial", "squared": "normal", "poisson": "poisson"}[family]
    other = GeneralizedLinearRegressor(family=kind, alpha=1.0, P2=PENALTIES, gradient_tol=1e-9, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.fit(sample.X, sample.y.astype(float), sample_weight=sample.weights)
    require_agreement(family, sample, fitted(family, sample), other.coef_, other.intercept_)


@pytest.mark.parametrize("family", MODELS)
def test_statsmodels_without_a_penalty(family):
    """Without strong convexity by a penalty, that of the minimum itself is what the certificate speaks of."""
    families = pytest.importorskip("statsmodels.genmod.families")
    linear_model = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    sample = case(family, seed=2)
    kind = {"logistic": families.Binomial, "squared": families.Gaussian, "poisson": families.Poisson}[family]()
    design = np.column_stack([sample.X, np.ones(len(sample.y))])
    other = linear_model.GLM(sample.y, design, family=kind, freq_weights=sample.weights).fit(tol=1e-14, maxiter=200)
    model = MODELS[family](alpha=0.0, tol=TOL).fit(sample.X, sample.y, sample_weight=sample.weights)
    require_agreement(family, sample, model, other.params[:-1], other.params[-1], np.zeros(6))
    np.testing.assert_allclose(np.ravel(model.coef_), other.params[:-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.ravel(model.intercept_)[0], other.params[-1], rtol=1e-4, atol=1e-5)


def test_statsmodels_ridge_with_a_penalty_for_every_column():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    sample = case("squared", seed=3)._replace(weights=np.ones(120))
    design = np.column_stack([sample.X, np.ones(120)])
    other = linear_model.OLS(sample.y, design).fit_regularized(alpha=np.append(PENALTIES, 0.0), L1_wt=0.0)
    model = fitted("squared", sample)
    require_agreement("squared", sample, model, other.params[:-1], other.params[-1])


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("family", MODELS)
def test_the_bound_covers_coefficients_and_intercept_as_they_are(family, tol):
    for seed in range(5):
        sample = case(family, n=200, seed=seed)
        best = scikit_learn(family, sample, PENALTIES)
        model = MODELS[family](BLOCKS, alpha=ALPHAS, tol=tol).fit(sample.X, sample.y, sample_weight=sample.weights)
        least = objective(family, sample, *best, PENALTIES)
        gap = objective(family, sample, model.coef_, model.intercept_, PENALTIES) - least
        assert gap <= model.gap_bound_ + 1e-14 <= tol + 1e-14
        assert model.result_.certified


@pytest.mark.parametrize("family", MODELS)
def test_the_intercept_is_not_penalised(family):
    """A shift of all columns changes the intercept alone, however large the penalties are."""
    sample = case(family, seed=4)
    heavy = {"few": 1e3, "many": 1e4}
    plain = MODELS[family](BLOCKS, alpha=heavy, tol=1e-12).fit(sample.X, sample.y)
    shifted = MODELS[family](BLOCKS, alpha=heavy, tol=1e-12).fit(sample.X + 1.0, sample.y)
    np.testing.assert_allclose(plain.coef_, shifted.coef_, atol=np.sqrt(8e-12 / 1e3))
    mean = sample.y.mean()
    expected = {"logistic": lambda m: 1.0 / (1.0 + np.exp(-m)), "squared": lambda m: m, "poisson": np.exp}[family]
    np.testing.assert_allclose(expected(np.ravel(plain.intercept_)[0]), mean, rtol=1e-2)


@given(
    family=st.sampled_from(sorted(MODELS)),
    owners=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    order=st.permutations(range(6)),
    cheap=st.sampled_from([None, ()]),
    sparse=st.booleans(),
)
def test_neither_names_nor_order_nor_storage_of_columns_matter(family, owners, order, cheap, sparse):
    """Blocks that share a penalty are one block, and coefficients go with their columns."""
    sample = case(family, n=60)
    order = np.array(order)
    whole = MODELS[family](alpha=1e-2, tol=1e-10).fit(sample.X, sample.y)
    blocks = {f"b{k}": np.equal(owners, k) for k in set(owners)}
    parts = MODELS[family](blocks, alpha=1e-2, cheap=cheap, tol=1e-10)
    X = sample.X[:, order]
    parts.fit(scipy.sparse.csr_array(X) if sparse else X, sample.y)
    assert parts.result_.certified
    difference = np.linalg.norm(np.ravel(parts.coef_) - np.ravel(whole.coef_)[order])
    assert difference <= 2.0 * np.sqrt(2.0 * 1e-10 / 1e-2)
