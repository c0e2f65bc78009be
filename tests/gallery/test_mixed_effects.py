"""The page on mixed effects: it finds the closed form and statsmodels' effects, and says what the alternatives take."""

import pytest


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("mixed_effects", "tables/InstEval.csv.gz", "tables/parkinsons_updrs.csv.gz")


@pytest.mark.slow
def test_crossed_effects_are_those_of_the_closed_form(page):
    assert page["r"].success
    assert page["r"].certified
    assert page["error"] <= 1e-8
    assert page["n"] == 73421
    assert page["sizes"] == (2972, 1128)


@pytest.mark.slow
def test_patients_are_those_of_statsmodels(page):
    assert page["mixed"].converged
    assert page["agreement"] <= 1e-7


@pytest.mark.slow
def test_what_the_page_says(page):
    counts = page["counts"]
    assert counts["minmin"] < counts["conjugate gradients"] < counts["alternating minimisation"]
    assert counts["minmin"] + page["r"].calls["passes_y"] > 2 * counts["conjugate gradients"]
    assert all(0.5 < ratio / 1.5 < 2.0 for ratio in page["ratios"].values())
