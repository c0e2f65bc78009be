"""The page on tomography: its model, its proof and what it says about rings and projections."""

import numpy as np
import pytest
from scipy.sparse.linalg import svds


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("tomography")


@pytest.mark.slow
def test_the_matrices_and_their_bounds(page):
    P, B = page["P"], page["B"]
    assert (P.data >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=0), page["ANGLES"] / page["SIZE"])  # no shadow misses the detectors
    assert svds(P, 1, return_singular_vectors=False)[0] ** 2 <= P.sum(axis=0).max() * P.sum(axis=1).max()
    np.testing.assert_allclose(svds(B, 1, return_singular_vectors=False)[0] ** 2, page["ANGLES"])


@pytest.mark.slow
def test_the_minimum_is_where_the_proof_says(page):
    r, P, B = page["r"], page["P"], page["B"]
    assert r.success
    assert r.certified
    assert r.x.min() == 0.0
    assert page["least"] >= r.fun - r.gap_bound
    rest = P @ r.x + B @ r.y - page["g"]
    by_hand = 0.5 * np.mean(rest**2) + 0.5 * page["alpha_x"] * r.x @ r.x + 0.5 * page["alpha_y"] @ r.y**2
    assert r.fun == pytest.approx(by_hand, rel=1e-9)
    assert np.corrcoef(r.y, page["truth"])[0, 1] > 0.99


@pytest.mark.slow
def test_what_the_page_says(page):
    errors, rings = ({name: pair[i] for name, pair in page["quality"].items()} for i in (0, 1))
    best, *others = sorted(errors, key=errors.get)
    assert best == "detectors shifted, with y"
    assert errors[best] < 0.5 * errors[others[0]]
    assert rings["detectors fixed, with y"] < 0.5 * rings["detectors fixed, without y"]
    assert rings[best] < 0.1 * rings["detectors fixed, without y"]
    counts = page["counts"]
    assert counts["minmin"] < counts["SciPy, y scaled"] < counts["SciPy, jointly"]
    assert counts["minmin"] <= counts["minmin, until it is proved"] < counts["SciPy, y scaled"]
