"""Every loss has the minimum of its formula, a bound that is never below the gap, and the right end at infinity."""

import array_api_strict
import numpy as np
import pytest
import scipy.optimize
import scipy.special
from scipy.special import expm1, huber, log1p, log_ndtr

import minmin
from minmin.methods.y_system import YSystem
from minmin.problems import GLM, Composite, Huber, Loss, NegativeBinomial, Tweedie
from minmin.problems.linear.losses import LOSSES
from reference import random_columns_glm, random_glm, random_target, with_penalties

NEW = ("probit", "cloglog", "squared-hinge", "huber", "gamma", "tweedie", "negative-binomial")
FORMULAS = {
    "probit": (None, lambda m, t: -log_ndtr(t * m)),
    "cloglog": (None, lambda m, t: np.where(t > 0, -np.log(-expm1(-np.exp(m))), np.exp(m))),
    "squared-hinge": (None, lambda m, t: 0.5 * np.maximum(1 - t * m, 0) ** 2),
    "huber": (Huber(delta=0.7), lambda m, t: huber(0.7, m - t)),
    "gamma": (None, lambda m, t: t * np.exp(-m) + m),
    "tweedie": (Tweedie(power=1.2), lambda m, t: np.exp(0.8 * m) / 0.8 + t * np.exp(-0.2 * m) / 0.2),
    "negative-binomial": (NegativeBinomial(dispersion=0.4), lambda m, t: (t + 2.5) * log1p(0.4 * np.exp(m)) - t * m),
}


def random_rows(seed, name, n=80):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 3)), np.c_[0.5 * rng.standard_normal(n), np.ones(n)]
    return rng, X, Y, random_target(rng, name, X @ rng.standard_normal(3) / 2)


@pytest.mark.parametrize("name", NEW)
def test_the_minimum_is_that_of_the_plain_formula(name):
    rng, X, Y, target = random_rows(0, name)
    loss, formula = FORMULAS[name]
    weights, offset, alpha_y = rng.uniform(0.1, 2.0, size=80), 0.5 * rng.standard_normal(80), np.array([0.02, 0.0])

    def f(z):
        losses = formula(X @ z[:3] + Y @ z[3:] + offset, target)
        return np.average(losses, weights=weights) + 0.05 * (z[:3] @ z[:3]) / 2 + 0.02 * z[3] ** 2 / 2

    data = {"alpha_x": 0.05, "alpha_y": alpha_y, "sample_weight": weights, "offset": offset}
    problem = GLM(X, Y, target, loss or name, **data)
    assert minmin.check(problem).ok
    r = minmin.minimize(problem, tol=1e-12)
    peer = scipy.optimize.minimize(f, np.zeros(5), options={"gtol": 1e-7})
    assert r.certified
    assert r.fun == pytest.approx(f(np.r_[r.x, r.y]), abs=1e-13)
    assert abs(r.fun - peer.fun) <= 1e-9
    assert np.allclose(np.r_[r.x, r.y], peer.x, atol=1e-4)


def make_random(seed, name, penalised):
    rng = np.random.default_rng(seed)
    if penalised == "columns":
        problem = random_columns_glm(rng, name, sparse=bool(seed % 2))
    else:
        problem = random_glm(rng, name, sparse=bool(seed % 2))
        problem = with_penalties(problem, problem.alpha_x, problem.alpha_y if penalised == "both" else 0.0)
    offset = rng.standard_normal(60) if seed % 3 else None
    penalties = {"alpha_x": problem.alpha_x, "alpha_y": problem.alpha_y}
    given = {"sample_weight": problem.weights * (rng.uniform(size=60) < 0.9), "offset": offset}
    return rng, GLM(problem.X, problem.Y, problem.target, problem.loss, **penalties, **given)


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("penalised", ["both", "x", "columns"])
def test_bounds_are_never_below_the_gap(name, penalised):
    for seed in range(4):
        rng, problem = make_random(seed, name, penalised)
        records = []
        best = minmin.minimize(problem, method="reduced-newton", tol=1e-12, callback=records.append)
        assert best.certified
        pairs = [(record.value, record.gap_bound) for record in records]
        for distance in (1e-6, 1e-3, 0.1, 1.0):
            x = best.x + distance * rng.standard_normal(problem.d_x)
            y = best.y + distance * rng.standard_normal(problem.d_y)
            here = problem.evaluate(x, y)
            system = YSystem(here)
            after = here.model_after(system.y_step.dy)
            bound = problem.bound_after(here, after, system.full_rank_root)[0]
            assert distance > 1e-6 or bound.basis == "data"
            pairs.append((here.value, bound.value))
        assert all(value - best.fun <= bound + 1e-15 * (1 + abs(value)) for value, bound in pairs)


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_overflows_or_cancels_far_away(name):
    loss, margins = LOSSES[name], np.array([-700.0, -40.0, 40.0, 700.0])
    for t in loss.check_target(np.array([0.0, 1.0] if name not in ("gamma", "tweedie") else [1e-5, 3.0])):
        target = np.full(4, t)
        shared = loss.prepare(margins, target)
        value, slope, curvature = (f(margins, target, shared) for f in (loss.value, loss.slope, loss.curvature))
        assert np.isfinite(value[:3]).all()
        assert not np.isnan([value, slope, curvature]).any()
        assert (curvature >= 0).all()
        assert (value >= loss.infimum(target) - 1e-12 * np.abs(value)).all()
        assert (np.diff(slope) >= 0).all()
        tangents = value[:2] + slope[:2] * np.diff(margins[:3])
        assert (value[1:3] >= tangents - 1e-12 * np.abs(value[:2])).all()  # as ℓ is convex


def test_tweedie_targets_of_zero_have_no_loss_far_below():
    loss, margins, target = Tweedie(power=1.9), np.array([-2000.0]), np.zeros(1)
    shared = loss.prepare(margins, target)
    assert abs(loss.value(margins, target, shared)) + abs(loss.slope(margins, target, shared)) <= 1e-80


@pytest.mark.parametrize("name", ["probit", "cloglog", "squared-hinge"])
def test_separable_labels_have_a_minimum_only_with_the_squared_hinge(name):
    rng = np.random.default_rng(0)
    X, ones, offset = rng.standard_normal((60, 3)), np.ones((60, 1)), 5.0 * rng.standard_normal(60)
    labels = X @ [1.0, -2.0, 0.5] > 0.3
    for given in ({}, {"offset": offset}):
        problem = GLM(X, ones, labels.astype(float), name, alpha_x=0.0, alpha_y=0.0, **given)
        if name == "squared-hinge":
            r = minmin.minimize(problem, tol=1e-9)
            assert r.certified
            assert r.fun <= 1e-9
        else:
            with pytest.raises(minmin.NoMinimumError):
                minmin.minimize(problem, tol=1e-9)


@pytest.mark.parametrize("name", ["tweedie", "negative-binomial", "gamma", "huber"])
def test_a_level_without_counts_has_no_minimum_where_zero_is_the_limit_of_the_mean(name):
    rng = np.random.default_rng(1)
    level, X = rng.integers(0, 4, size=90), rng.standard_normal((90, 3))
    target = np.where(level == 0, 1e-6 if name == "gamma" else 0.0, rng.gamma(1.0, size=90))
    offset = 3.0 * rng.standard_normal(90)
    for given in ({}, {"offset": offset}):
        problem = GLM(X, np.eye(4)[level], target, name, alpha_x=0.1, alpha_y=0.0, **given)
        if name in ("gamma", "huber"):
            assert minmin.minimize(problem, tol=1e-9).certified
        else:
            with pytest.raises(minmin.NoMinimumError):
                minmin.minimize(problem, tol=1e-9)


def test_residuals_on_the_kink_leave_a_proof():
    """Two rows per level, 2δ apart: both residuals are δ, up to rounding. The dual point is made shorter."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    problem = GLM(0.0 * X, np.ones((60, 1)), np.tile([0.0, 0.6], 30), Huber(0.3), alpha_x=0.1, alpha_y=0.0)
    r = minmin.minimize(problem, tol=1e-9)
    assert r.certified
    here = problem.evaluate(r.x, np.array([0.3 - 1e-4]))
    system = YSystem(here)
    bound = problem.bound_after(here, here.model_after(system.y_step.dy), system.full_rank_root)[0]
    assert bound.basis == "data"
    assert here.value - r.fun <= bound.value <= 1e-3


def test_levels_whose_rows_have_no_curvature_are_certified():
    rng = np.random.default_rng(0)
    level, X = rng.integers(0, 30, size=300), rng.standard_normal((300, 3))
    target = X @ [1.0, 2.0, 0.0] + rng.standard_normal(30)[level] + rng.standard_t(2, size=300)
    problem = GLM(X, np.eye(30)[level], target, Huber(0.03), alpha_x=1e-4, alpha_y=0.0)
    r = minmin.minimize(problem, tol=1e-9)
    assert r.certified
    assert r.nit <= 20
    curved = np.abs(problem.evaluate(r.x, r.y).margins - target) <= 0.03
    assert np.bincount(level, curved, minlength=30).min() == 0


class Plain(Loss):
    """The logistic loss, of which only the value and two derivatives are known."""

    def value(self, margins, target, shared):
        return np.logaddexp(0.0, -target * margins)

    def slope(self, margins, target, shared):
        return -target * scipy.special.expit(-target * margins)

    def curvature(self, margins, target, shared):
        return scipy.special.expit(margins) * scipy.special.expit(-margins)


def test_a_loss_with_two_derivatives_alone_is_proved_where_all_columns_are_penalised():
    _, X, Y, target = random_rows(0, "logistic")
    alpha_y = np.array([1e-3, 1e-5])
    r, ours = (
        minmin.minimize(GLM(X, Y, target, loss, alpha_x=1e-2, alpha_y=alpha_y), tol=1e-9)
        for loss in (Plain(), "logistic")
    )
    assert r.certified
    assert abs(r.fun - ours.fun) <= 2e-9
    free = minmin.minimize(GLM(X, Y, target, Plain(), alpha_x=1e-2, alpha_y=0.0), tol=1e-9)
    assert free.success
    assert not free.certified
    separable = np.where(X[:, 0] > 0, 1.0, -1.0)
    assert not minmin.minimize(GLM(X, Y, separable, Plain(), alpha_x=0.0, alpha_y=0.0), tol=1e-9).certified


class Summed(Plain):
    def value(self, margins, target, shared):
        return super().value(margins, target, shared).sum()


class Short(Plain):
    def slope(self, margins, target):
        return -target


class Cauchy(Plain):
    def curvature(self, margins, target, shared):
        return (1.0 - (margins - target) ** 2) / (1.0 + (margins - target) ** 2) ** 2


@pytest.mark.parametrize(
    ("loss", "error", "words"),
    [
        (Summed(), minmin.InputError, r"Summed.value returned shape \(\) for margins of shape .*one number per row"),
        (Short(), minmin.UserCodeError, r"Short.slope\(margins, target, shared\) raised TypeError"),
        (Cauchy(), minmin.InputError, "the loss Cauchy is not convex: its curvature is -0.12 at the margin -1 for the"),
        (Plain, minmin.InputError, r"loss is the class Plain; give an object, such as Plain\(\)"),
    ],
)
def test_a_loss_of_ones_own_is_tried_first(loss, error, words):
    _, X, Y, target = random_rows(0, "logistic")
    with pytest.raises(error, match=words):
        GLM(X, Y, target, loss, alpha_x=1e-2, alpha_y=1e-2)


def test_check_measures_the_self_concordance():
    _, X, Y, target = random_rows(0, "logistic")
    for stated, ok in ((1.0, True), (0.9, False)):
        loss = Plain()
        loss.self_concordance = stated
        report = minmin.check(GLM(X, Y, target, loss, alpha_x=1e-2, alpha_y=1e-2))
        assert {finding.name: finding.ok for finding in report.findings}["self_concordance"] == ok
    for name in NEW:
        _, X, Y, target = random_rows(0, name)
        assert minmin.check(GLM(X, Y, target, name, alpha_x=1e-2, alpha_y=1e-2)).ok


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_libraries_and_precisions_find_the_same_minimum(dtype):
    for name in NEW:
        _, X, Y, target = random_rows(2, name)
        r = minmin.minimize(GLM(X, Y, target, name, alpha_x=0.05, alpha_y=0.0), tol=1e-12)
        arrays = (array_api_strict.asarray(a, dtype=getattr(array_api_strict, dtype)) for a in (X, Y, target))
        other = minmin.minimize(GLM(*arrays, name, alpha_x=0.05, alpha_y=0.0), tol=1e-4)
        assert other.certified
        assert other.fun == pytest.approx(r.fun, abs=2e-4)


def test_a_parameter_is_part_of_the_identity(tmp_path):
    _, X, Y, target = random_rows(0, "tweedie")
    penalties, file = {"alpha_x": 0.1, "alpha_y": 0.1}, tmp_path / "run"
    minmin.minimize(GLM(X, Y, target, Tweedie(1.5), **penalties), max_grad_x=2, checkpoint=file)
    with pytest.raises(minmin.CheckpointError, match="another problem"):
        minmin.minimize(GLM(X, Y, target, Tweedie(1.6), **penalties), checkpoint=file)
    assert minmin.minimize(GLM(X, Y, target, "tweedie", **penalties), checkpoint=file).certified


@pytest.mark.parametrize("name", NEW)
def test_terms_have_their_bound_too(name):
    _, X, Y, target = random_rows(1, name)
    model = GLM(X, Y, target, name, alpha_x=1e-2, alpha_y=np.array([1e-2, 0.0]))
    best = minmin.minimize(Composite(model, term_x=minmin.terms.L1(0.05)), tol=1e-7)
    assert best.certified
    assert best.success
