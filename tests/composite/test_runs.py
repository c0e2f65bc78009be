"""Checkpoints, budgets, counts, history, callback and gtol of runs on problems with terms."""

import numpy as np
import pytest

import minmin
from composite.cases import METHODS
from contract.promises import assert_pure, assert_same_run
from minmin.problems import Composite, Quadratic
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex, Term
from reference import as_function, random_glm

PAIRS = {
    "L1 and a box": (L1(0.3), Box(-0.1, 0.2)),
    "groups and the simplex": (GroupL2(0.3, [[0, 1], [2, 3, 4]]), Simplex()),
    "a ball and nothing": (L2Ball(0.5), None),
    "nothing and an elastic net": (None, ElasticNet(0.2, 0.1)),
}


def make_quadratic(seed=0):
    return Quadratic.random(d_x=6, d_y=4, L_x=5.0, L_y=50.0, coupling=1.0, seed=seed)


PROBLEMS = {
    **{name: Composite(make_quadratic(), *pair) for name, pair in PAIRS.items()},
    "a linear model": Composite(random_glm(np.random.default_rng(11)), L1(0.01), Box(-0.5, 0.2)),
    "a sum": Composite(minmin.Sum([make_quadratic(s) for s in range(2)], (0.3, 0.7)), L1(0.3), [None, Box(0, 1)]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_resumed_run_is_the_undisturbed_one(name, method, tmp_path):
    problem = PROBLEMS[name]
    whole = minmin.minimize(problem, method=method, tol=1e-8)
    assert whole.success
    file = tmp_path / "run.minmin"
    for cut in (3, whole.calls["grad_y"] // 2, whole.calls["grad_y"] - 1):
        part = minmin.minimize(problem, method=method, tol=1e-8, max_grad_y=cut, checkpoint=file)
        assert part.status == "budget"
    for _ in range(2):
        assert_same_run(whole, minmin.minimize(problem, method=method, tol=1e-8, checkpoint=file))


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_pure(method):
    for terms in PAIRS.values():
        problem = Composite(make_quadratic(), *terms)
        assert_pure(minmin.extend.build(method, problem, {}, None)[0], problem)


OTHERS = {
    "another weight": (L1(0.31), Box(-0.1, 0.2)),
    "a weight per coordinate": (L1([0.3] * 5 + [0.31]), Box(-0.1, 0.2)),
    "another bound": (L1(0.3), Box(-0.1, 0.21)),
    "another kind": (ElasticNet(0.3, 0.0), Box(-0.1, 0.2)),
    "no term in y": (L1(0.3), None),
    "no term in x": (None, Box(-0.1, 0.2)),
    "no terms": (None, None),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_checkpoint_of_another_term_is_refused(other, tmp_path):
    file = tmp_path / "run.minmin"
    minmin.minimize(Composite(make_quadratic(), L1(0.3), Box(-0.1, 0.2)), max_grad_x=4, checkpoint=file)
    with pytest.raises(minmin.CheckpointError, match="belongs to another problem"):
        minmin.minimize(Composite(make_quadratic(), *OTHERS[other]), checkpoint=file)


def test_terms_that_are_exchanged_are_another_problem(tmp_path):
    file = tmp_path / "run.minmin"
    problem = Quadratic.random(d_x=3, d_y=3)
    minmin.minimize(Composite(problem, L1(0.3)), max_grad_x=4, checkpoint=file)
    with pytest.raises(minmin.CheckpointError, match="belongs to another problem"):
        minmin.minimize(Composite(problem, None, L1(0.3)), checkpoint=file)


def test_an_own_term_is_told_apart_by_its_public_attributes(tmp_path):
    class Penalty(Term):
        def __init__(self, weight):
            self.weight = weight

        def value(self, v):
            return 0.5 * self.weight * float(v @ v)

        def prox(self, v, step):
            return v / (1 + step * self.weight)

    file = tmp_path / "run.minmin"
    minmin.minimize(Composite(make_quadratic(), Penalty(1.0)), max_grad_x=4, checkpoint=file)
    with pytest.raises(minmin.CheckpointError, match="belongs to another problem"):
        minmin.minimize(Composite(make_quadratic(), Penalty(2.0)), checkpoint=file)
    assert minmin.minimize(Composite(make_quadratic(), Penalty(1.0)), checkpoint=file).success


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("terms", PAIRS)
def test_counts_are_those_of_the_users_callables(method, terms):
    for stop in ({"tol": 1e-9}, {"max_grad_y": 11}, {"max_grad_x": 5}, {"max_iterations": 3}, {"tol": 0, "gtol": 1e-6}):
        counts = {"grad_x": 0, "grad_y": 0, "value": 0}
        r = minmin.minimize(Composite(as_function(make_quadratic(), counts), *PAIRS[terms]), method=method, **stop)
        assert r.calls["grad_x"] == counts["grad_x"] == r.history.grad_x[-1]
        assert r.calls["grad_y"] == counts["grad_y"] == r.history.grad_y[-1]
        assert r.calls["value"] + r.calls["monitor"] == counts["value"]
        assert r.status == ("budget" if any(name.startswith("max") for name in stop) else "converged")
        assert r.calls["grad_x"] <= stop.get("max_grad_x", np.inf)
        assert r.calls["grad_y"] <= stop.get("max_grad_y", np.inf)


@pytest.mark.parametrize("method", METHODS)
def test_history_and_callback_show_the_whole_function(method):
    problem = Composite(make_quadratic(), *PAIRS["L1 and a box"])
    records = []
    r = minmin.minimize(problem, method=method, tol=1e-8, callback=records.append)
    assert len(records) == r.nit
    for record, value, bound in zip(records, r.history.value[1:], r.history.gap_bound[1:], strict=True):
        assert record.value == value == problem.evaluate(record.x, record.y).value
        assert np.isfinite(value), "a point of the history is outside of the box"
        assert record.gap_bound == bound
    assert r.fun == r.history.value[-1]
    stopped = minmin.minimize(problem, method=method, tol=1e-8, callback=lambda record: record.gap_bound < 1.0)
    assert stopped.status == "interrupted"
    target = minmin.minimize(problem, method=method, tol=0, target_value=r.fun + 1e-3)
    assert target.success
    assert target.fun <= r.fun + 1e-3
    relative = minmin.minimize(problem, method=method, tol=0, rtol=1e-6)
    assert relative.success
    assert relative.gap_bound <= 1e-6 * (relative.history.value[0] - relative.fun)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gtol", [1e-3, 1e-6, 1e-9])
def test_gtol_looks_at_a_proximal_step_of_length_1(method, gtol):
    """|v - prox(v - ∇f, 1)|; ∇f itself does not vanish at the minimum. 1e-9 is far below what values of L1 can show."""
    x_term, y_term = L1(0.3), NonNegative()
    problem = Composite(make_quadratic(), x_term, y_term)
    r = minmin.minimize(problem, method=method, tol=0, gtol=gtol)
    evaluation = problem.evaluate(r.x, r.y)
    in_x = r.x - x_term.prox(r.x - evaluation.grad_x, 1.0)
    in_y = r.y - y_term.prox(r.y - evaluation.grad_y, 1.0)
    size = max(np.abs(in_x).max(), np.abs(in_y).max())
    if gtol > 1e-8 or method != "reduced-lbfgs":  # whose slopes include values
        assert r.success, r
        assert size <= gtol
        assert "gtol" in r.message
    assert size <= 1e-8 + gtol
    assert np.abs(evaluation.grad_x).max() > 0.1


@pytest.mark.parametrize("method", METHODS)
def test_a_gtol_below_rounding_ends_as_stalled(method):
    r = minmin.minimize(Composite(make_quadratic(), L1(0.3), NonNegative()), method=method, tol=0, gtol=1e-30)
    assert r.status == "stalled"
    assert "give a larger gtol" in r.message
    assert r.gap_bound < 1e-12
