"""Where vectors are kept: in main memory, unless there are many and the function computes on an accelerator."""

import numpy as np
import pytest

import minmin
from autodiff.functions import LIBRARIES
from minmin.core import structure


def make_problem(library, constants=None):
    xp, array = LIBRARIES[library].xp, LIBRARIES[library].asarray
    scales = array([1.0, 2.0, 3.0], "float64")

    def fun(x, y):
        return xp.sum(scales * (x["a"] - 1.0) ** 2) + xp.sum((y - x["a"]) ** 2)

    start = array(np.zeros(3), "float64")
    return LIBRARIES[library].make(fun, {"a": start}, start, constants=constants)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("method", ["reduced-lbfgs", "nag", "reduced-newton"])
def test_vectors_of_an_accelerator_give_the_same_answer(library, method, monkeypatch):
    constants = minmin.Constants(L_x=20.0, L_y=20.0, mu_x=0.1, mu_y=0.1)
    host = minmin.minimize(make_problem(library, constants), method=method, tol=1e-6)
    monkeypatch.setattr(structure, "is_on_accelerator", lambda array: True)
    assert type(make_problem(library).prototype) is np.ndarray, "few variables"
    monkeypatch.setattr(structure, "_HOST_UP_TO", {"jax": 5, "others": 5})
    problem = make_problem(library, constants)
    assert type(problem.prototype) is type(problem.structure_x.prototype)
    r = minmin.minimize(problem, method=method, tol=1e-6)
    assert r.calls == host.calls
    assert np.allclose(np.asarray(r.x["a"]), np.asarray(host.x["a"]), atol=1e-12)
    assert type(r.x["a"]) is type(host.x["a"])
