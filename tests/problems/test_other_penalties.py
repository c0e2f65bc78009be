"""The same data under other penalties are the problem that one would have made with them."""

import numpy as np
import pytest
import scipy.sparse

import minmin

RNG = np.random.default_rng(0)
X = scipy.sparse.csr_array(RNG.standard_normal((40, 6)) * (RNG.random((40, 6)) < 0.5))
Y = RNG.standard_normal((40, 3))
CLASSES = RNG.integers(0, 3, 40)


def glm(alpha_x, alpha_y):
    return minmin.problems.GLM(X, Y, CLASSES == 0, alpha_x=alpha_x, alpha_y=alpha_y)


def softmax(alpha_x, alpha_y):
    return minmin.problems.Softmax(X, Y, CLASSES, alpha_x=alpha_x, alpha_y=alpha_y)


@pytest.mark.parametrize("made", [glm, softmax])
def test_a_run_is_that_of_a_new_problem(made):
    problem = made(1.0, 1.0)
    for alpha_x, alpha_y in [(1e-2, 1e-3), (np.geomspace(1e-3, 1.0, 6), np.array([0.0, 1e-2, 1e-1])), (1e-4, 1e-2)]:
        problem = problem.with_penalties(alpha_x, alpha_y)
        ours, fresh = (minmin.minimize(p, method="reduced-newton", tol=1e-9) for p in (problem, made(alpha_x, alpha_y)))
        np.testing.assert_array_equal(ours.x, fresh.x)
        np.testing.assert_array_equal(ours.y, fresh.y)
        assert ours.gap_bound == fresh.gap_bound
        assert ours.calls == fresh.calls
        assert problem.constants == made(alpha_x, alpha_y).constants


def test_wrong_penalties_are_refused():
    with pytest.raises(minmin.InputError, match="alpha_x"):
        glm(1.0, 1.0).with_penalties(-1.0, 1.0)
    with pytest.raises(minmin.InputError, match="alpha_y"):
        softmax(1.0, 1.0).with_penalties(1.0, np.ones(9))
