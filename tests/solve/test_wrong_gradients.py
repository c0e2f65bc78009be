"""A wrong gradient: however the run ends, its message names minmin.check(), and a right one is not suspected."""

import numpy as np
import pytest

import minmin
from minmin.problems import Function
from reference import as_function

REMEDY = "a gradient may be wrong: check the gradients with minmin.check(problem)"
QUADRATIC = minmin.problems.Quadratic.random(d_x=6, d_y=4, coupling=1.0)


def poisson():
    """Its values and gradients overflow where a run goes the wrong way."""
    rng = np.random.default_rng(1)
    X, Y, counts = rng.standard_normal((20, 6)), rng.standard_normal((20, 4)), rng.poisson(1.0, 20)

    def value(x, y):
        margins = X @ x + Y @ y
        return np.mean(np.exp(margins) - counts * margins) + 0.05 * (x @ x + y @ y)

    return Function(
        value,
        lambda x, y: X.T @ (np.exp(X @ x + Y @ y) - counts) / 20 + 0.1 * x,
        lambda x, y: Y.T @ (np.exp(X @ x + Y @ y) - counts) / 20 + 0.1 * y,
        d_x=6,
        d_y=4,
        constants=minmin.Constants(20.0, 20.0, 0.1, 0.1),
    )


PROBLEMS = {"quadratic": as_function(QUADRATIC), "poisson": poisson()}
WRONG = {
    "∇ₓ with the other sign": lambda f: {"grad_x": lambda x, y: -f.grad_x(x, y)},
    "∇ᵧ with the other sign": lambda f: {"grad_y": lambda x, y: -f.grad_y(x, y)},
    "both with the other sign": lambda f: {
        "grad_x": lambda x, y: -f.grad_x(x, y),
        "grad_y": lambda x, y: -f.grad_y(x, y),
    },
    "∇ₓ in another order": lambda f: {"grad_x": lambda x, y: f.grad_x(x, y)[::-1]},
    "∇ₓ constant": lambda f: {"grad_x": lambda x, y: np.ones(6)},
}
WRONG_TERMS = {
    "∇ₓ with a term too many": lambda f: {"grad_x": lambda x, y: f.grad_x(x, y) + 1.0},
    "∇ₓ without the coupling": lambda f: {"grad_x": lambda x, y: f.grad_x(x, 0.0 * y)},
    "∇ᵧ without the coupling": lambda f: {"grad_y": lambda x, y: f.grad_y(0.0 * x, y)},
}


def replace(f, changes, *, value, constants):
    callables = {"value": f.value if value else None, "grad_x": f.grad_x, "grad_y": f.grad_y} | changes
    return Function(**callables, d_x=6, d_y=4, constants=f.constants if constants else None)


def message_of(problem, method="auto"):
    """How a run ended, in words."""
    try:
        return minmin.minimize(problem, method=method).message
    except minmin.MinMinError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("value", [True, False], ids=["values", "no values"])
@pytest.mark.parametrize("constants", [True, False], ids=["constants", "no constants"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_run_with_a_wrong_gradient_names_the_remedy(kind, wrong, constants, value):
    f = PROBLEMS[kind]
    problem = replace(f, WRONG[wrong](f), value=value, constants=constants)
    assert REMEDY in message_of(problem)
    if constants:
        assert REMEDY in message_of(problem, "acdm")


VISIBLE = [(kind, wrong) for kind in PROBLEMS for wrong in WRONG_TERMS]
VISIBLE.remove(("poisson", "∇ᵧ without the coupling"))  # y then stays where it is, and f(·, y) is minimised correctly


@pytest.mark.parametrize(("kind", "wrong"), VISIBLE)
def test_a_run_that_ends_where_f_is_not_lowest_has_not_converged(kind, wrong):
    f = PROBLEMS[kind]
    r = minmin.minimize(replace(f, WRONG_TERMS[wrong](f), value=True, constants=False))
    assert r.status == "stalled"
    assert REMEDY in r.message


def test_a_value_that_is_not_finite_at_the_start_is_no_fault_of_a_gradient():
    problem = replace(PROBLEMS["quadratic"], {"value": lambda x, y: np.inf}, value=True, constants=False)
    with pytest.raises(minmin.NonFiniteError, match=r"after 0 iterations; is f defined at the start") as caught:
        minmin.minimize(problem)
    assert REMEDY not in str(caught.value)


@pytest.mark.parametrize("tol", [1e-6, 1e-30])
@pytest.mark.parametrize("method", ["auto", "bam", "nag", "acdm"])
def test_right_gradients_are_not_suspected_where_constants_are_known(method, tol):
    assert "gradient" not in minmin.minimize(PROBLEMS["quadratic"], method=method, tol=tol).message


@pytest.mark.parametrize("kind", PROBLEMS)
def test_right_gradients_are_not_suspected_without_constants(kind):
    r = minmin.minimize(replace(PROBLEMS[kind], {}, value=True, constants=False))
    assert r.success
    assert "gradient" not in r.message
