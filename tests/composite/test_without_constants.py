"""Bare callables with terms: runs converge, and say that their bound is an estimate."""

import numpy as np
import pytest

import minmin
from composite.cases import as_function, draw_case
from composite.independent import find_minima
from minmin.problems import Composite
from minmin.terms import L1, Box


def forget_constants(case):
    """The problem through callables alone."""
    return Composite(as_function(case), case.x.to_term(), case.y.to_term())


def test_runs_converge_with_an_estimate_that_is_rarely_too_low():
    """100 random problems."""
    rng = np.random.default_rng(0)
    kinds = ("none", "L1", "Box")
    pairs = [(p, q) for p in kinds for q in kinds if (p, q) != ("none", "none")]
    cases = [draw_case(rng, pairs[i % len(pairs)], logistic=i % 3 == 0, condition=300.0) for i in range(100)]
    too_low, too_early = 0, 0
    for minimum in find_minima(cases):
        tol = 10 ** rng.uniform(-9, -4) * minimum.size
        r = minmin.minimize(forget_constants(minimum.case), tol=tol)
        assert r.success, r
        assert not r.certified
        assert "estimated" in r.message
        gap = minimum.gap(r.x, r.y)
        too_low += r.gap_bound < gap
        too_early += gap > tol
        assert gap <= 10 * tol
    assert too_low <= 5
    assert too_early <= 2


CORNERS = {
    "x stays at zero": (L1(1e3), None),
    "y stays at zero": (None, L1(1e3)),
    "both stay at zero": (L1(1e3), L1(1e3)),
    "x stays at a corner": (Box(10, 11), L1(0.1)),
    "y stays at a corner": (L1(0.1), Box(10, 11)),
    "x has one value": (Box(1, 1), None),
    "both have one value": (Box(1, 1), Box(2, 2)),
}


@pytest.mark.parametrize("known", [True, False], ids=["with constants", "without constants"])
@pytest.mark.parametrize("corner", CORNERS)
def test_a_block_may_start_at_its_minimum_and_stay_there(corner, known):
    """Then no step shows a curvature of that block, and the other one is minimised all the same."""
    rng = np.random.default_rng(1)
    for logistic in (False, True):
        case = draw_case(rng, ("none", "none"), logistic=logistic)
        f = case.f() if known else forget_constants(case).problem
        r = minmin.minimize(Composite(f, *CORNERS[corner]), tol=1e-10)
        exact = minmin.minimize(Composite(case.f(), *CORNERS[corner]), method="nag", rescale=True, tol=1e-10)
        assert r.success, r
        assert r.certified is known
        assert abs(r.fun - exact.fun) <= 2e-10
        assert np.allclose(r.x, exact.x, atol=1e-4)


@pytest.mark.parametrize("block", ["x", "y"])
def test_a_function_that_falls_forever_on_a_free_side_does_not_converge(block):
    """Far away, a step by the gradient alone is lost in rounding: that is no minimum."""
    linear, square = (lambda v, w: -np.ones_like(v)), (lambda v, w: v)
    gradients = {"grad_x": linear, "grad_y": lambda x, y: y}
    if block == "y":
        gradients = {"grad_x": square, "grad_y": lambda x, y: linear(y, x)}

    def value(x, y):
        falling, bounded = (x, y) if block == "x" else (y, x)
        return float(-np.sum(falling) + bounded @ bounded / 2)

    r = minmin.minimize(value, np.ones(2), np.ones(2), **gradients, **{f"bounds_{block}": (0, None)})
    assert r.status == "stalled"
    assert "f appears unbounded below" in r.message
    assert r.fun < -1e9
    bounded = minmin.minimize(value, np.ones(2), np.ones(2), **gradients, **{f"bounds_{block}": (0, 3)})
    assert bounded.success
    assert bounded.fun == pytest.approx(-6.0, abs=1e-6)


def test_a_function_that_is_not_convex_is_named_in_a_box_too():
    gradients = {"grad_x": lambda x, y: -2 * x, "grad_y": lambda x, y: 2 * y}
    start = np.full(2, 0.3), np.ones(2)
    r = minmin.minimize(lambda x, y: float(y @ y - x @ x), *start, **gradients, bounds_x=(-1, 1))
    assert r.status == "stalled"
    assert "f is not convex" in r.message
    assert np.array_equal(r.x, [1, 1])
