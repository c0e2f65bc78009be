"""The worst cases of the methods keep within the theorems, and a step that no theorem covers does not."""

import math

import numpy as np
import pytest

from minmin.core.bound import Constants
from minmin.errors import UnsupportedError
from minmin.lab.metric import metric
from minmin.lab.nag import nag_half, nag_steps
from minmin.methods.theory import block_parameters
from minmin.theory import lyapunov_rate, rate
from theory import direct

KAPPAS = [(10, 10), (10, 1000), (100, 10), (100, 1000)]
METHODS = [
    ("bam", {"exact": True}),
    ("bam", {"exact": False}),
    ("nag", {"rescale": True}),
    ("nag", {"rescale": False}),
    ("ogm-g", {}),
]
# Both tables are those of docs/explanation/theory.md: exact inner solves, then condition (2) at its loosest.
ONE_STEP_OF_BAM = {
    (10, 10): (0.7185, 0.7389),
    (10, 1000): (0.7337, 0.7411),
    (100, 10): (0.9015, 0.9053),
    (100, 1000): (0.9042, 0.9053),
}
ASYMPTOTIC_RATES_OF_BAM = {
    (10, 10): (0.581, 0.661),
    (10, 1000): (0.585, 0.686),
    (100, 10): (0.861, 0.879),
    (100, 1000): (0.861, 0.891),
}


def constants_of(kappa_x, kappa_y):
    return Constants(L_x=1.0, L_y=1.0, mu_x=1 / kappa_x, mu_y=1 / kappa_y)


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize(("kappa_x", "kappa_y"), KAPPAS)
def test_the_worst_case_is_within_the_theorem(method, options, kappa_x, kappa_y):
    r = rate(method, kappa_x=kappa_x, kappa_y=kappa_y, steps=2, **options)
    assert r.holds
    assert r.worst_case <= r.theorem * (1 + 1e-6)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_five_steps_are_within_the_theorem(method, options):
    r = rate(method, kappa_x=100, kappa_y=10, steps=5, **options)
    assert r.worst_case <= r.theorem * (1 + 1e-6)


@pytest.mark.parametrize("kappas", KAPPAS)
def test_one_step_of_bam_has_the_worst_case_of_the_table(kappas):
    found = [rate("bam", kappa_x=kappas[0], kappa_y=kappas[1], exact=exact).worst_case for exact in (True, False)]
    assert found == pytest.approx(ONE_STEP_OF_BAM[kappas], abs=1e-4)
    assert max(found) <= rate("bam", kappa_x=kappas[0], kappa_y=kappas[1]).theorem


@pytest.mark.parametrize("kappas", [(10, 10), (100, 1000)])
def test_a_quadratic_lyapunov_function_proves_the_rate_of_the_table(kappas):
    for exact, expected in zip((True, False), ASYMPTOTIC_RATES_OF_BAM[kappas], strict=True):
        r = lyapunov_rate("bam", kappa_x=kappas[0], kappa_y=kappas[1], exact=exact)
        assert r.worst_case == pytest.approx(expected, abs=1e-3)
        assert r.theorem == rate("bam", kappa_x=kappas[0], kappa_y=kappas[1], exact=exact).theorem


def test_no_run_is_slower_than_the_lyapunov_rate_in_the_long_run():
    """On a quadratic the error falls like a power of a matrix, whose eigenvalues are known."""
    kappa = 10.0
    slowest = 0.0
    for curvature in np.linspace(1 / kappa, 1.0, 50):
        m = metric(constants_of(kappa, kappa), False)
        step = [nag_half(m, nag_steps(m)[0], under, bar, curvature * under) for bar, under in np.eye(2)]
        slowest = max(slowest, np.max(np.abs(np.linalg.eigvals(np.array(step)))) ** 2)
    r = lyapunov_rate("nag", kappa_x=kappa, kappa_y=kappa)
    assert slowest - 1e-4 <= r.worst_case <= r.theorem


@pytest.mark.parametrize("kappa", [10, math.inf])
def test_the_theorem_of_ogm_g_is_attained(kappa):
    for steps in (1, 4):
        r = rate("ogm-g", kappa_x=kappa, kappa_y=kappa, steps=steps)
        assert r.worst_case == pytest.approx(r.theorem, rel=1e-4)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # that the values agree says how accurate it is
@pytest.mark.parametrize(("kappa_x", "kappa_y", "steps"), [(10, 1000, 1), (100, 10, 3)])
def test_pepit_and_a_direct_model_agree(kappa_x, kappa_y, steps):
    c = constants_of(kappa_x, kappa_y)
    for exact in (True, False):
        found = rate("bam", kappa_x=kappa_x, kappa_y=kappa_y, steps=steps, exact=exact).worst_case
        assert found == pytest.approx(direct.bam(c, steps, exact=exact), abs=1e-6)
    for rescale in (True, False):
        found = rate("nag", kappa_x=kappa_x, kappa_y=kappa_y, steps=steps, rescale=rescale).worst_case
        assert found == pytest.approx(direct.nag(c, steps, rescale=rescale), abs=1e-6)


def test_two_equal_blocks_are_a_smooth_strongly_convex_function_of_pepit():
    from PEPit import PEP  # after minmin.theory, which silences the warnings of its first import
    from PEPit.functions import SmoothStronglyConvexFunction

    kappa, steps = 10.0, 3
    m = metric(constants_of(kappa, kappa), False)
    problem = PEP()
    f = problem.declare_function(SmoothStronglyConvexFunction, mu=1 / kappa, L=1.0)
    minimum = f.stationary_point()
    bar = under = start = problem.set_initial_point()
    for _ in range(steps):
        bar, under = nag_half(m, nag_steps(m)[0], under, bar, f.gradient(under))
    problem.set_initial_condition(f(start) - f(minimum) + 0.5 / kappa * (start - minimum) ** 2 <= 1)
    problem.set_performance_metric(f(bar) - f(minimum))
    expected = problem.solve(verbose=0, solver="CLARABEL")
    assert rate("nag", kappa_x=kappa, kappa_y=kappa, steps=steps).worst_case == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kappas", KAPPAS)
@pytest.mark.parametrize("exact", [True, False])
def test_a_step_in_x_of_twice_the_length_does_not_keep_within_the_theorem(kappas, exact):
    r = rate("bam", kappa_x=kappas[0], kappa_y=kappas[1], exact=exact, eta_x_factor=2.0)
    assert not r.holds
    assert r.worst_case > 3.0


@pytest.mark.parametrize("kappas", KAPPAS)
def test_inner_solves_that_miss_condition_2_by_a_twentieth_do_not_keep_within_the_theorem(kappas):
    assert not rate("bam", kappa_x=kappas[0], kappa_y=kappas[1], condition_factor=1.05).holds


def test_condition_2_bounds_nothing_once_it_admits_points_far_away():
    """Far away ∇ᵧf may be mu_y·y, and then |∇A| = (1 + λ mu_y)|y|/λ, with λ mu_y = 1/κ_x."""
    p = block_parameters(constants_of(100, 10))
    assert p.lam * p.constants.mu_y == pytest.approx(1 / 100)
    assert rate("bam", kappa_x=100, kappa_y=10, condition_factor=1.01).worst_case == math.inf
    assert rate("bam", kappa_x=100, kappa_y=10, condition_factor=1.009).worst_case < math.inf


@pytest.mark.parametrize("exact", [True, False])
def test_more_functions_have_no_smaller_worst_case(exact):
    """BAM's parameters do not depend on L_y. So if κ_y grows, only functions are added."""
    found = [rate("bam", kappa_x=100, kappa_y=10.0**k, exact=exact).worst_case for k in range(6)]
    assert np.all(np.diff(found) >= -1e-6)


def test_condition_numbers_of_one_are_allowed():
    assert rate("bam", kappa_x=1, kappa_y=1, steps=2).holds
    assert rate("nag", kappa_x=1, kappa_y=1).worst_case == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("kappa_y", [10.0, 100.0])
def test_triple_momentum_with_exact_inner_solves_has_the_rate_of_its_theorem(kappa_y):
    r = lyapunov_rate("bam-triple-momentum", kappa_x=10.0, kappa_y=kappa_y, exact=True)
    assert r.theorem == pytest.approx((1 - 10.0**-0.5) ** 2)
    assert r.worst_case == pytest.approx(r.theorem, abs=1e-3)


def test_triple_momentum_with_inexact_inner_solves_is_certified_to_be_faster_than_bam():
    kappas = {"kappa_x": 10.0, "kappa_y": 1000.0}
    triple, bam = (lyapunov_rate(name, **kappas).worst_case for name in ("bam-triple-momentum", "bam"))
    assert triple < 0.5 < bam


def test_triple_momentum_has_no_theorem_about_a_number_of_steps():
    with pytest.raises(UnsupportedError, match="use lyapunov_rate"):
        rate("bam-triple-momentum", kappa_x=10.0, kappa_y=10.0)
