"""The start decides on which device a run computes; array-api-strict refuses to mix devices as an accelerator does."""

import array_api_strict as xp
import numpy as np
import pytest

import minmin
from contract.libraries import in_library, small_problem
from minmin.problems import GLM, Composite, Quadratic
from minmin.terms import L1, Box, GroupL2
from reference import VARIANTS

FIRST, SECOND = xp.Device("device1"), xp.Device("device2")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_device_of_the_data_is_kept(variant):
    method, options = VARIANTS[variant]
    problem = small_problem("quadratic")
    problem = Quadratic(xp.asarray(problem.H, device=FIRST), xp.asarray(problem.b, device=FIRST), problem.d_x)
    r = minmin.minimize(problem, method=method, max_grad_x=5, **options)
    assert r.x.device == r.y.device == FIRST


@pytest.mark.parametrize("kind", ["quadratic", "glm", "softmax"])
@pytest.mark.parametrize("method", ["reduced-newton", "reduced-lbfgs"])
def test_a_start_on_another_device_takes_the_problem_along(kind, method):
    problem = in_library(small_problem(kind), xp, "float64")
    r = minmin.minimize(problem, xp.zeros(problem.d_x, device=FIRST), method=method, tol=1e-6)
    assert r.success
    assert r.x.device == r.y.device == FIRST


def test_a_start_on_another_device_takes_every_part_of_a_sum_along():
    here, there = (in_library(small_problem(kind), xp, "float64") for kind in ("quadratic", "glm"))
    there = there.to_like(xp.zeros(1, device=SECOND))
    r = minmin.minimize(minmin.Sum([here, there]), xp.zeros(3, device=FIRST), tol=1e-6)
    assert r.success
    assert r.x.device == r.y[0].device == r.y[1].device == FIRST


def test_a_start_on_another_device_takes_terms_along():
    problem = in_library(small_problem("quadratic"), xp, "float64")
    for term_x in (L1(np.array([0.1, 0.2, 0.3])), GroupL2(0.1, [[0, 2], [1]])):
        f = Composite(problem, term_x, Box(np.zeros(3), np.ones(3)))
        for place in (FIRST, SECOND):
            r = minmin.minimize(f, xp.ones(3, device=place), tol=1e-6)
            assert r.success
            assert r.x.device == r.y.device == place


def test_the_check_follows_the_start():
    assert minmin.check(in_library(small_problem("glm"), xp, "float64"), xp.ones(3, device=FIRST)).ok


def test_arrays_on_two_devices_are_named():
    a, b = xp.ones(3, device=FIRST), xp.ones(3, device=SECOND)
    H, X, Y = xp.eye(3, device=SECOND), xp.ones((3, 1), device=FIRST), xp.ones((3, 1), device=SECOND)
    for run, words in (
        (lambda: minmin.minimize(small_problem("quadratic"), a, b), r"x0 is .*device1.* and y0 is .*device2"),
        (lambda: Quadratic(H, a, 1), r"H is .*device2.* and b is .*device1"),
        (
            lambda: GLM(X, Y, a, alpha_x=1.0, alpha_y=1.0),
            r"X is .*device1.* and Y is .*device2",
        ),
    ):
        with pytest.raises(minmin.InputError, match=rf"{words}.*one device"):
            run()
