"""The page on ratings: what it says about rounds, about the proof and about privacy holds."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("ratings", "ratings/movietweetings_100k.dat.gz")


pytestmark = pytest.mark.slow


def test_minmin_takes_fewer_rounds_than_every_federated_method(page):
    rounds = {name: np.inf if isinstance(count, str) else count for name, count in page["counts"].items()}
    in_one_place = rounds.pop("SciPy's L-BFGS-B, in one place")
    fewest, *others = sorted(rounds, key=rounds.get)
    assert fewest == "minmin: reduced-lbfgs"
    assert rounds[fewest] < 0.75 * rounds[others[0]]
    assert rounds[fewest] <= in_one_place + 2
    assert rounds["FedAvg, 5 steps of 0.5/L"] == np.inf


def test_the_effects_are_those_of_the_normal_equations(page):
    result, n = page["r"], page["n"]
    A = np.hstack([page["X"].toarray(), page["Y"]])
    penalties = np.repeat([page["ALPHA_X"], page["ALPHA_Y"]], [len(page["films"]), page["PEOPLE"]])
    exact = np.linalg.solve(A.T @ A + np.diag(penalties), A.T @ page["target"])
    least = (np.sum((A @ exact - page["target"]) ** 2) + penalties @ exact**2) / (2 * n)
    assert page["least"] == pytest.approx(least, abs=1e-12)
    assert result.certified
    assert 0.0 <= result.fun - least <= result.gap_bound <= 1e-7
    x = exact[: len(page["films"])]
    assert page["ALPHA_X"] / n * np.sum((result.x - x) ** 2) <= 2 * result.gap_bound


def test_the_model_predicts_better_than_the_mean_and_a_gradient_reveals_ratings(page):
    assert page["error"] < 0.9 * np.std(page["rating"][page["test"]] - page["mean"])
    rated = np.sort(page["film"][page["own"]])
    np.testing.assert_array_equal(np.flatnonzero(page["sent"]), rated)
