"""What a function of JAX or PyTorch may do wrong, and what the user is told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import minmin
from autodiff.functions import LIBRARIES
from minmin.problems import from_jax, from_torch


def square(x, y):
    return (x**2).sum() + (y**2).sum()


def branching(x, y):
    return square(x, y) if x[0] > 0 else 2.0 * square(x, y)


def assigning(x, y):
    x[0] = 1.0
    return square(x, y)


WRONG_FUNCTIONS = {
    "no number": (lambda x, y: x + y, r"fun\(x, y\) returned shape \(2,\); it must return one number"),
    "only y": (lambda x, y: (y**2).sum(), r"fun\(x, y\) does not depend on x; both blocks must change it"),
    "only x": (lambda x, y: (x**2).sum(), r"fun\(x, y\) does not depend on y"),
    "several": (lambda x, y: (square(x, y), 1.0), r"fun\(x, y\) returned a tuple; it must return"),
    "an error": (lambda x, y: x @ y[:1], r"fun\(x, y\) raised \w+Error: "),
    "a function of one block": (lambda x: (x**2).sum(), r"fun\(x, y\) raised TypeError: .*positional argument"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", WRONG_FUNCTIONS)
def test_a_wrong_function_is_named_before_any_work(library, case):
    fun, words = WRONG_FUNCTIONS[case]
    start = LIBRARIES[library].asarray(np.ones(2), "float64")
    with pytest.raises(minmin.MinMinError, match=words):
        LIBRARIES[library].make(fun, start, start)


WRONG_STARTS = {
    "integers": (np.ones(2, int), r"x0 has dtype int64; give float32 or float64"),
    "complex": (np.ones(2, complex), r"x0 has dtype complex128; give float32 or float64"),
    "half": ({"a": [np.ones(2, np.float16)]}, r"x0\['a'\]\[0\] has dtype float16; give float32 or float64"),
    "an integer": ({"a": 1}, r"x0\['a'\] is 1, not a floating-point number; give 1.0"),
    "text": ({"a": "b"}, r"x0\['a'\] is a str; give arrays and numbers in nested dicts"),
    "nothing": ({"a": None}, r"x0 holds no variables"),
    "empty": (np.ones((0, 3)), r"x0 holds no variables"),
    "NaN": ({"a": np.array([[1.0, np.nan]])}, r"x0\['a'\] holds nan at index \(0, 1\)"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", WRONG_STARTS)
def test_a_wrong_start_is_named_with_its_place(library, case):
    x0, words = WRONG_STARTS[case]
    with pytest.raises(minmin.InputError, match=words):
        LIBRARIES[library].make(square, x0, np.ones(2))


def test_wrong_callables_are_named():
    with pytest.raises(minmin.InputError, match=r"fun must be callable, got 3"):
        from_jax(3, np.ones(2), np.ones(2))
    with pytest.raises(minmin.InputError, match=r"prepare must be callable, got 'A'"):
        from_torch(square, np.ones(2), np.ones(2), prepare="A")
    with pytest.raises(minmin.InputError, match=r"constants must be a minmin.Constants"):
        from_torch(square, np.ones(2), np.ones(2), constants=1.0)


@pytest.mark.parametrize(
    "fun", [branching, lambda x, y: jnp.asarray(np.square(x)).sum() + y.sum(), lambda x, y: float(x[0]) + y[0]]
)
def test_what_jax_cannot_trace_is_explained(fun):
    with pytest.raises(minmin.UserCodeError, match=r"JAX cannot trace fun\(x, y\): .*jnp.where, jax.lax.cond"):
        from_jax(fun, jnp.ones(2), jnp.ones(2))


def test_a_function_that_changes_its_arguments_is_refused():
    with pytest.raises(minmin.UserCodeError, match=r"fun\(x, y\) raised TypeError: .*immutable"):
        from_jax(assigning, jnp.ones(2), jnp.ones(2))
    with pytest.raises(minmin.UserCodeError, match=r"in-place operation"):
        from_torch(assigning, torch.ones(2), torch.ones(2))

    def later(prepared, y):
        with torch.no_grad():
            prepared.add_(1.0)
        return square(prepared, y)

    with pytest.raises(
        minmin.UserCodeError, match=r"fun\(prepare\(x\), y\) changes its arguments in place; let it compute"
    ):
        from_torch(later, torch.ones(2), torch.ones(2), prepare=lambda x: 2.0 * x)


def test_a_function_that_changes_containers_does_no_harm():
    def fun(x, y):
        return (x.pop("a") ** 2).sum() + (y.pop() ** 2).sum()

    x0, y0 = {"a": torch.ones(2)}, [torch.ones(2)]
    assert minmin.minimize(from_torch(fun, x0, y0), tol=1e-4).success
    assert list(x0) == ["a"]
    assert len(y0) == 1


@pytest.mark.parametrize(
    "fun",
    [
        lambda x, y: torch.tensor(square(x, y).item()),
        lambda x, y: square(x.detach(), y.detach()),
    ],
)
def test_a_tensor_without_a_graph_is_explained(fun):
    with pytest.raises(minmin.InputError, match=r"returned a tensor without a graph.*leave out .item\(\), .detach\(\)"):
        from_torch(fun, torch.ones(2), torch.ones(2))


@pytest.mark.parametrize("fun", [lambda x, y: square(x, y) * 1j, lambda x, y: square(x, y) > 0])
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_no_real_number_is_refused(library, fun):
    start = LIBRARIES[library].asarray(np.ones(2), "float64")
    with pytest.raises(minmin.InputError, match=r"it must return one real floating-point number"):
        LIBRARIES[library].make(fun, start, start)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_nan_in_a_gradient_is_named_with_its_place(library):
    xp, start = LIBRARIES[library].xp, LIBRARIES[library].asarray(np.zeros((1, 2)), "float64")

    def fun(x, y):
        return xp.sum(xp.sqrt(x["w"]) ** 3) + xp.sum(xp.sqrt(xp.abs(y) + 1.0)) + xp.sum(x["w"]) * xp.sum(y)

    with pytest.raises(minmin.NonFiniteError, match=r"grad_x\(x, y\) returned nan at x\['w'\]\[0, 0\]"):
        minmin.minimize(LIBRARIES[library].make(fun, {"w": start}, start))


def test_float64_that_jax_has_switched_off_is_named():
    problem = from_jax(square, np.ones(2), np.ones(2))
    jax.config.update("jax_enable_x64", False)
    try:
        for action in (lambda: from_jax(square, np.ones(2), np.ones(2)), lambda: minmin.minimize(problem)):
            with pytest.raises(minmin.InputError, match=r'are float64, which JAX has switched off; .*"jax_enable_x64"'):
                action()
        r = minmin.minimize(from_jax(square, jnp.ones(2), jnp.ones(2)), tol=1e-4)
        assert r.x.dtype == "float32"
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize(("make", "package"), [(from_jax, "jax"), (from_torch, "torch")])
def test_a_missing_library_names_the_extra(make, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(minmin.UnsupportedError, match=rf"needs {package}; .*\[{package}\]"):
        make(square, np.ones(2), np.ones(2))


@pytest.mark.parametrize("library", LIBRARIES)
def test_messages_call_such_a_problem_what_users_call_it(library):
    start = LIBRARIES[library].asarray(np.ones(2), "float64")
    problem = LIBRARIES[library].make(square, start, start)
    with pytest.raises(minmin.InputError, match=r"belongs to the problem, here a function of JAX or PyTorch$"):
        minmin.minimize(problem, grad_x=square)
    assert minmin.problems.Composite(problem, minmin.terms.L1(1.0)).kind == "a function of JAX or PyTorch"
