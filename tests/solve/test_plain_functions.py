"""minimize(f, x0, y0, grad_x=..., grad_y=...): functions instead of a problem."""

import array_api_strict
import numpy as np
import pytest

import minmin
from minmin.problems import Quadratic
from reference import as_function

PROBLEM = Quadratic.random(d_x=4, d_y=3, coupling=1.0)
F = as_function(PROBLEM)
GRADIENTS = {"grad_x": F.grad_x, "grad_y": F.grad_y}
START = np.ones(4), np.ones(3)


def test_functions_give_the_run_of_a_function_problem():
    r = minmin.minimize(F.value, *START, **GRADIENTS, constants=PROBLEM.constants)
    same = minmin.minimize(F, *START)
    assert r.certified
    assert np.array_equal(r.x, same.x)
    assert (r.fun, r.calls) == (same.fun, same.calls)


def test_without_constants_the_bound_is_an_estimate():
    r = minmin.minimize(F.value, list(START[0]), list(START[1]), **GRADIENTS)
    assert r.success
    assert r.bound.basis == "estimate"


def test_f_itself_may_be_unknown():
    r = minmin.minimize(None, *START, **GRADIENTS, constants=PROBLEM.constants)
    assert r.certified
    assert np.isnan(r.fun)


def test_functions_take_options_of_methods_and_stops():
    r = minmin.minimize(F.value, *START, "bam", **GRADIENTS, constants=PROBLEM.constants, inner="nag", tol=0, gtol=1e-3)
    assert (r.method, r.success) == ("bam", True)


def test_the_start_may_be_of_another_library():
    xp = array_api_strict
    r = minmin.minimize(
        lambda x, y: float(xp.sum(x**2)) + float(xp.sum((y - 1.0) ** 2)),
        xp.ones(2),
        xp.zeros(3),
        grad_x=lambda x, y: 2.0 * x,
        grad_y=lambda x, y: 2.0 * (y - 1.0),
    )
    assert r.success
    assert type(r.x) is type(xp.ones(2))


@pytest.mark.parametrize(("missing", "gradient"), [("grad_x", "∇ₓf"), ("grad_y", "∇ᵧf")])
@pytest.mark.parametrize("value", [F.value, None])
def test_a_missing_gradient_is_asked_for(value, missing, gradient):
    given = {name: function for name, function in GRADIENTS.items() if name != missing}
    with pytest.raises(minmin.InputError, match=rf"give {missing}=, a function of \(x, y\) that returns {gradient}"):
        minmin.minimize(value, *START, **given)


@pytest.mark.parametrize("start", [(), START[:1], (None, START[1])])
def test_functions_need_both_starts(start):
    with pytest.raises(minmin.InputError, match=r"give both x0 and y0.*how many variables"):
        minmin.minimize(F.value, *start, **GRADIENTS)


BAD_STARTS = {
    "whole number": (1, r"x0 is 1, not a floating-point number; give 1.0"),
    "whole numbers": (np.ones((2, 2), int), r"x0 has dtype int64; give float32 or float64"),
    "dict of text": ({"w": ["a"]}, r"x0\['w'\]\[0\] is a str; give arrays and numbers"),
    "text": ("bam", r"give a method by keyword"),
    "empty": ([], r"d_x = 0"),
}


@pytest.mark.parametrize("case", BAD_STARTS)
def test_a_start_that_holds_no_variables_is_refused(case):
    x0, words = BAD_STARTS[case]
    with pytest.raises(minmin.InputError, match=words):
        minmin.minimize(F.value, x0, START[1], **GRADIENTS)


@pytest.mark.parametrize("name", ["grad_x", "grad_y", "constants"])
def test_what_belongs_to_a_problem_is_refused_beside_one(name):
    given = {**GRADIENTS, "constants": PROBLEM.constants}[name]
    with pytest.raises(minmin.InputError, match=f"leave {name} out: .*belongs to the problem, here a Quadratic"):
        minmin.minimize(PROBLEM, **{name: given})
