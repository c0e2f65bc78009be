"""The page on clicks: its model is logistic regression with one penalty per block, and what it says of it holds."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("clicks", "clicks/criteo_7200.tsv.gz")


def test_minmin_takes_fewer_passes_than_joint_lbfgs_to_a_proved_gap(page):
    counts, fit, exact = page["counts"], page["fit"], page["exact"]
    assert counts["minmin: passes"] < 0.75 * counts["SciPy's L-BFGS-B: passes"]
    assert counts["minmin: calls of ∇ₓ"] < counts["scikit-learn's newton-cg: iterations"]
    assert fit.result_.certified
    assert 0.0 <= fit.result_.fun - exact.result_.fun <= fit.gap_bound_ <= 1e-6 * (page["null"] - fit.result_.fun)


def test_the_model_of_text_is_that_of_the_matrix_of_zeros_and_ones(page):
    assert min(page["values"]) == pytest.approx(page["exact"].result_.fun, abs=1e-7)
    assert page["X"].shape[1] == page["exact"].coef_.size


def test_it_predicts_better_than_the_mean_and_a_second_penalty_gains_nothing(page):
    nothing, one, two = page["losses"].values()
    assert one < 0.95 * nothing
    assert two == pytest.approx(one, abs=1e-3)


def test_predicted_probabilities_are_within_three_standard_errors_of_the_shares(page):
    assert np.all(np.abs(page["predicted"] - page["observed"]) < 3 * page["error"])
