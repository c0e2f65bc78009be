"""An offset is a constant part of the margins, in values, bounds, proofs and checkpoints."""

import array_api_strict
import numpy as np
import pytest

import minmin
from minmin.core.counting import Tally
from minmin.methods.y_system import YSystem
from minmin.problems import GLM, Softmax
from reference import random_glm

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((80, 4)), np.c_[RNG.standard_normal(80), np.ones(80)]
OFFSET = RNG.standard_normal(80)
PENALTIES = {"alpha_x": 0.05, "alpha_y": np.array([0.01, 0.0])}


def test_in_least_squares_it_is_subtracted_from_the_target():
    target = RNG.standard_normal(80)
    r = minmin.minimize(GLM(X, Y, target, "squared", offset=OFFSET, **PENALTIES), tol=1e-12)
    other = minmin.minimize(GLM(X, Y, target - OFFSET, "squared", **PENALTIES), tol=1e-12)
    assert r.certified
    assert np.allclose(r.x, other.x, atol=1e-6)
    assert np.allclose(r.y, other.y, atol=1e-6)


def test_for_counts_it_is_the_logarithm_of_the_exposure():
    """exp(m + log e) - t·m is e times the loss of the rate t/e."""
    exposure = np.exp(OFFSET)
    counts = RNG.poisson(exposure).astype(float)
    r = minmin.minimize(GLM(X, Y, counts, "poisson", offset=OFFSET, **PENALTIES), tol=1e-12)
    scaled = {name: alpha / exposure.mean() for name, alpha in PENALTIES.items()}
    rates = GLM(X, Y, counts / exposure, "poisson", sample_weight=exposure, **scaled)
    other = minmin.minimize(rates, tol=1e-12)
    assert r.certified
    assert np.allclose(r.x, other.x, atol=1e-5)
    assert np.allclose(r.y, other.y, atol=1e-5)


def test_a_softmax_takes_one_for_every_class():
    labels = RNG.integers(0, 2, size=80)
    offsets = RNG.standard_normal((80, 2))
    penalties = {"alpha_x": 0.05, "alpha_y": 0.01}
    r = minmin.minimize(Softmax(X, Y, labels, offset=offsets, **penalties), tol=1e-12)
    halved = {name: alpha / 2 for name, alpha in penalties.items()}
    logistic = GLM(X, Y, labels, offset=offsets[:, 1] - offsets[:, 0], **halved)
    other = minmin.minimize(logistic, tol=1e-12)
    assert r.certified
    assert r.fun == pytest.approx(other.fun, abs=1e-10)
    assert np.allclose(r.x[1::2] - r.x[::2], other.x, atol=1e-5)


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_rounding_of_a_large_offset_is_part_of_the_bound(size):
    """With the offset c·1, an unpenalised intercept is lower by c, and the minimum is the same."""
    labels = RNG.integers(0, 2, size=80)
    plain = minmin.minimize(GLM(X, Y, labels, **PENALTIES), tol=1e-14)
    shifted = GLM(X, Y, labels, offset=np.full(80, size), **PENALTIES)
    start = np.zeros(4), np.array([0.0, -size])
    r = minmin.minimize(shifted, *start, tol=1e-14)
    assert r.certified
    assert r.fun - plain.fun <= r.gap_bound + plain.gap_bound
    assert plain.fun - r.fun <= r.gap_bound + plain.gap_bound
    assert r.gap_bound <= 1e-13 * size**2


def test_the_bound_at_other_points_is_above_the_gap():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = random_glm(rng, "poisson")
        problem = GLM(p.X, p.Y, p.target, "poisson", alpha_x=0.1, alpha_y=0.0, offset=rng.standard_normal(60))
        best = minmin.minimize(problem, tol=1e-12)
        here = problem.evaluate(*(v + 0.1 * rng.standard_normal(v.shape) for v in (best.x, best.y)))
        system = YSystem(here)
        bound = problem.bound_after(here, here.model_after(system.y_step.dy), system.full_rank_root)[0]
        assert here.value - best.fun <= bound.value


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_separable_data_have_no_minimum_whatever_the_offset(size):
    labels = X @ [1.0, -1.0, 0.5, 0.0] > 0.2
    problem = GLM(X, np.ones((80, 1)), labels, alpha_x=0.0, alpha_y=0.0, offset=size * OFFSET)
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(problem)
    level = Y[:, 0] > 0
    counts = Softmax(X, np.eye(2)[level * 1], 2 * level, 3, alpha_x=0.1, alpha_y=0.0, offset=size * np.ones((80, 3)))
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(counts)


def test_it_costs_no_product():
    labels = RNG.integers(0, 2, size=80)
    one, other = (
        minmin.minimize(GLM(X, Y, labels, offset=offset, **PENALTIES), tol=1e-9) for offset in (None, np.zeros(80))
    )
    assert one.calls == other.calls
    assert np.array_equal(one.x, other.x)


def test_copies_keep_it_and_checkpoints_tell_it_apart(tmp_path):
    labels = RNG.integers(0, 2, size=80)
    problem = GLM(X, Y, labels, offset=OFFSET, alpha_x=0.05, alpha_y=0.1)
    x, y = RNG.standard_normal(4), RNG.standard_normal(2)
    value = problem.evaluate(x, y).value
    strict = problem.to_like(array_api_strict.asarray(np.zeros(1)))
    assert strict.evaluate(*map(array_api_strict.asarray, (x, y))).value == pytest.approx(value, rel=1e-14)
    assert problem.swapped().evaluate(y, x).value == pytest.approx(value, rel=1e-14)
    assert problem.counted(Tally()).evaluate(x, y).value == value
    assert problem.with_penalties(0.05, 0.1).evaluate(x, y).value == value
    assert minmin.check(problem).ok
    file = tmp_path / "run"
    minmin.minimize(problem, max_grad_x=2, checkpoint=file)
    for offset in (None, np.r_[OFFSET[:-1], 0.0]):
        with pytest.raises(minmin.CheckpointError, match="another problem"):
            minmin.minimize(GLM(X, Y, labels, offset=offset, alpha_x=0.05, alpha_y=0.1), checkpoint=file)
