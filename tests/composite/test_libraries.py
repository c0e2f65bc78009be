"""Every term and method in another array library and in single precision gives NumPy's answer."""

import array_api_strict
import numpy as np
import pytest

import minmin
from composite.cases import KINDS, METHODS, draw_case
from composite.independent import find_minima
from minmin.problems import Composite, Quadratic

TOL = {"float64": 1e-9, "float32": 1e-3}


@pytest.mark.parametrize("dtype", TOL)
@pytest.mark.parametrize("method", METHODS)
def test_array_api_strict_gives_the_answer_of_numpy(method, dtype):
    xp = array_api_strict
    rng = np.random.default_rng(5)
    kinds = zip(KINDS[::2], KINDS[1::2], strict=True)
    for minimum in find_minima([draw_case(rng, pair, condition=10.0, single=True) for pair in kinds]):
        case, z = minimum.case, np.concatenate([minimum.x, minimum.y])
        tol = TOL[dtype] * (minimum.size + np.linalg.norm(case.gradient(z)) * np.linalg.norm(z))
        kept = {"dtype": getattr(xp, dtype)}
        f = Quadratic(xp.asarray(case.H, **kept), xp.asarray(case.b, **kept), case.x.size, case.constants)
        r = minmin.minimize(Composite(f, case.x.to_term(), case.y.to_term()), method=method, tol=tol)
        ours = minmin.minimize(case.problem(dtype), method=method, tol=tol)
        assert r.success, r
        assert r.certified
        assert type(r.x) is type(f.b)
        assert r.x.dtype == r.y.dtype == f.b.dtype
        gap = minimum.gap(r.x, r.y)
        assert gap <= r.gap_bound <= tol
        # Sums are rounded in another order, so that in single precision a run may take a step more.
        assert r.fun == pytest.approx(ours.fun, abs=2 * tol)
        if dtype == "float64":
            assert r.calls == ours.calls
            assert np.allclose(np.asarray(r.x), ours.x, rtol=1e-6, atol=1e-8 * np.abs(minimum.x).max())


@pytest.mark.parametrize("method", METHODS)
def test_a_start_in_another_library_takes_the_problem_and_its_terms_along(method):
    xp = array_api_strict
    rng = np.random.default_rng(6)
    case = draw_case(rng, ("Box", "L1"), condition=10.0, single=True)
    (minimum,) = find_minima([case])
    x0, y0 = xp.zeros(case.x.size, dtype=xp.float32), xp.zeros(case.y.size, dtype=xp.float32)
    r = minmin.minimize(case.problem(), x0, y0, method=method, tol=1e-3 * minimum.size)
    assert r.success
    assert r.x.dtype == r.y.dtype == xp.float32
    assert minimum.gap(r.x, r.y) <= r.gap_bound


def test_bounds_follow_the_library_too():
    xp = array_api_strict
    problem = Quadratic.random(d_x=4, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0)
    strict = Quadratic(xp.asarray(problem.H), xp.asarray(problem.b), 4)
    bounds = {"bounds_x": (-0.1, 0.1), "bounds_y": [(0, None)] * 3}
    r = minmin.minimize(strict, **bounds, tol=1e-9)
    ours = minmin.minimize(Quadratic(problem.H, problem.b, 4), **bounds, tol=1e-9)
    assert r.success
    assert np.allclose(np.asarray(r.x), ours.x, atol=1e-7)
    assert np.allclose(np.asarray(r.y), ours.y, atol=1e-7)
