"""Rounded values, gradients and data: no claim below the truth, and no error that is not ours."""

import numpy as np
import pytest

import minmin
from minmin.problems import Function
from rounded import ROUND_VALUES, find_fault

ONE = minmin.Constants(L_x=1, L_y=1, mu_x=1, mu_y=1)


@pytest.mark.parametrize("first", range(0, 90, 30))
def test_no_run_on_rounded_numbers_claims_too_much(first):
    """``python tests/rounded.py 5000`` tries more."""
    assert [fault for seed in range(first, first + 30) if (fault := find_fault(seed)) is not None] == []


@pytest.mark.parametrize("seed", [50, 540, 771, 1710, 1845, 3176, 4151])
def test_values_rounded_to_decimals_prove_nothing_finer(seed):
    """Each of these claimed a gap below the truth before cuts were compared with each other."""
    assert find_fault(seed) is None


@pytest.mark.parametrize("kind", [kind for kind in ROUND_VALUES if kind != "exact"])
def test_cutting_planes_prove_no_more_than_the_values_can(kind):
    def f(x, y):
        return 0.5 * x @ x + 0.5 * y @ y - x.sum() - 10.0

    def solve(value):
        problem = Function(value, lambda x, y: x - 1.0, lambda x, y: 1.0 * y, d_x=2, d_y=1, constants=ONE)
        return minmin.minimize(problem, np.array([0.3, 0.1]), np.array([0.2]), method="cutting-plane", tol=1e-9)

    try:
        r = solve(lambda x, y: ROUND_VALUES[kind](float(f(x, y))))
    except minmin.ConstantsError:
        assert kind not in ("single", "hidden single", "six decimals")  # the others are coarser than a run allows
    else:
        assert not r.certified or r.gap_bound >= 0.5 * float((r.x - 1.0) @ (r.x - 1.0) + r.y @ r.y) * (1.0 - 1e-9)
    assert solve(f).certified
    assert solve(f).success


@pytest.mark.parametrize("hides", [True, False])
def test_differences_of_values_in_single_precision_take_a_longer_step(hides):
    """∇ᵧ by differences of float32 values is off by 3e-4 at best: the bound must know, whatever the dtype says."""

    def value(x, y):
        returned = np.float32(0.5 * x @ x + 0.5 * (y - 1.0) @ (y - 1.0) + 3.0)
        return float(returned) if hides else returned

    f = Function(value, lambda x, y: 1.0 * x, None, d_x=1, d_y=3, constants=ONE)
    r = minmin.minimize(f, np.full(1, 0.37), np.zeros(3), method="bam", tol=1e-8)
    gap = 0.5 * float(r.x @ r.x + (r.y - 1.0) @ (r.y - 1.0))
    assert r.status == "stalled"
    assert gap <= r.gap_bound <= 1e-4


def test_a_sum_has_the_precision_of_its_coarsest_value():
    coarse = Function(lambda x, y: np.float32(x @ x + y @ y), lambda x, y: 2 * x, lambda x, y: 2 * y, d_x=1, d_y=1)
    fine = Function(lambda x, y: x @ x + y @ y, lambda x, y: 2 * x, lambda x, y: 2 * y, d_x=1, d_y=1)
    ones = np.ones(1), np.ones(1)
    point = np.ones(1), minmin.Parts([np.ones(1), np.ones(1)], (0.5, 0.5))
    together = minmin.problems.Sum([fine, coarse]).evaluate(*point), minmin.problems.Split(fine, coarse).evaluate(*ones)
    for evaluation in together:
        assert evaluation.rounding.value_eps == 0.0
        assert evaluation.value > 0.0
        assert evaluation.rounding.value_eps == np.finfo(np.float32).eps


def test_a_ball_of_no_radius_ends_a_run_at_the_minimum():
    """Where x and both gradients are zero, mu proves a ball of radius zero, and its barrier would divide by that."""
    problem = minmin.problems.GLM(np.zeros((3, 1)), np.zeros((3, 1)), np.ones(3), "poisson", alpha_x=0.1, alpha_y=0.1)
    r = minmin.minimize(problem, method="cutting-plane", tol=1e-9)
    assert r.certified
    assert r.gap_bound <= 1e-9
