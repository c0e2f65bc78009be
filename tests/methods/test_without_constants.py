"""Runs on bare callables: estimates that hold and few calls, also in float32, in a Sum and in a federation."""

import numpy as np
import pytest

import minmin
from callable_problems import draw
from minmin.federated import Client, run
from minmin.problems import Function
from without_constants import as_function, calls_at_rounding_level, compare, logistic, row_and_column_effects

SMALL = (
    *(1006, 1007, 1008, 1009, 1011, 1013, 1014, 1015, 1017, 1018, 1020, 1021, 1024, 1029, 1031, 1032, 1033, 1035, 1037),
    *(1038, 1039, 1040, 1043, 1044, 1045, 1046, 1047, 1048, 1050, 1054, 1056, 1057, 1058, 1065, 1074, 1075, 1082, 1083),
)
"""Numbers of functions with at most 60 variables, five to eight of every kind."""


@pytest.fixture(scope="module")
def outcomes():
    with np.errstate(over="ignore", invalid="ignore"):
        return [compare(number) for number in SMALL]


def test_runs_on_convex_functions_converge_without_false_alarms(outcomes):
    assert [outcome.number for outcome in outcomes if outcome.status != "converged"] == []


def test_estimated_bounds_hold_at_the_stop(outcomes):
    stops = [stop for outcome in outcomes for stop in outcome.stops]
    assert len(stops) > 2.5 * len(SMALL)
    assert sum(stop.gap > stop.tol for stop in stops) <= 0.01 * len(stops)
    assert max(stop.gap / stop.tol for stop in stops) <= 100.0


def test_runs_stop_soon_after_the_true_gap_is_below_tol(outcomes):
    ratios = [stop.calls / stop.oracle for outcome in outcomes for stop in outcome.stops]
    assert np.median(ratios) <= 1.35
    assert np.quantile(ratios, 0.9) <= 1.9


def test_a_run_takes_about_as_few_calls_as_scipy(outcomes):
    ratios = [o.at_scipy_gap.calls / o.scipy_calls for o in outcomes if o.at_scipy_gap is not None]
    assert np.median(ratios) <= 1.0
    assert np.quantile(ratios, 0.9) <= 1.6


def test_a_run_at_rounding_level_ends_soon():
    assert np.median([calls_at_rounding_level(number) for number in SMALL[:8]]) <= 4


@pytest.mark.parametrize("seed", range(40, 44))
@pytest.mark.parametrize(("make", "most"), [(logistic, 17), (row_and_column_effects, 16)])
def test_easy_problems_take_few_calls(make, most, seed):
    r = minmin.minimize(make(seed))
    assert r.success
    assert r.calls["grad_x"] <= most


@pytest.mark.parametrize("values", [True, False])
def test_a_federation_takes_few_rounds_and_is_bit_identical_to_a_sum(values):
    problems = [logistic(number, rows=100) for number in range(3)]
    r = run([Client(problem) for problem in problems], values=values)
    assert r.success
    assert not r.certified
    assert r.calls["grad_x"] <= 20
    assert np.array_equal(r.x, minmin.minimize(minmin.Sum(problems)).x)


def test_float32_has_the_same_rules():
    f = logistic(3)
    double, single = (minmin.minimize(f, np.zeros(20, dtype), np.zeros(3, dtype)) for dtype in ("float64", "float32"))
    assert single.success
    assert single.x.dtype == np.float32
    assert single.calls["grad_x"] <= double.calls["grad_x"] + 3
    assert single.fun - double.fun <= 1e-6


def test_a_value_is_computed_once_per_visited_x():
    f = logistic(0)
    values = []
    f.value = lambda x, y, value=f.value: values.append(1) or value(x, y)
    r = minmin.minimize(f)
    assert len(values) == r.calls["value"] + r.calls["monitor"]
    assert r.calls["value"] == r.calls["grad_x"]
    assert r.calls["monitor"] == 1  # the start


def test_a_run_without_values_takes_the_same_path():
    f = as_function(draw(1009))
    without = Function(None, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
    assert np.array_equal(minmin.minimize(f).x, minmin.minimize(without).x)


class _WithItsOwnBound(Function):
    def bound(self, evaluation):
        return minmin.Bound(evaluation.grad_x_norm**2 + evaluation.grad_y_norm**2, 0.0, "data")


def test_a_problem_without_constants_may_prove_a_bound_of_its_own():
    r = minmin.minimize(_WithItsOwnBound(None, lambda x, y: 2 * x - 1, lambda x, y: 2 * y + 3, d_x=2, d_y=2))
    assert r.success
    assert r.bound.basis == "data"


def test_an_estimate_is_printed_as_one():
    text = str(minmin.minimize(logistic(1)))
    assert "above the minimum, if f is convex (estimated)" in text
    assert "at most" not in text
    assert "auto took" not in text
