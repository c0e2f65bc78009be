"""One of each: conjugate gradients, Lanczos and L-BFGS against what they stand for, written out."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.core.preconditioner import Preconditioner
from minmin.core.vectors import dot, flatten, unflatten
from minmin.numerics import lbfgs
from minmin.numerics.cg import conjugate_gradients
from minmin.numerics.lanczos import ritz_values
from minmin.numerics.lbfgs import Pairs, inverse_times, remember
from minmin.numerics.step_search import StepSearch

seeds = st.integers(0, 10**6)


def random_hessian(rng, d, condition=1e3):
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return (basis * np.geomspace(1.0, condition, d)) @ basis.T


def two_loop(steps, changes, vector):
    """Nocedal's recursion (1980), which the compact form must equal."""
    weights = []
    for s, r in zip(reversed(steps), reversed(changes), strict=True):
        weights.append(dot(s, vector) / dot(s, r))
        vector = vector - weights[-1] * r
    vector = (dot(steps[-1], changes[-1]) / dot(changes[-1], changes[-1])) * vector
    for s, r, weight in zip(steps, changes, reversed(weights), strict=True):
        vector = vector + (weight - dot(r, vector) / dot(s, r)) * s
    return vector


@pytest.mark.parametrize("kind", ["array", "blocks"])
@given(seed=seeds, d=st.integers(1, 12), count=st.integers(1, 12), kept=st.integers(1, 8), long=st.booleans())
def test_the_compact_form_is_the_two_loop_recursion(kind, seed, d, count, kept, long):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lbfgs, "KEPT_PAIRS", kept)
        patch.setattr(lbfgs, "_LONG_ROW", 1 if long else 10**9)
        compare_with_two_loops(kind, seed, d, count, kept)


def compare_with_two_loops(kind, seed, d, count, kept):
    rng = np.random.default_rng(seed)
    H = random_hessian(rng, 2 * d)

    def vector():
        v = rng.standard_normal(2 * d)
        return v if kind == "array" else minmin.Parts([v[:d], v[d:]], [0.3, 2.0])

    def times_hessian(v):
        """Symmetric in the vectors' own inner product."""
        return unflatten(H @ flatten(v), v)

    steps = [vector() for _ in range(count)]
    changes = [times_hessian(s) for s in steps]
    pairs = Pairs()
    for s, r in zip(steps, changes, strict=True):
        pairs = remember(pairs, s, r)
    assert pairs.number == min(count, kept)
    g = vector()
    expected = two_loop(steps[-kept:], changes[-kept:], g)
    found = inverse_times(pairs, g)
    assert np.allclose(flatten(found), flatten(expected), rtol=1e-7, atol=1e-9 * np.linalg.norm(flatten(expected)))
    secant = inverse_times(pairs, changes[-1])  # the newest pair is met exactly
    assert np.allclose(flatten(secant), flatten(steps[-1]), rtol=1e-6, atol=1e-8)


def test_pairs_keep_library_and_dtype_and_leave_out_what_has_no_curvature():
    xp = array_api_strict
    s = xp.asarray([1.0, 2.0, 0.5], dtype=xp.float32)
    pairs = remember(Pairs(), s, 3.0 * s)
    step = inverse_times(pairs, s)
    assert step.dtype == xp.float32
    assert np.allclose(np.asarray(step), np.asarray(s) / 3.0, rtol=1e-6)
    for change in (-1.0 * s, 0.0 * s, xp.asarray([2.0, -1.0, 0.0], dtype=xp.float32), float("inf") * s):
        with np.errstate(invalid="ignore"):  # as in a run
            assert remember(pairs, s, change).number == 1


@given(seed=seeds, d=st.integers(1, 15))
def test_conjugate_gradients_solve_and_see_the_curvature(seed, d):
    rng = np.random.default_rng(seed)
    A, right = random_hessian(rng, d), rng.standard_normal(d)
    solution, search = np.zeros(d), right

    def apply(p):
        nonlocal search
        search = p.copy()
        return A @ p

    def move(t):
        nonlocal solution
        solution = solution + t * search

    options = {"eps": 2e-16, "tolerance": 1e-12, "most_steps": 20 * d}
    end = conjugate_gradients(apply, move, right.copy(), Preconditioner(np.diagonal(A)), **options)
    assert not end.flat
    assert np.allclose(A @ solution, right, atol=1e-8)
    assert end.residual == pytest.approx(np.linalg.norm(right - A @ solution), abs=1e-8)
    assert np.linalg.eigvalsh(A)[0] * (1 - 1e-9) <= end.min_curvature_seen <= np.linalg.eigvalsh(A)[-1] * (1 + 1e-9)


def test_conjugate_gradients_tell_a_direction_without_curvature():
    A = np.diag([1.0, 0.0])
    options = {"eps": 2e-16, "tolerance": 1e-9, "most_steps": 10}
    end = conjugate_gradients(
        lambda p: A @ p, lambda t: None, np.array([1.0, 1.0]), Preconditioner(np.ones(2)), **options
    )
    assert end.flat
    assert end.residual > 0.5


@pytest.mark.parametrize("orthogonalize", [False, True])
@given(seed=seeds, d=st.integers(1, 30))
def test_ritz_values_lie_within_the_spectrum_and_reach_its_end(orthogonalize, seed, d):
    rng = np.random.default_rng(seed)
    A, start = random_hessian(rng, d, 1e2), rng.standard_normal(d)
    tiny = {"shortest_direction": lambda scale: 1e-12 * scale}
    ritz = ritz_values(lambda v: A @ v, start, d, orthogonalize=orthogonalize, **tiny)
    eigenvalues = np.linalg.eigvalsh(A)
    assert eigenvalues[0] * (1 - 1e-9) <= ritz[0]
    assert ritz[-1] <= eigenvalues[-1] * (1 + 1e-9)
    assert ritz[-1] >= eigenvalues[-1] * (1 - 1e-6)
    if orthogonalize:
        assert ritz[0] == pytest.approx(eigenvalues[0], rel=1e-6)


@given(seed=seeds)
def test_flattening_keeps_inner_products(seed):
    rng = np.random.default_rng(seed)
    a, b = (minmin.Parts([rng.standard_normal(3), rng.standard_normal(2)], [0.2, 5.0]) for _ in range(2))
    assert flatten(a) @ flatten(b) == pytest.approx(a @ b)
    assert np.allclose(unflatten(flatten(a), a)[1], a[1])


def test_a_search_along_a_step_that_rises_from_its_start_ends_without_success():
    """Rounding errors in a model of f can give such a step; here the slopes at both ends are the same."""
    for step in np.ones(1), 1e-3 * np.ones(1):
        search = StepSearch(np.zeros(1), np.ones(1), step, term=None, units=1.0, overshoot=0.5)
        assert not search.measure(np.ones(1))
        assert not search.shorten()
