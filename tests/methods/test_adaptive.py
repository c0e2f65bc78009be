"""bam and nag with adaptive=True: no constants needed, and few more calls than with the true ones."""

from dataclasses import dataclass

import numpy as np
import pytest

import minmin
from minmin.methods import Bam, Nag
from minmin.methods.adaptive import Adaptive
from minmin.problems import Composite, Function, Quadratic
from minmin.terms import L1
from reference import ExactQuadratic, as_function, glm_minimum, random_glm, random_quadratic

PLAIN = {"bam": Bam(), "nag": Nag()}
FEW = 4
"""The probing step and a step that is taken again cost about this many calls, which matters in very short runs."""


@dataclass(frozen=True)
class Case:
    problem: minmin.Problem
    minimum: float


def make_cases(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        quadratic = random_quadratic(rng, max_condition=300.0)
        yield Case(quadratic, ExactQuadratic(quadratic).value)
        glm = random_glm(rng, str(rng.choice(["logistic", "squared"])))
        yield Case(glm, glm_minimum(glm)[1])


def compare(case, plain, method, factor):
    tuned = minmin.minimize(case.problem, method=plain)
    r = minmin.minimize(case.problem, method=method)
    assert r.success, r
    assert not r.certified
    assert r.fun - case.minimum <= 1e-6 + 1e-12 * abs(case.minimum)
    assert r.calls["grad_x"] <= factor * tuned.calls["grad_x"] + FEW, case.problem.constants


@pytest.mark.parametrize("name", PLAIN)
def test_few_more_calls_than_with_the_true_constants(name):
    for case in make_cases(1, 12):
        compare(case, name, type(PLAIN[name])(adaptive=True), 1.4)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("of_L", [0.01, 100.0])
@pytest.mark.parametrize("of_mu", [0.01, 100.0])
def test_a_wrong_guess_of_the_constants_costs_little(name, of_L, of_mu):
    for case in make_cases(2, 3):
        c = case.problem.constants
        L_x, L_y = of_L * c.L_x, of_L * c.L_y
        guess = minmin.Constants(L_x, L_y, min(of_mu * c.mu_x, L_x), min(of_mu * c.mu_y, L_y))
        compare(case, name, Adaptive(PLAIN[name], joint=name == "nag", guess=guess), 2.5)


@pytest.mark.parametrize(("name", "calls"), [("bam", 3), ("nag", 2)])
def test_the_probing_steps_cost_two_calls_of_which_nag_uses_one_again(name, calls):
    problem = random_quadratic(np.random.default_rng(3))
    r = minmin.minimize(problem, method=name, adaptive=True, max_iterations=1)
    assert r.calls["grad_x"] == calls


class Stubborn(Nag):
    def without_momentum(self, state):
        return state


def test_momentum_that_is_dropped_uphill_saves_calls():
    rng = np.random.default_rng(8)
    problems = [random_quadratic(rng, max_condition=300.0) for _ in range(10)]
    with_it, without = (
        sum(minmin.minimize(p, method=Adaptive(method, joint=True)).calls["grad_x"] for p in problems)
        for method in (Stubborn(), Nag())
    )
    assert without <= 0.9 * with_it


def test_too_low_a_smoothness_does_not_spoil_the_bound():
    """In a narrow valley secants show the curvature along it alone, and a step across it may then go uphill."""
    steep, across = 5.66, 51317.0
    along = -np.sqrt((steep - 0.0192) * across)
    quadratic = Quadratic(np.array([[steep, along], [along, across]]), np.array([0.3, 1.0]), d_x=1)
    exact = ExactQuadratic(quadratic)
    for mu_x in (0.003, 0.3):
        guess = minmin.Constants(L_x=0.3, L_y=600.0, mu_x=mu_x, mu_y=0.5)
        for start in np.random.default_rng(0).standard_normal((10, 2)):
            r = minmin.minimize(quadratic, start[:1], start[1:], method=Adaptive(Bam(), joint=False, guess=guess))
            assert r.success
            assert exact.gap(r.x, r.y) <= 1e-6


@pytest.mark.parametrize("name", PLAIN)
def test_functions_without_constants(name):
    quadratic = random_quadratic(np.random.default_rng(3), max_condition=100.0)
    f = as_function(quadratic)
    unknown = Function(None, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
    with pytest.raises(minmin.UnsupportedError, match="or give adaptive=True, which estimates them"):
        minmin.minimize(unknown, method=name)
    r = minmin.minimize(unknown, method=name, adaptive=True)
    assert r.success
    assert r.bound.basis == "estimate"
    assert ExactQuadratic(quadratic).gap(r.x, r.y) <= 1e-6


@pytest.mark.parametrize("name", PLAIN)
def test_a_start_at_the_minimum(name):
    f = Function(None, lambda x, y: 2 * x + y, lambda x, y: x + 50 * y, d_x=3, d_y=3)
    r = minmin.minimize(f, method=name, adaptive=True)
    assert r.success
    np.testing.assert_array_equal(r.x, 0.0)


@pytest.mark.parametrize("name", PLAIN)
def test_units_of_x_and_y_do_not_matter(name):
    for scale in (1e-6, 1e6):
        f = Function(
            None, lambda x, y, s=scale: s * (2 * x + y - 1), lambda x, y, s=scale: s * (x + 5 * y), d_x=3, d_y=3
        )
        r = minmin.minimize(f, method=name, adaptive=True, tol=1e-6 * scale)
        assert r.success
        np.testing.assert_allclose(r.x, 5 / 9, atol=2e-3)


@pytest.mark.parametrize("name", PLAIN)
def test_terms(name):
    problem = Composite(random_glm(np.random.default_rng(4)), term_x=L1(0.05))
    r = minmin.minimize(problem, method=name, adaptive=True)
    assert r.success
    assert r.fun <= minmin.minimize(problem, method=name, tol=1e-9).fun + 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bam(adaptive="yes"), "adaptive must be True or False, got 'yes'"),
        (lambda: Bam(adaptive=True, radius=1.0), "adaptive=True and radius exclude each other"),
        (lambda: Bam(adaptive=True, outer="auto"), "adaptive=True and outer='auto' exclude each other"),
        (lambda: Bam(adaptive=True, scheme="triple-momentum"), "adaptive=True and scheme='triple-momentum' exclude"),
        (lambda: Nag(adaptive=True, rescale=True), "adaptive=True and rescale=True exclude each other"),
    ],
)
def test_options_that_do_not_go_together(make, message):
    with pytest.raises(minmin.InputError, match=message):
        make()


def test_gradients_that_cannot_be_compared_are_refused():
    problem = random_glm(np.random.default_rng(5))
    problem.has_noisy_gradients = True
    with pytest.raises(minmin.UnsupportedError, match="adaptive=True compares exact gradients"):
        minmin.minimize(problem, method="bam", adaptive=True)


@pytest.mark.parametrize("name", PLAIN)
def test_a_loss_that_is_not_smooth_everywhere(name):
    problem = random_glm(np.random.default_rng(6), "poisson")
    with pytest.raises(minmin.UnsupportedError, match="or give adaptive=True"):
        minmin.minimize(problem, method=name)
    r = minmin.minimize(problem, method=name, adaptive=True)
    assert r.success
    assert r.fun - glm_minimum(problem)[1] <= 1e-6
