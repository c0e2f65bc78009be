"""BAM with triple momentum: fewer calls of ∇ₓ than with Nesterov's steps, and true bounds."""

import numpy as np
import pytest

import minmin
from minmin.methods import Bam
from minmin.problems import Composite, Quadratic
from minmin.terms import L1
from reference import ExactQuadratic


def count_calls(problem, tol=1e-6):
    """The calls of both gradients with triple momentum, relative to those with Nesterov's steps."""
    runs = [minmin.minimize(problem, method="bam", scheme=s, tol=tol) for s in ("nesterov", "triple-momentum")]
    assert all(r.success and r.certified for r in runs)
    return [runs[1].calls[kind] / runs[0].calls[kind] for kind in ("grad_x", "grad_y")]


@pytest.mark.parametrize("coupling", [0.0, 1.0])
@pytest.mark.parametrize("L_y", [500.0, 5000.0, 50000.0])
def test_on_the_papers_quadratics_it_saves_a_tenth_of_the_calls_in_x(L_y, coupling):
    in_x, in_y = count_calls(Quadratic.random(L_y=L_y, coupling=coupling))
    assert in_x <= 0.9
    assert in_y <= 1.2


def test_it_saves_calls_in_x_up_to_a_condition_number_in_y_of_a_million():
    rng = np.random.default_rng(4)
    for kappa_y in (10.0, 1e3, 1e6, 1e6):
        kappa_x = 10 ** rng.uniform(1, 3)
        problem = Quadratic.random(
            d_x=20, d_y=10, mu_x=1.0, L_x=kappa_x, mu_y=1.0, L_y=kappa_y, coupling=1.0, seed=int(rng.integers(1000))
        )
        assert count_calls(problem)[0] <= 1.0


def test_where_y_is_better_conditioned_than_x_the_inner_solves_cost_little():
    for kappa_y in (1.5, 10.0, 50.0):
        problem = Quadratic.random(d_x=20, d_y=10, mu_x=1.0, L_x=500.0, mu_y=1.0, L_y=kappa_y, coupling=1.0)
        assert count_calls(problem)[1] <= 1.2


@pytest.mark.parametrize("kappa_x", [1.0, 1.01, 3.0])
def test_it_converges_where_x_is_well_conditioned(kappa_x):
    """λ would be infinite for κ_x = s."""
    problem = Quadratic.random(d_x=5, d_y=5, mu_x=2.0, L_x=2.0 * kappa_x, mu_y=1.0, L_y=1e4, coupling=1.0)
    assert minmin.minimize(problem, method="bam", scheme="triple-momentum", tol=1e-8).success


def test_the_bound_is_never_below_the_gap_at_any_step():
    problem = Quadratic.random(d_x=10, d_y=5, L_x=20.0, L_y=1e4, coupling=1.0)
    exact, method = ExactQuadratic(problem), Bam(scheme="triple-momentum")
    state = method.init(problem, np.ones(10), np.ones(5))
    for _ in range(100):
        state = method.step(problem, state)
        candidate = state.candidate
        assert exact.gap(candidate.x, candidate.y) <= candidate.bound.value


def test_other_schemes_and_terms_are_refused():
    with pytest.raises(minmin.InputError, match="unknown scheme 'triple'"):
        Bam(scheme="triple")
    problem = Composite(Quadratic.random(d_x=3, d_y=2), term_x=L1(0.1))
    with pytest.raises(minmin.UnsupportedError, match="scheme='triple-momentum' does not support terms"):
        minmin.minimize(problem, method="bam", scheme="triple-momentum")
