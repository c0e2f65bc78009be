"""What is wrong with terms and bounds is said before any work."""

import math

import numpy as np
import pytest
import scipy.optimize

import minmin
from minmin import InputError, UnsupportedError, federated
from minmin.problems import Composite, Function, Quadratic
from minmin.terms import L1, Box, GroupL2, Simplex

PROBLEM = Quadratic.random(d_x=4, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0)
SUM = minmin.Sum([PROBLEM, Quadratic.random(d_x=4, d_y=2, seed=1)])
CASES = {
    "a negative weight": (lambda: Composite(PROBLEM, L1(-1)), r"weight = -1 must be finite and not negative"),
    "bounds exchanged": (lambda: Composite(PROBLEM, Box(1, 0)), r"lower = 1 is above upper = 0"),
    "NaN": (lambda: Composite(PROBLEM, Box(math.nan, 0)), r"lower is nan"),
    "groups that overlap": (lambda: Composite(PROBLEM, GroupL2(1, [[0, 1], [1]])), r"index 1 is in groups\[0\] and"),
    "groups beyond the block": (lambda: Composite(PROBLEM, None, GroupL2(1, [[3]])), r"term_y: groups\[0\] holds"),
    "a wrong length in x": (lambda: Composite(PROBLEM, L1([1, 2, 3])), r"term_x: weight has 3 numbers.* 4 coordinates"),
    "a wrong length in y": (lambda: Composite(PROBLEM, None, L1([1] * 4)), r"term_y: weight has 4 numbers.* 3 coord"),
    "a class": (lambda: Composite(PROBLEM, L1), r"term_x must be a minmin.terms.Term or None.*give an object: L1\("),
    "a number": (lambda: Composite(PROBLEM, None, 0.1), r"term_y must be a minmin.terms.Term or None, got 0.1"),
    "a list where there is one y": (lambda: Composite(PROBLEM, None, [L1(1)]), r"term_y must be a minmin.terms.Term"),
    "no problem": (lambda: Composite(lambda x, y: 0.0, L1(1)), r"problem must be a minmin problem.*Function"),
    "a composite in a composite": (lambda: Composite(Composite(PROBLEM, L1(1)), None, L1(1)), r"all terms at once"),
    "terms around a sum of composites": (
        lambda: Composite(minmin.Sum([Composite(PROBLEM, None, L1(1))]), L1(1)),
        r"has a term already; give all terms at once",
    ),
    "a term in x of one summand": (
        lambda: minmin.Sum([PROBLEM, Composite(PROBLEM, L1(1))]),
        r"term 1 has a term in x, which all terms share: Composite\(Sum\(...\), term_x=...\)",
    ),
    "too few terms for a sum": (lambda: Composite(SUM, None, [L1(1)]), r"list of 2 Terms or Nones, one per term"),
    "a wrong length in a sum": (lambda: Composite(SUM, None, L1([1, 2, 3])), r"term_y\[1\]: weight has 3 numbers"),
    "a class in a sum": (lambda: Composite(SUM, None, [L1(1), Simplex]), r"term_y\[1\] must be.*Simplex\(\.\.\.\)"),
    "a client's term in x": (
        lambda: federated.Client(Composite(PROBLEM, L1(1))),
        r"a term in x, which all clients share: give it to the server, minmin.federated.run\(..., term_x=...\)",
    ),
    "a term and bounds of a server": (
        lambda: federated.run([federated.Client(PROBLEM)], term_x=L1(1), bounds_x=(0, 1)),
        r"give term_x or bounds_x, not both",
    ),
    "a server's term of a wrong length": (
        lambda: federated.run([federated.Client(PROBLEM)], term_x=L1([1, 2, 3])),
        r"term_x: weight has 3 numbers.* 4 coordinates",
    ),
    "bounds as text": (lambda: minmin.minimize(PROBLEM, bounds_x="(0, 1)"), r"bounds_x: '\(0, 1\)' are no bounds"),
    "bounds as one number": (lambda: minmin.minimize(PROBLEM, bounds_y=1.0), r"bounds_y: 1.0 are no bounds; give"),
    "bounds of three numbers": (lambda: minmin.minimize(PROBLEM, bounds_y=(0, 1, 2)), r"bounds_y: entry 0 is 0; give"),
    "a pair of three numbers": (
        lambda: minmin.minimize(PROBLEM, bounds_y=[(0, 1), (0, 1, 2), (0, 1)]),
        r"bounds_y: entry 1 is \(0, 1, 2\); give a pair \(low, high\)",
    ),
    "bounds of another length": (
        lambda: minmin.minimize(PROBLEM, bounds_x=[(0, 1)] * 9),
        r"bounds_x: lower has 9 numbers, but the block has",
    ),
    "bounds exchanged in a pair": (lambda: minmin.minimize(PROBLEM, bounds_x=(1, 0)), r"bounds_x: lower = 1 is above"),
    "bounds exchanged in one pair": (
        lambda: minmin.minimize(PROBLEM, bounds_y=[(0, 1), (2, 1), (0, 1)]),
        r"bounds_y: lower\[1\] = 2 is above upper\[1\] = 1",
    ),
    "bounds of NaN": (lambda: minmin.minimize(PROBLEM, bounds_x=(math.nan, 1)), r"bounds_x: lower is nan"),
    "text in a pair": (lambda: minmin.minimize(PROBLEM, bounds_x=("a", 1)), r"bounds_x: lower must be a number"),
    "too few pairs": (lambda: minmin.minimize(PROBLEM, bounds_x=[(0, 1)] * 3), r"3 numbers, but the block has 4"),
    "Bounds of a wrong length": (
        lambda: minmin.minimize(PROBLEM, bounds_x=scipy.optimize.Bounds([0] * 3, [1] * 3)),
        r"3 numbers, but the block has 4",
    ),
    "bounds and terms": (
        lambda: minmin.minimize(Composite(PROBLEM, L1(1)), bounds_x=(0, 1)),
        r"this problem has terms already; give its bounds as terms",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_said_what_is_wrong(case):
    make, message = CASES[case]
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("terms", [(L1(1), None), (None, L1(1))])
def test_methods_that_know_no_terms_name_those_that_do(terms):
    with pytest.raises(UnsupportedError, match=r"lincoupling.*terms.*reduced-lbfgs, reduced-newton, bam, nag"):
        minmin.minimize(Composite(PROBLEM, *terms), method="lincoupling")
    with pytest.raises(UnsupportedError, match=r"lincoupling.*terms.*reduced-lbfgs, reduced-newton, bam, nag"):
        minmin.minimize(PROBLEM, bounds_y=(0, 1), method="lincoupling")


@pytest.mark.parametrize(("method", "inner"), [("bam", "nag-ogmg")])
def test_inner_solvers_that_know_no_terms_take_one_in_x_alone(method, inner):
    options = {"method": method, "inner": inner, "tol": 1e-9}
    with pytest.raises(
        UnsupportedError,
        match=rf"inner='{inner}' does not support a term in y; take inner='lbfgs', or method='reduced-lbfgs'",
    ):
        minmin.minimize(Composite(PROBLEM, None, L1(0.1)), **options)
    with pytest.raises(UnsupportedError, match="does not support a term in y"):
        minmin.minimize(Composite(PROBLEM, L1(0.1)), outer="y", **options)
    r = minmin.minimize(Composite(PROBLEM, L1(0.1)), **options)
    other = minmin.minimize(Composite(PROBLEM, L1(0.1)), tol=1e-9)
    assert r.success
    assert abs(r.fun - other.fun) <= 1e-9


def test_bam_and_nag_need_strong_convexity_of_f_itself():
    f = Function(
        lambda x, y: 0.5 * float(x @ x + y @ y),
        lambda x, y: x,
        lambda x, y: y,
        d_x=2,
        d_y=2,
        constants=minmin.Constants(L_x=1, L_y=1, mu_x=0, mu_y=0),
    )
    for method in ("bam", "nag"):
        with pytest.raises(UnsupportedError, match="needs mu_x > 0"):
            minmin.minimize(Composite(f, Box(1, 2), Box(1, 2)), method=method)


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag"])
def test_a_start_outside_of_the_constraints_is_moved_and_the_message_says_so(method):
    x0, y0 = np.full(4, 5.0), np.zeros(3)
    bounds = {"bounds_x": (0, 1), "bounds_y": (-1, 1)}
    r = minmin.minimize(PROBLEM, x0, y0, **bounds, method=method)
    assert r.success
    assert "x0 did not meet the constraints; the run started at the nearest point that does" in r.message
    assert np.all(x0 == 5.0)
    inside = minmin.minimize(PROBLEM, np.ones(4), y0, **bounds, method=method)
    assert "did not meet" not in inside.message
    assert np.array_equal(inside.x, r.x)
    both = minmin.minimize(Composite(PROBLEM, Simplex(), Simplex()), np.ones(4), -np.ones(3), method=method)
    assert "x0 and y0 did not meet the constraints" in both.message
    default = minmin.minimize(Composite(PROBLEM, Simplex(), Simplex()), method=method)
    assert "did not meet" not in default.message, "nobody gave that start"


def test_a_start_of_nan_is_refused():
    with pytest.raises(InputError, match="x0"):
        minmin.minimize(PROBLEM, np.full(4, np.nan), bounds_x=(0, 1))
