"""The quadratic model of a proximal quasi-Newton step, where rounding errors spoil it."""

import numpy as np
import pytest

from minmin.numerics.lbfgs import Pairs, remember
from minmin.numerics.prox_model import PairsHessian, minimise_model
from minmin.terms import L1


class Indefinite:
    """A model that falls forever."""

    largest = 2.0

    def times(self, v):
        return -v


def test_a_model_without_a_minimum_gives_the_first_proximal_gradient_step():
    x, gradient = np.array([1.0, -2.0, 0.0]), np.array([3.0, 0.5, 0.1])
    step = minimise_model(L1(0.2).prox, x, gradient, Indefinite())
    assert np.array_equal(step, L1(0.2).prox(x - gradient / 2, 0.5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_model_of_nearly_dependent_steps_has_a_minimum(dtype):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((6, 6))
        H = root @ root.T + np.eye(6)
        pairs = Pairs()
        first = rng.standard_normal(6)
        for _ in range(6):
            step = (first + 10 ** rng.uniform(-6, 0) * rng.standard_normal(6)).astype(dtype)
            pairs = remember(pairs, step, (H @ step).astype(dtype))
        hessian = PairsHessian(pairs)
        B = np.stack([hessian.times(column) for column in np.eye(6, dtype=dtype)])
        assert np.linalg.eigvalsh((B + B.T) / 2).min() > 0
        assert np.linalg.eigvalsh((B + B.T) / 2).max() <= 1.01 * hessian.largest
