"""Everything is computed on first use, kept, and counted once."""

import copy

import numpy as np
import pytest

import minmin
from minmin.core.counting import Tally
from minmin.core.second_order import SecondOrderProblem
from minmin.core.start import make_start
from minmin.problems import Quadratic
from reference import as_function, random_glm


def test_asking_twice_is_free_and_counted_once():
    tally = Tally()
    problem = random_glm(np.random.default_rng(0)).counted(tally)
    e = problem.fix(np.zeros(problem.d_x)).at(np.zeros(problem.d_y))
    assert tally["grad_x"] == tally["grad_y"] == tally["value"] == 0
    first = e.grad_x, e.grad_y, e.value
    again = e.grad_x, e.grad_y, e.value
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert (tally["grad_x"], tally["grad_y"], tally["value"]) == (1, 1, 1)


def test_an_inner_step_of_a_glm_makes_no_pass_over_x():
    tally = Tally()
    problem = random_glm(np.random.default_rng(0)).counted(tally)
    slice_ = problem.fix(np.zeros(problem.d_x))
    assert tally["passes"] == 1
    for _ in range(5):
        assert slice_.at(np.ones(problem.d_y)).grad_y is not None
        assert slice_.at(np.ones(problem.d_y)).value is not None
    assert tally["passes"] == 1
    assert slice_.at(np.ones(problem.d_y)).grad_x is not None
    assert tally["passes"] == 2


@pytest.mark.parametrize("kind", ["quadratic", "glm", "sum"])
def test_a_swapped_problem_keeps_the_names_of_its_counts(kind):
    problem = {
        "quadratic": Quadratic.random(d_x=3, d_y=2),
        "glm": random_glm(np.random.default_rng(0)),
        "sum": minmin.Sum([Quadratic.random(d_x=3, d_y=2)]),
    }[kind]
    tally = Tally()
    swapped = problem.counted(tally).swapped()
    x, y = make_start(swapped)
    assert swapped.fix(x).at(y).grad_x is not None
    assert (tally["grad_x"], tally["grad_y"]) == (0, 1)
    own = Tally()
    assert problem.swapped().counted(own).fix(x).at(y).grad_x is not None
    assert (own["grad_x"], own["grad_y"]) == (1, 0)


def test_swapping_twice_gives_the_problem_back():
    problem = Quadratic.random(d_x=3, d_y=2, coupling=1.0)
    twice = problem.swapped().swapped()
    assert np.array_equal(twice.H, problem.H)
    assert twice.constants == problem.constants
    general = minmin.Sum([problem])
    assert general.swapped().swapped() is general


def test_a_sum_counts_rounds_jointly_and_inner_steps_term_by_term():
    tally = Tally()
    terms = [Quadratic.random(d_x=3, d_y=2, seed=s) for s in range(4)]
    e = minmin.Sum(terms).counted(tally).fix(np.ones(3)).at(make_start(minmin.Sum(terms))[1])
    assert e.grad_x is not None
    assert e.grad_y is not None
    assert e.value is not None
    assert (tally["grad_x"], tally["grad_y"], tally["value"]) == (1, 4, 1)


def test_a_sum_is_of_second_order_where_its_terms_are_and_copies_stay_what_they_are():
    quadratic = Quadratic.random(d_x=3, d_y=2)
    for terms, second_order in (([quadratic], True), ([quadratic, as_function(quadratic)], False)):
        whole = minmin.Sum(terms)
        for twin in (whole, whole.counted(Tally()), copy.copy(whole), copy.deepcopy(minmin.Sum([quadratic]))):
            expected = second_order or twin.terms[-1].has_y_hessian
            assert isinstance(twin, minmin.Sum)
            assert isinstance(twin, SecondOrderProblem) == expected
    with pytest.raises(minmin.UnsupportedError, match="needs a SecondOrderProblem"):
        minmin.minimize(minmin.Sum([as_function(quadratic)]), method="reduced-newton")


def test_a_sums_constants_are_the_mean_in_x_and_the_worst_in_y():
    a = Quadratic.random(d_x=3, d_y=2, L_x=10.0, L_y=100.0, mu_x=1.0, mu_y=2.0)
    b = Quadratic.random(d_x=3, d_y=2, L_x=20.0, L_y=50.0, mu_x=2.0, mu_y=1.0)
    c = minmin.Sum([a, b], [0.25, 0.75]).constants
    assert (c.L_x, c.L_y, c.mu_x, c.mu_y, c.source) == (17.5, 100.0, 1.75, 1.0, "proved")
    unknown = minmin.problems.Function(None, abs, abs, d_x=3, d_y=2)
    assert minmin.Sum([a, unknown]).constants is None


def test_blocks_are_a_vector_of_a_weighted_space():
    a = minmin.Parts([np.array([1.0, 2.0]), np.array([3.0])], [2.0, 0.5])
    assert a @ a == 2.0 * 5.0 + 0.5 * 9.0
    assert np.array_equal((2.0 * a - a)[0], a[0])
    assert np.array_equal((-a + a)[1], [0.0])
    assert len(a) == 2
