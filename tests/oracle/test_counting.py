"""Everything is computed on first use, kept, and counted once."""

import copy

import numpy as np
import pytest

import minmin
from minmin import federated
from minmin.core.counting import Tally
from minmin.core.start import make_start
from minmin.problems import Quadratic
from minmin.problems.spectrum import EXACT_UP_TO
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
    slice_ = problem.fix(np.ones(problem.d_x))
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


def test_the_constants_of_a_linear_model_are_counted_once_in_every_run_that_needs_them(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((30, 4)), rng.standard_normal((30, 3)), np.sign(rng.standard_normal(30))
    glm = minmin.problems.GLM(*data, alpha_x=0.1, alpha_y=0.1)
    given = minmin.problems.GLM(*data, alpha_x=0.1, alpha_y=0.1, constants=glm.constants)
    columns = glm.d_x + glm.d_y
    runs = [minmin.minimize(glm, method="bam", tol=1e-8) for _ in range(2)]
    without = minmin.minimize(given, method="bam", tol=1e-8).calls
    assert "constants_passes" not in without
    for calls in (run.calls for run in runs):
        assert (calls["constants_passes"], calls["constants_passes_y"]) == (columns, glm.d_y)
        assert calls["passes"] == without["passes"] + columns
        assert calls["passes_y"] == without["passes_y"] + glm.d_y
    file = tmp_path / "run.checkpoint"
    minmin.minimize(glm, method="bam", tol=1e-8, max_grad_x=3, checkpoint=file)
    assert minmin.minimize(copy.deepcopy(glm), method="bam", tol=1e-8, checkpoint=file).calls == runs[0].calls
    exchanged = minmin.minimize(glm, method="bam", outer="y", tol=1e-8).calls
    assert (exchanged["constants_passes"], exchanged["constants_passes_y"]) == (columns, glm.d_y)
    assert "constants_passes" not in minmin.minimize(glm).calls


def test_the_constants_of_every_term_of_a_sum_are_counted():
    glms = [random_glm(np.random.default_rng(seed)) for seed in (0, 0)]
    calls = minmin.minimize(minmin.Sum(glms), method="bam", tol=1e-3).calls
    assert calls["constants_passes"] == sum(glm.d_x + glm.d_y for glm in glms)
    assert calls["constants_passes_y"] == sum(glm.d_y for glm in glms)


def test_constants_by_lanczos_count_the_products_that_were_made():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((5, EXACT_UP_TO + 1)), rng.standard_normal((5, 3))
    glm = minmin.problems.GLM(X, Y, rng.standard_normal(5), loss="squared", alpha_x=1.0, alpha_y=1.0)
    assert glm.constants.L_x > 0.0
    in_x, in_y = glm.passes_for_constants()
    assert 0 < in_x <= 2 * 60
    assert in_x % 2 == 0
    assert in_y == 3


def test_a_budget_of_time_does_not_keep_setup_from_being_counted():
    glm = random_glm(np.random.default_rng(0))
    r = minmin.minimize(glm, method="bam", outer="y", max_seconds=0.0)
    assert r.status == "budget"
    assert r.calls["passes"] == r.calls["constants_passes"]


def glm_by_column():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 3)), np.column_stack([rng.standard_normal(30), np.ones(30)])
    labels = np.sign(rng.standard_normal(30))
    return minmin.problems.GLM(X, Y, labels, alpha_x=[0.1, 0.2, 0.3], alpha_y=[0.1, 0.0])


def softmax():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    return minmin.problems.Softmax(X, Y, rng.permutation(np.arange(30) % 3), alpha_x=0.1, alpha_y=0.1)


KINDS = {
    "quadratic": lambda: Quadratic.random(d_x=3, d_y=2),
    "function": lambda: as_function(Quadratic.random(d_x=3, d_y=2)),
    "logistic": lambda: random_glm(np.random.default_rng(0)),
    "penalties by column": glm_by_column,
    "softmax": softmax,
    "sum": lambda: minmin.Sum([random_glm(np.random.default_rng(0)) for _ in range(2)]),
    "split": lambda: minmin.problems.Split(*(random_glm(np.random.default_rng(0)) for _ in range(2))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_call_is_documented(kind):
    problem, seen = KINDS[kind](), set()
    options = [{}, {"inner": "newton"}, {"outer": "y"}, {"outer": "y", "inner": "newton"}]
    for method in minmin.methods.names():
        for chosen in options:
            try:
                seen |= set(minmin.minimize(problem, method=method, tol=1e-3, max_grad_x=100, **chosen).calls)
            except (minmin.InputError, minmin.UnsupportedError):  # not every method has these options
                continue
    seen |= set(federated.run([federated.Client(problem)] * 2, tol=1e-3).calls) if kind != "sum" else set()
    documented = minmin.Result.__doc__
    assert not [key for key in seen if f'"{key}"' not in documented]
    assert {"grad_x", "grad_y", "value", "monitor"} <= seen


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
            assert twin.traits.is_second_order == expected
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
