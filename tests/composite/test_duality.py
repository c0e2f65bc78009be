"""The duality gap of linear models with terms: proved by the data, and never below the true gap."""

import math

import numpy as np
import pytest

import minmin
from minmin.problems import GLM, Composite, Softmax
from minmin.terms import L1, Box, ElasticNet, GroupL2, Simplex

SAMPLES, D_X, D_Y = 40, 6, 3
LOSSES = ["logistic", "squared", "poisson", "softmax"]
TERMS = {
    "L1": lambda size, weight: L1(weight),
    "weighted L1": lambda size, weight: L1(weight * np.linspace(0.5, 2.0, size)),
    "ElasticNet": lambda size, weight: ElasticNet(weight, 0.1),
    "GroupL2": lambda size, weight: GroupL2(weight, [range(size // 2), range(size // 2, size)]),
    "Box": lambda size, weight: Box(-weight, weight),
}
PENALTIES = {
    "none": (0.0, 0.0),
    "in y": (0.0, 0.1),
    "in y, but not on an intercept": (0.0, np.array([0.1, 0.3, 0.0])),
    "in x": (0.05, 0.0),
    "in some columns": (np.linspace(0.0, 0.1, D_X), np.array([0.0, 0.2, 0.1])),
}


def draw_model(loss, penalties, rng):
    X, Y = rng.standard_normal((SAMPLES, D_X)), rng.standard_normal((SAMPLES, D_Y))
    alpha_x, alpha_y = PENALTIES[penalties]
    options = {"alpha_x": alpha_x, "alpha_y": alpha_y, "sample_weight": rng.uniform(0.5, 2.0, SAMPLES)}
    if loss == "softmax":
        return Softmax(X, Y, rng.permutation(np.arange(SAMPLES) % 3), **options)
    if loss == "logistic":
        return GLM(X, Y, np.where(np.arange(SAMPLES) % 2, 1.0, -1.0), loss, **options)
    return GLM(X, Y, rng.poisson(2.0, SAMPLES).astype(float), loss, **options)


@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_by_data_are_never_below_the_true_gap(loss, penalties):
    """Along a run and at points far from it, where the dual point is scaled most."""
    for seed, make in enumerate(TERMS.values()):
        rng = np.random.default_rng(seed)
        model = draw_model(loss, penalties, rng)
        problem = Composite(model, term_x=make(model.d_x, 0.1))
        exact = minmin.minimize(problem, tol=1e-12)
        assert exact.gap_bound <= 1e-6, exact
        points = [
            (exact.x + s * rng.standard_normal(model.d_x), exact.y + s * rng.standard_normal(model.d_y))
            for s in (1e-6, 1e-2, 1.0)
        ]
        seen = []
        minmin.minimize(problem, tol=1e-6, callback=lambda record, seen=seen: seen.append((record.x, record.y)))
        finite = 0
        for x, y in [*seen, *points]:
            x, y = problem.project_start(x, y)
            evaluation = problem.evaluate(x, y)
            bound = problem.certify(evaluation, math.inf)
            gap = evaluation.value - exact.fun
            assert bound.value >= gap - 1e-14 * abs(exact.fun)
            finite += bound.is_proved
        assert finite >= len(seen) / 2


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_data_prove_a_tolerance_without_any_penalty(loss, term):
    model = draw_model(loss, "none", np.random.default_rng(3))
    r = minmin.minimize(Composite(model, term_x=TERMS[term](model.d_x, 0.1)), tol=1e-7)
    assert r.success, r
    assert r.certified


def test_one_more_gradient_is_computed_only_where_it_may_end_the_run():
    model = draw_model("logistic", "none", np.random.default_rng(0))
    problem = Composite(model, term_x=L1(0.05))
    r = minmin.minimize(problem, tol=1e-7)
    assert r.certified
    assert r.calls["grad_x"] <= r.nit + 4
    tally = minmin.core.counting.Tally()
    evaluation = problem.counted(tally).evaluate(np.zeros(D_X), np.zeros(D_Y))
    assert problem.certify(evaluation, 1e-7).basis == "estimate"
    assert tally["grad_x"] == 1


def test_terms_in_both_blocks_are_bounded_together():
    model = draw_model("logistic", "none", np.random.default_rng(1))
    r = minmin.minimize(Composite(model, term_x=L1(0.05), term_y=Simplex()), tol=1e-7)
    assert r.success
    assert r.bound.basis == "data"
    assert r.y.sum() == pytest.approx(1.0)
