"""L1 and GroupL2: the answers of an independent solver, with exact zeros where it has zeros."""

import numpy as np
import pytest

import minmin
from composite.cases import METHODS, draw_case
from composite.independent import find_minima

CLEARLY = 0.99
"""A coordinate is clearly zero at a minimum if |∇f| is at most this fraction of its weight."""


def draw(kind, seed):
    rng = np.random.default_rng(seed)
    pairs = [(kind, "none"), ("none", kind), (kind, kind)]
    return find_minima([draw_case(rng, pairs[i % 3], logistic=i % 2 == 0, condition=50.0) for i in range(9)])


def find_clear_zeros(minimum):
    """Which coordinates of (x, y) are zero at the minimum, and stay zero if ∇f changes a little."""
    case = minimum.case
    z = np.concatenate([minimum.x, minimum.y])
    gradients = np.split(case.gradient(z), [case.x.size])
    clear = []
    for piece, gradient in zip((case.x, case.y), gradients, strict=True):
        size = np.abs(gradient)
        if piece.kind == "GroupL2":
            size = np.sqrt([np.sum(gradient[piece.group == label] ** 2) for label in piece.group])
        clear.append((size < CLEARLY * piece.l1) if piece.kind != "none" else np.zeros(piece.size, dtype=bool))
    return np.concatenate(clear)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["L1", "GroupL2"])
def test_zeros_are_exact(kind, method):
    zeros = 0
    for minimum in draw(kind, seed=3):
        r = minmin.minimize(minimum.case.problem(), method=method, tol=1e-11 * minimum.size)
        assert r.success
        clear = find_clear_zeros(minimum)
        assert np.all(np.concatenate([minimum.x, minimum.y])[clear] == 0.0)
        assert np.all(np.concatenate([r.x, r.y])[clear] == 0.0)
        zeros += np.count_nonzero(clear)
    assert zeros > 8


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["L1", "GroupL2"])
def test_the_answers_are_those_of_the_independent_solver(kind, method):
    """To 1e-8."""
    for minimum in draw(kind, seed=4):
        problem = minimum.case.problem()
        slope = np.abs(minimum.case.gradient(np.concatenate([minimum.x, minimum.y]))).max()
        r = minmin.minimize(problem, method=method, tol=0, gtol=1e-10 * slope)
        assert r.success, r
        size = max(np.abs(minimum.x).max(), np.abs(minimum.y).max())
        assert np.abs(r.x - minimum.x).max() <= 1e-8 * size
        assert np.abs(r.y - minimum.y).max() <= 1e-8 * size
        assert minimum.gap(r.x, r.y) <= 1e-13 * minimum.size
