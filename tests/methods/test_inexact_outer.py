"""inexact-outer: the oracle of F, its accuracy, the rate with it, and how the calls grow beside BAM's."""

import math

import numpy as np
import pytest

import minmin
from minmin.core.start import make_start
from minmin.methods import InexactOuter
from minmin.problems import Function
from reference import ExactQuadratic, as_function, random_quadratic, tight_quadratic


def reduced(problem):
    """F - F* and the minimiser of F."""
    n, exact = problem.d_x, ExactQuadratic(problem)
    H_yy, H_yx = problem.H[n:, n:], problem.H[n:, :n]

    def gap(x):
        return exact.gap(x, np.linalg.solve(H_yy, -problem.b[n:] - H_yx @ x))

    return gap, exact


def test_each_inner_solve_is_an_oracle_of_the_accuracy():
    """0 <= F(x) - p - <g, x - x_under> - μ_x/2 |x - x_under|², and the same with L_x from above, up to δ."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem = random_quadratic(rng, 1e3)
        gap, exact = reduced(problem)
        c, accuracy = problem.constants, 1e-2 * abs(exact.value)
        method = InexactOuter(accuracy=accuracy)
        state = method.init(problem, *make_start(problem))
        for _ in range(10):
            new = method.step(problem, state)
            here = problem.fix(state.x_under).at(new.candidate.y)
            assert here.grad_y_norm**2 / (2 * c.mu_y) <= accuracy
            x = state.x_under + rng.standard_normal(problem.d_x)
            rest = exact.value + gap(x) - (here.value - accuracy) - here.grad_x @ (x - here.x)
            size, slack = np.sum((x - here.x) ** 2), 1e-12 * (abs(here.value) + abs(rest))
            assert c.mu_x / 2 * size - slack <= rest <= c.L_x / 2 * size + accuracy + slack
            state = new


@pytest.mark.parametrize("fraction", [1e-1, 1e-4, 1e-9])
def test_the_gap_falls_at_nesterovs_rate_down_to_the_error_of_the_oracle(fraction):
    rng = np.random.default_rng(1)
    for _ in range(5):
        problem = random_quadratic(rng, 1e3)
        gap, exact = reduced(problem)
        x, y = make_start(problem)
        root, first = math.sqrt(problem.constants.kappa_x), gap(x)
        method = InexactOuter(accuracy=fraction * first)
        state = method.init(problem, x, y)
        for k in range(1, 60):
            state = method.step(problem, state)
            most = (1 - 1 / root) ** k * 2 * first + root * fraction * first
            assert gap(state.candidate.x) <= most * (1 + 1e-9)
            assert exact.gap(state.candidate.x, state.candidate.y) <= state.candidate.bound.value


@pytest.mark.parametrize("seed", range(3))
def test_the_calls_are_within_the_theorem(seed):
    problem = tight_quadratic(100.0, 30.0, seed)
    gap, _ = reduced(problem)
    c, first, tol = problem.constants, gap(make_start(problem)[0]), 1e-6
    solves = []
    r = minmin.minimize(problem, method="inexact-outer", tol=tol, callback=lambda record: solves.append(record.grad_y))
    assert r.certified
    assert r.calls["grad_x"] <= math.sqrt(c.kappa_x) * math.log(16 * c.kappa_x * first / tol) + 2
    delta = tol / (10 * c.kappa_x**1.5)
    start = problem.fix(np.zeros(problem.d_x)).at(np.zeros(problem.d_y))
    most = math.sqrt(c.kappa_y) * math.log(18 * c.kappa_y**2 * start.grad_y_norm**2 / (2 * c.mu_y) / delta) + 2
    assert solves[0] <= most


def slopes_of(method, fixed, grid, **options):
    """The slopes of log(calls of ∇ᵧ) in log κ_x and in log κ_y, the other one fixed."""

    def calls(kappa_x, kappa_y):
        problem = tight_quadratic(kappa_x, kappa_y, seed=0)
        tol = 1e-6 * abs(ExactQuadratic(problem).value)
        r = minmin.minimize(problem, method=method, tol=tol, **options)
        assert r.certified
        return r.calls["grad_y"]

    in_x, in_y = [calls(k, fixed) for k in grid], [calls(fixed, k) for k in grid]
    return [np.polyfit(np.log(grid), np.log(counts), 1)[0] for counts in (in_x, in_y)]


def test_calls_of_grad_y_grow_with_both_roots_and_those_of_bam_with_the_larger_one():
    grid = [10.0, 100.0, 1000.0]
    for slope in slopes_of("inexact-outer", 1000.0, grid):
        assert 0.4 <= slope <= 0.6
    assert max(slopes_of("bam", 1000.0, grid, inner="nag")) <= 0.15


def test_an_accuracy_that_is_too_coarse_ends_the_run_with_a_true_bound():
    problem = tight_quadratic(100.0, 30.0, seed=0)
    exact = ExactQuadratic(problem)
    r = minmin.minimize(problem, method="inexact-outer", accuracy=1e-3 * abs(exact.value), tol=1e-9)
    assert r.status == "stalled"
    assert "may be too coarse" in r.message
    assert r.gap_bound >= exact.gap(r.x, r.y)


@pytest.mark.parametrize("accuracy", [0, -1.0, math.inf, math.nan])
def test_a_bad_accuracy_is_refused(accuracy):
    with pytest.raises(minmin.InputError, match=r"accuracy = .* must be positive and finite"):
        InexactOuter(accuracy=accuracy)


def test_without_constants_it_says_what_it_needs():
    f = as_function(tight_quadratic(10.0, 10.0, seed=0))
    bare = Function(f.value, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
    with pytest.raises(minmin.UnsupportedError, match=r"'inexact-outer' needs the problem's constants"):
        minmin.minimize(bare, method="inexact-outer")
