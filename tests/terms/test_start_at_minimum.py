"""A run may start where one block is at its minimum already, on a bound."""

import pytest

import minmin
from minmin.terms import L1, Box, NonNegative


@pytest.mark.parametrize("term_y", [Box(0.0, 1.0), NonNegative()], ids=["box", "non-negative"])
@pytest.mark.parametrize("term_x", [None, L1(0.1)], ids=["free", "L1"])
@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag"])
def test_a_run_leaves_a_start_where_only_y_is_at_its_minimum(method, term_x, term_y):
    f = minmin.problems.Quadratic.random(d_x=5, d_y=3, coupling=1.0)
    slope = f.b[f.d_x :]
    assert (slope > 0.0).all()  # at zero, f rises in every direction that the term allows
    r = minmin.minimize(minmin.problems.Composite(f, term_x, term_y), method=method, tol=1e-6)
    assert r.status == "converged"
    assert r.certified
    assert r.fun < -1.0
