"""alternating: block minimisations by coupling, the rates that are proved, direct solves, counts and the guard."""

import math

import numpy as np
import pytest

import minmin
from minmin import federated
from minmin.core.start import make_start
from minmin.lab import alternating
from minmin.lab.alternating import begin
from minmin.lab.direct_blocks import factorize_blocks
from minmin.methods import Alternating
from minmin.problems import GLM, Function, Quadratic
from reference import ExactQuadratic, as_function, random_quadratic, tight_quadratic


def unit_blocks(rho, seed=0, d=10):
    """H_xx = H_yy = I, and H_xy with the largest singular value ρ."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    coupling = (U * np.r_[rho, rho * rng.uniform(size=d - 1)]) @ V.T
    H = np.block([[np.eye(d), coupling], [coupling.T, np.eye(d)]])
    return Quadratic(H, rng.standard_normal(2 * d), d)


def coupled_logistic():
    """Columns of X and Y that are nearly the same, so that the blocks are strongly coupled."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((100, 4))
    X, Y = (shared + 0.2 * rng.standard_normal((100, 4)) for _ in range(2))
    labels = np.where(rng.uniform(size=100) < 1 / (1 + np.exp(0.5 * Y.sum(1) - X.sum(1))), 1.0, -1.0)
    return GLM(X, Y, labels, alpha_x=1e-3, alpha_y=1e-3)


def reduced_gap(problem):
    """F - F* as a function of x."""
    n, exact = problem.d_x, ExactQuadratic(problem)
    return lambda x: exact.gap(x, np.linalg.solve(problem.H[n:, n:], -problem.b[n:] - problem.H[n:, :n] @ x))


def slope_in_coupling(grid, **options):
    """The slope of log(block minimisations) in log 1/(1 - ρ²)."""
    counts = []
    for inverse in grid:
        problem = unit_blocks(math.sqrt(1 - 1 / inverse))
        tol = 1e-6 * abs(ExactQuadratic(problem).value)
        r = minmin.minimize(problem, method="alternating", tol=tol, **options)
        assert r.certified
        counts.append(r.calls["min_x"] + r.calls["min_y"])
    return np.polyfit(np.log(grid), np.log(counts), 1)[0]


def test_minimisations_grow_with_the_root_of_the_coupling_and_without_acceleration_with_it():
    grid = [10.0, 100.0, 1000.0]
    assert 0.4 <= slope_in_coupling(grid) <= 0.6
    assert 0.9 <= slope_in_coupling(grid, accelerated=False) <= 1.1


def coupling_of(problem):
    """The largest singular value of H_xx^{-½} H_xy H_yy^{-½}."""
    n = problem.d_x
    roots = [np.linalg.cholesky(block) for block in (problem.H[:n, :n], problem.H[n:, n:])]
    half = np.linalg.solve(roots[0], problem.H[:n, n:])
    return np.linalg.norm(np.linalg.solve(roots[1], half.T), 2)


def test_the_gap_falls_at_the_proved_rates_if_the_hessian_is_constant():
    rng = np.random.default_rng(0)
    for _ in range(10):
        problem = random_quadratic(rng)
        gap, m = reduced_gap(problem), 1 - coupling_of(problem) ** 2
        assert factorize_blocks(problem).convexity == pytest.approx(m, rel=1e-6, abs=1e-12)
        x, y = rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y)
        first = gap(x)
        rates = {True: (2.0, 1 - math.sqrt(m)), False: (1.0, (1 - m) ** 2)}
        for accelerated, (factor, rate) in rates.items():
            method = Alternating(accelerated=accelerated)
            state = method.init(problem, x, y)
            for k in range(1, 30):
                state = method.step(problem, state)
                assert gap(state.candidate.x) <= factor * rate**k * first * (1 + 1e-6) + 1e-12 * first


def test_the_gap_falls_at_the_rate_that_constants_prove_once_that_momentum_has_taken_over():
    rng = np.random.default_rng(1)
    for _ in range(3):
        problem = random_quadratic(rng, 1e3)
        gap, callables = reduced_gap(problem), as_function(problem)
        x, y = make_start(problem)
        method, rate = Alternating(), 1 - 1 / math.sqrt(problem.constants.kappa_x)
        state = method.init(callables, x, y)._replace(ahead=begin(x, adapts=False))
        for k in range(1, 30):
            state = method.step(callables, state)
            assert gap(state.candidate.x) <= rate**k * 2 * gap(x) * (1 + 1e-6) + 1e-12 * gap(x)


def test_the_guard_takes_over_and_says_so(monkeypatch):
    monkeypatch.setattr(alternating, "is_behind", lambda constants, steps, first, best: steps >= 3)
    r = minmin.minimize(as_function(tight_quadratic(100.0, 10.0, seed=0)), method="alternating", tol=1e-8)
    assert r.certified
    assert "took the momentum that its constants prove" in r.message
    quick = minmin.minimize(tight_quadratic(100.0, 10.0, seed=0), method="alternating", tol=1e-8)
    assert "momentum" not in quick.message


def test_without_coupling_one_iteration_is_enough():
    problem = Quadratic.random(d_x=20, d_y=10, coupling=0.0)
    exact = ExactQuadratic(problem)
    r = minmin.minimize(problem, method="alternating", max_iterations=1)
    assert exact.gap(r.x, r.y) <= 1e-20 * abs(exact.value)


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("make", [lambda: tight_quadratic(100.0, 10.0, seed=0), coupled_logistic])
def test_every_iteration_minimises_over_each_block_once(make, accelerated):
    r = minmin.minimize(make(), method="alternating", accelerated=accelerated, tol=1e-6)
    assert r.calls["min_x"] == r.calls["min_y"] == r.nit > 1


def test_a_direct_solve_takes_one_gradient_to_solve_and_one_to_prove():
    r = minmin.minimize(tight_quadratic(100.0, 10.0, seed=0), method="alternating", tol=1e-6)
    assert r.calls["grad_x"] == r.nit
    assert r.calls["grad_y"] == 2 * r.nit
    assert r.calls["hess_product"] == 10  # one per variable in x, once per run


def test_acceleration_saves_most_minimisations_of_a_strongly_coupled_logistic_regression():
    problem = coupled_logistic()
    ours, plain = (
        minmin.minimize(problem, method="alternating", accelerated=flag, tol=1e-8).calls["min_x"]
        for flag in (True, False)
    )
    assert ours < 0.5 * plain


def test_bad_input_gets_a_clear_error():
    f = as_function(tight_quadratic(10.0, 10.0, seed=0))
    bare = Function(f.value, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
    with pytest.raises(minmin.UnsupportedError, match="'alternating' needs the problem's constants"):
        minmin.minimize(bare, method="alternating")
    flat = Quadratic(np.diag([1.0, 0.0]), np.zeros(2), 1, minmin.Constants(L_x=1, L_y=1, mu_x=1, mu_y=0))
    with pytest.raises(minmin.UnsupportedError, match="'alternating' needs mu_y > 0"):
        minmin.minimize(flat, method="alternating")
    with pytest.raises(minmin.InputError, match="accelerated must be True or False"):
        Alternating(accelerated="yes")
    clients = [federated.Client(tight_quadratic(10.0, 10.0, seed)) for seed in range(2)]
    with pytest.raises(
        minmin.UnsupportedError, match="does not run in a federation; these methods do: reduced-lbfgs, bam"
    ):
        federated.run(clients, Alternating())
