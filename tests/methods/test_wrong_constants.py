"""A run that sees a wrong constant names it, with the value it saw."""

import re

import numpy as np
import pytest

import minmin
from minmin.core.bound import Constants
from minmin.problems import Quadratic
from reference import VARIANTS

TRUE = {"L_x": 50.0, "L_y": 500.0, "mu_x": 0.1, "mu_y": 0.1}


def with_constants(coupling=0.0, seed=0, **wrong):
    right = Quadratic.random(coupling=coupling, seed=seed)
    return Quadratic(right.H, right.b, right.d_x, Constants(**{**TRUE, **wrong}))


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if not v.startswith(("reduced", "cutting")) and not v.endswith("adaptive")]
)
@pytest.mark.parametrize(("name", "value"), [("L_x", 5.0), ("L_y", 10.0), ("mu_x", 3.0), ("mu_y", 30.0)])
@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_the_wrong_constant_is_named_with_the_value_seen(variant, name, value, coupling):
    method, options = VARIANTS[variant]
    with pytest.raises(minmin.ConstantsError) as caught:
        minmin.minimize(with_constants(coupling, **{name: value}), method=method, tol=1e-6, **options)
    if coupling == 0.0 and "lower bound" not in str(caught.value):
        assert str(caught.value).startswith(f"{name} = {value:g} does not hold: ")
        seen = float(re.search(r"curvature (\S+) in", str(caught.value)).group(1))
        assert seen > value if name.startswith("L") else seen < value
    assert f"{name} = {value:g}" in str(caught.value)
    assert np.isfinite(caught.value.result.fun)


@pytest.mark.parametrize(("name", "value"), [("L_x", 5.0), ("L_y", 10.0), ("mu_x", 3.0), ("mu_y", 30.0)])
def test_the_reduced_method_names_it_too(name, value):
    """It needs no constants, and sees less of them: here x and y do not interact."""
    with pytest.raises(minmin.ConstantsError, match=f"{name} = {value:g} does not hold"):
        minmin.minimize(with_constants(**{name: value}), method="reduced-lbfgs", tol=1e-6)


def test_a_broken_certificate_is_seen_even_where_no_secant_shows_it():
    """The gradients of another function: no curvature is wrong, yet f falls below its proved minimum."""
    lie = minmin.problems.Function(
        lambda x, y: float(2.0 * (x @ x + y @ y)),
        lambda x, y: x,
        lambda x, y: y,
        d_x=3,
        d_y=2,
        constants=Constants(L_x=4.0, L_y=4.0, mu_x=1.0, mu_y=1.0),
    )
    with pytest.raises(minmin.ConstantsError, match="lower bound"):
        minmin.minimize(lie, np.ones(3), np.ones(2), method="nag", tol=1e-9)


def test_a_gradient_of_another_function_is_seen_when_the_start_was_better_than_the_proved_minimum():
    wrong = minmin.problems.Function(
        lambda x, y: float(0.5 * (x @ x + y @ y)),
        lambda x, y: x - 5.0,
        lambda x, y: y,
        d_x=3,
        d_y=2,
        constants=Constants(L_x=2.0, L_y=2.0, mu_x=1.0, mu_y=1.0),
    )
    with pytest.raises(minmin.ConstantsError, match="the gradients belong to f"):
        minmin.minimize(wrong)


@pytest.mark.slow
def test_right_constants_are_never_doubted():
    rng = np.random.default_rng(0)
    for seed in range(12):
        kappa = 10 ** rng.uniform(0, 6, size=2)
        problem = Quadratic.random(
            d_x=5, d_y=5, mu_x=1 / kappa[0], L_x=1, mu_y=1 / kappa[1], L_y=1, coupling=1, seed=seed
        )
        minmin.minimize(problem, method="bam", tol=1e-25, max_grad_x=3000)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if "newton" not in v])
@pytest.mark.parametrize("lie", ["another gradient", "values all alike", "values ten times too large"])
def test_a_value_at_the_start_refutes_a_certificate(variant, lie):
    """f at the start counts, too, although no bound is proved there: no lie of this kind is certified by any method."""

    def value(x, y):
        f = 0.5 * float(x @ x + y @ y)
        return {"another gradient": f, "values all alike": 1.0, "values ten times too large": 10.0 * f}[lie]

    shift = 3.0 if lie == "another gradient" else 0.0
    start = (np.zeros(2), np.zeros(1)) if shift else (np.array([2.2, -1.3]), np.array([0.3]))
    problem = minmin.problems.Function(
        value, lambda x, y: x - shift, lambda x, y: y, d_x=2, d_y=1, constants=Constants(1.0, 1.0, 1.0, 1.0)
    )
    method, options = VARIANTS[variant]
    try:
        r = minmin.minimize(problem, *start, method=method, tol=1e-6, **options)
    except minmin.ConstantsError as error:
        r = error.result
    assert not (r.success and r.certified)
    assert r.certified or r.bound.basis == "estimate"


@pytest.mark.parametrize("method", ["reduced-lbfgs", "cutting-plane"])
@pytest.mark.parametrize("in_y", [False, True])
def test_a_value_at_the_start_refutes_a_certificate_by_mu_alone(method, in_y):
    shift = np.array([0.0, 3.0]) if in_y else np.array([3.0, 0.0])
    problem = minmin.problems.Function(
        lambda x, y: 0.5 * float(x @ x + y @ y),
        lambda x, y: x - shift[0],
        lambda x, y: y - shift[1],
        d_x=2,
        d_y=1,
        constants=Constants(np.inf, np.inf, 1.0, 1.0),
    )
    with pytest.raises(minmin.ConstantsError, match=r"mu_x = 1 and mu_y = 1 .*a constant or a gradient may be wrong"):
        minmin.minimize(problem, np.ones(2), np.ones(1), method=method, tol=1e-6)


def test_the_result_in_an_error_about_constants_has_no_bound():
    with pytest.raises(minmin.ConstantsError) as caught:
        minmin.minimize(with_constants(mu_x=3.0), method="nag", tol=1e-6)
    assert np.isinf(caught.value.result.gap_bound)
    assert not caught.value.result.certified
