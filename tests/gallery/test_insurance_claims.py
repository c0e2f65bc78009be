"""The page on insurance claims: exposure as an offset or as a weight, relativities, and what it says of others."""

import numpy as np
import pytest
from sklearn.metrics import mean_poisson_deviance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("insurance_claims", "tables/ausprivauto0405.csv.gz")


def test_an_offset_is_the_same_model_as_weighted_rates_and_scikit_learns(page):
    model, rates, peer = page["model"], page["rates"], page["peer"]
    np.testing.assert_allclose(model.coef_, rates.coef_, atol=1e-10)
    theirs = np.exp(page["Z"] @ peer.coef_ + peer.intercept_)
    np.testing.assert_allclose(model.predict(page["X"]), theirs, rtol=1e-3)


def test_coefficients_of_a_text_column_sum_to_zero(page):
    table = page["table"]
    sums = table["coefficient"].groupby(table["name"].str.partition("=")[0]).sum()
    assert sorted(sums.index) == sorted(page["TEXTS"])
    np.testing.assert_allclose(sums, 0.0, atol=1e-4)


def test_the_model_beats_one_rate_for_all_and_a_model_without_exposure(page):
    deviance = page["deviance"]
    assert deviance["the model"] < deviance["the same rate for all"] < deviance["no exposure"]
    assert mean_poisson_deviance(page["observed"], page["expected"]) < 3.0  # about 1 per group if the model is right


def test_newton_cholesky_wins_and_joint_lbfgs_does_not(page):
    counts, result = page["counts"], page["model"].result_
    assert counts["minmin: passes"] < counts["SciPy's L-BFGS-B: passes"]
    assert counts["scikit-learn's newton-cholesky: iterations"] <= counts["minmin: calls of ∇ₓ"]
    assert result.certified
    assert 0.0 <= result.fun - page["least"] <= result.gap_bound
