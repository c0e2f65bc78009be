"""Categories that allow only one answer: without a penalty their coefficients grow forever, and runs say so."""

import array_api_strict
import numpy as np
import pytest

import minmin
from minmin.problems import GLM, Softmax

SEEDS = range(8)


def random_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    return rng, rng.standard_normal((n, int(rng.integers(1, 5)))), 10.0 ** rng.uniform(-4, 0)


def absent_class(seed, alpha_y, asarray=np.asarray):
    """Only samples of weight zero are of the last class, or there are none."""
    rng, X, alpha_x = random_rows(seed)
    classes = int(rng.integers(3, 7))
    target, weights = rng.integers(0, classes - 1, size=len(X)), np.ones(len(X))
    if seed % 2:
        target[:3], weights[:3] = classes - 1, 0.0
    X, ones = asarray(X), asarray(np.ones((len(X), 1)))
    return Softmax(X, ones, target, classes, alpha_x=alpha_x, alpha_y=alpha_y, sample_weight=weights)


def sure_level(seed, alpha_y):
    """All samples of one level are positive."""
    rng, X, alpha_x = random_rows(seed)
    target = rng.integers(0, 2, size=len(X))
    level = (target == 1) & (rng.uniform(size=len(X)) < 0.3)
    return GLM(X, np.c_[np.ones(len(X)), level], target, "logistic", alpha_x=alpha_x, alpha_y=alpha_y)


def level_without_a_class(seed, alpha_y):
    rng, X, alpha_x = random_rows(seed)
    level, target = rng.integers(0, 4, size=len(X)), rng.integers(0, 3, size=len(X))
    target[level == 0] = np.minimum(target[level == 0], 1)
    return Softmax(X, np.eye(4)[level], target, 3, alpha_x=alpha_x, alpha_y=alpha_y)


def level_without_counts(seed, alpha_y):
    rng, X, alpha_x = random_rows(seed)
    level = rng.integers(0, 4, size=len(X))
    counts = np.where(level == 0, 0.0, rng.poisson(1.0, size=len(X)))
    return GLM(X, np.eye(4)[level], counts, "poisson", alpha_x=alpha_x, alpha_y=alpha_y)


@pytest.mark.parametrize("make", [absent_class, sure_level, level_without_a_class, level_without_counts])
def test_a_category_with_one_answer_has_no_minimum_unless_it_is_penalised(make):
    for seed in SEEDS:
        with pytest.raises(minmin.NoMinimumError):
            minmin.minimize(make(seed, 0.0), method="reduced-newton", tol=0)
        assert minmin.minimize(make(seed, 1e-3), method="reduced-newton", tol=1e-8).certified


def test_this_holds_in_the_expensive_block_too():
    for seed in SEEDS:
        with pytest.raises(minmin.NoMinimumError):
            minmin.minimize(level_without_a_class(seed, 0.0).swapped(), method="reduced-newton", tol=0)


def test_this_holds_for_other_libraries():
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(absent_class(1, 0.0, array_api_strict.asarray), method="reduced-newton", tol=0)
