"""Functions without a gradient in y: differences of values replace it, and bounds know their error."""

import numpy as np
import pytest

import minmin
from minmin.problems import Function, Quadratic
from reference import ExactQuadratic, as_function


def values_only(problem, noise=0.0, **options):
    """A quadratic without ∇ᵧ, whose values may be off by ``noise``."""
    f = as_function(problem)

    def value(x, y):
        exact = f.value(x, y)
        return exact + noise * np.sin(1e9 * exact)

    return Function(value, f.grad_x, None, d_x=problem.d_x, d_y=problem.d_y, **options)


def make_quadratic(seed, kappa_y):
    sizes = {"d_x": 20, "d_y": 10, "mu_x": 0.5, "L_x": 50.0, "mu_y": 1e3 / kappa_y, "L_y": 1e3}
    return Quadratic.random(**sizes, coupling=1.0, seed=seed)


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam"])
@pytest.mark.parametrize("kappa_y", [1e2, 1e4])
def test_the_run_is_that_with_gradients(method, kappa_y):
    problem = make_quadratic(0, kappa_y)
    exact = ExactQuadratic(problem)
    with_gradients = minmin.minimize(as_function(problem), method=method, tol=1e-6)

    def compare(record):
        assert record.gap_bound >= exact.gap(record.x, record.y)

    f = values_only(problem, constants=problem.constants)
    r = minmin.minimize(f, method=method, tol=1e-6, callback=compare)
    assert r.success
    assert r.certified
    assert r.calls["grad_x"] <= 1.1 * with_gradients.calls["grad_x"]
    assert r.calls["value"] <= (problem.d_y + 2) * r.calls["grad_y"]


def test_without_constants_the_bound_is_an_estimate():
    problem = make_quadratic(1, 1e3)
    r = minmin.minimize(values_only(problem), tol=1e-6)
    assert r.success
    assert not r.certified
    assert ExactQuadratic(problem).gap(r.x, r.y) <= 1e-6


@pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-5])
def test_bounds_include_the_error_of_values(noise):
    problem = make_quadratic(2, 1e2)
    exact = ExactQuadratic(problem)
    f = values_only(problem, noise, constants=problem.constants, value_error=noise)

    def compare(record):
        assert record.gap_bound >= exact.gap(record.x, record.y)

    r = minmin.minimize(f, tol=1e-7, callback=compare)
    assert r.certified
    assert r.status == ("converged" if noise < 1e-10 else "stalled")
    assert r.gap_bound < max(1e-7, 1e5 * noise)


DIFFERENCES = "errors of differences of values in place of ∇ᵧf"


def test_beyond_what_differences_resolve_a_run_stalls_and_says_so():
    problem = make_quadratic(3, 1e4)
    r = minmin.minimize(values_only(problem, constants=problem.constants), tol=1e-14)
    assert r.status == "stalled"
    assert r.certified
    assert r.gap_bound < 1e-8
    assert r.message.startswith(f"{DIFFERENCES} hide further progress below a bound of")
    assert "give a larger tol, or grad_y" in r.message


def test_in_a_sum_too_one_term_by_differences_is_named():
    terms = [values_only(problem := make_quadratic(3, 1e4), constants=problem.constants), as_function(problem)]
    r = minmin.minimize(minmin.Sum(terms), tol=1e-14)
    assert r.message.startswith(DIFFERENCES)


def test_where_rounded_values_look_like_a_kink_they_are_named():
    problem = make_quadratic(0, 1e2)
    f = as_function(problem)
    r = minmin.minimize(Function(lambda x, y: round(f.value(x, y), 3), f.grad_x, d_x=20, d_y=10), tol=1e-13)
    assert r.status == "stalled"
    assert DIFFERENCES in r.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"value": None}, "give grad_y or value"),
        ({"value_error": -1.0}, "value_error = -1.0 must be positive and finite"),
        ({"value_error": "small"}, "value_error must be a number"),
        ({"constants": minmin.Constants(np.inf, 1.0, 1.0, 1.0)}, "give a finite L_x and L_y, or no constants"),
        ({"constants": minmin.Constants(1.0, np.inf, 1.0, 1.0)}, "give a finite L_x and L_y, or no constants"),
    ],
)
def test_bad_input(arguments, words):
    given = {"value": lambda x, y: 0.0, "grad_x": lambda x, y: x, "grad_y": None, "d_x": 1, "d_y": 1, **arguments}
    with pytest.raises(minmin.InputError, match=words):
        Function(**given)
