"""Gradients and Hessian products by automatic differentiation are those of the function."""

import numpy as np
import pytest

from autodiff.functions import LIBRARIES, RandomFunction
from minmin.core.start import make_start

SEEDS = {"jax": range(6), "torch": range(50)}
"""JAX takes more than a second to compile one of them; range(50) passes, too."""
CASES = [pytest.param(library, seed, id=f"{library}-{seed}") for library in LIBRARIES for seed in SEEDS[library]]


@pytest.mark.parametrize(("library", "seed"), CASES)
def test_derivatives_agree_with_finite_differences(library, seed):
    problem = RandomFunction(seed, library).problem()
    x, y = make_start(problem)
    rng = np.random.default_rng(seed)
    dx, dy = rng.standard_normal(x.size), rng.standard_normal(y.size)
    here = problem.evaluate(x, y)
    h = 1e-5
    after, before = (problem.evaluate(x + t * dx, y + t * dy) for t in (h, -h))
    slope = here.grad_x @ dx + here.grad_y @ dy
    assert slope == pytest.approx((after.value - before.value) / (2 * h), rel=1e-6, abs=1e-7)
    direction = here.slice.along(dx)
    in_x = here.hess_product(direction, dy)
    in_y = here.hess_yx(direction) + here.hess_yy() @ dy
    assert np.allclose(in_x, (after.grad_x - before.grad_x) / (2 * h), rtol=1e-5, atol=1e-6)
    assert np.allclose(in_y, (after.grad_y - before.grad_y) / (2 * h), rtol=1e-5, atol=1e-6)
    assert np.allclose(here.hess_yy_product(dy), here.hess_yy() @ dy, rtol=1e-10, atol=1e-12)
    assert here.model_after(dy).grad_x == pytest.approx(here.grad_x + here.hess_product(here.slice.along(0 * dx), dy))
