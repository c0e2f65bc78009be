"""Callables over nested dicts, lists and tuples of arrays of any shape: they come back as they went in."""

from collections import OrderedDict, defaultdict, namedtuple

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import minmin
from minmin.core.structure import make_structures
from minmin.problems import Function

Point = namedtuple("Point", "a b")
leaves = st.one_of(
    st.floats(-10, 10),
    arrays(
        st.sampled_from([np.float32, np.float64]),
        array_shapes(max_dims=3, max_side=3),
        elements=st.floats(-8, 8, width=16),
    ),
    st.none(),
)
trees = st.recursive(
    leaves,
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.tuples(children, children).map(lambda pair: Point(*pair)),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), children, max_size=3),
    ),
)


@given(trees)
def test_any_tree_comes_back(tree):
    structure, _ = make_structures([1.0, tree], 1.0)
    back = structure.unflatten(structure.flatten([1.0, tree], "x0", structure.start))[1]
    assert_equal(tree, back)


def assert_equal(tree, back):
    assert type(tree) is type(back)
    if isinstance(tree, dict):
        assert list(tree) == list(back)
        tree, back = list(tree.values()), list(back.values())
    if isinstance(tree, list | tuple):
        assert len(tree) == len(back)
        for one, other in zip(tree, back, strict=True):
            assert_equal(one, other)
    elif isinstance(tree, np.ndarray):
        assert tree.dtype == back.dtype
        assert np.array_equal(tree.astype(np.float32), back.astype(np.float32))
    elif tree is not None:
        assert tree == pytest.approx(back, rel=1e-6)


def test_other_mappings_keep_their_type():
    x0 = OrderedDict(b=np.ones(2), a=defaultdict(list, c=1.0))
    structure, _ = make_structures(x0, 1.0)
    back = structure.unflatten(structure.start)
    assert type(back) is OrderedDict
    assert list(back) == ["b", "a"]
    assert back["a"].default_factory is list


W, B, TARGET = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])


def value(x, y):
    return 0.5 * np.sum((W @ x["w"] - TARGET) ** 2) + 0.5 * np.sum((x["w"].T @ B - y[0]) ** 2) + 0.5 * y[1] ** 2 - y[1]


def grad_x(x, y):
    return {"w": W @ (W @ x["w"] - TARGET) + np.outer(B, x["w"].T @ B - y[0])}


def grad_y(x, y):
    return [y[0] - x["w"].T @ B, y[1] - 1.0]


START = {"w": np.zeros((2, 3))}, [np.zeros(3), 0.0]


def minimum():
    return np.linalg.solve(W, TARGET)


def test_a_function_of_nested_arrays():
    problem = Function(value, grad_x, grad_y, x0=START[0], y0=START[1])
    assert minmin.check(problem).ok
    r = minmin.minimize(problem, tol=1e-12)
    assert r.success
    assert np.allclose(r.x["w"], minimum(), atol=1e-5)
    assert np.allclose(r.y[0], minimum().T @ B, atol=1e-5)
    assert r.y[1] == pytest.approx(1.0)
    assert type(r.y[1]) is float
    assert np.array_equal(START[0]["w"], np.zeros((2, 3)))


def test_minimize_takes_nested_arrays_and_matrices():
    by_object = minmin.minimize(Function(value, grad_x, grad_y, x0=START[0], y0=START[1]), tol=1e-8)
    by_call = minmin.minimize(value, *START, grad_x=grad_x, grad_y=grad_y, tol=1e-8)
    assert by_call.calls == by_object.calls
    assert np.array_equal(by_call.x["w"], by_object.x["w"])
    r = minmin.minimize(
        lambda x, y: np.sum((W @ x - TARGET) ** 2) + (y - 2.0) ** 2,
        np.zeros((2, 3)),
        0.0,
        grad_x=lambda x, y: 2.0 * W @ (W @ x - TARGET),
        grad_y=lambda x, y: 2.0 * (y - 2.0),
        tol=1e-10,
    )
    assert np.allclose(r.x, minimum(), atol=1e-4)
    assert r.y == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (np.zeros((2, 3)), r"grad_x\(x, y\) is an ndarray; give a dict with the keys 'w'"),
        ({"v": 0.0}, r"grad_x\(x, y\) has no 'w'"),
        ({"w": np.zeros(6)}, r"grad_x\(x, y\)\['w'\] has shape \(6,\); it must have \(2, 3\)"),
        ({"w": "text"}, r"grad_x\(x, y\)\['w'\] holds <U4 values"),
        ({"w": np.full((2, 3), np.nan)}, r"grad_x\(x, y\) returned nan at x\['w'\]\[0, 0\]"),
    ],
)
def test_a_gradient_of_another_structure_is_named_with_its_place(returned, words):
    with pytest.raises(minmin.MinMinError, match=words):
        minmin.minimize(Function(value, lambda x, y: returned, grad_y, x0=START[0], y0=START[1]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x0": START[0]}, "give y0, too: an example of y"),
        ({"d_x": 6, "x0": START[0], "y0": START[1]}, "leave d_x and d_y out"),
        ({"d_x": 6}, "d_y = None must be a whole number"),
    ],
)
def test_examples_replace_lengths(given, words):
    with pytest.raises(minmin.InputError, match=words):
        Function(value, grad_x, grad_y, **given)


def test_callables_of_another_library_work_on_cheap_vectors(monkeypatch):
    """The callables get arrays of the start's library; the method sees NumPy's."""
    xp, seen, vectors = array_api_strict, [], []
    init = minmin.methods.ReducedLbfgs.init

    def remember(self, problem, x, y):
        vectors.extend([type(x), type(y)])
        return init(self, problem, x, y)

    monkeypatch.setattr(minmin.methods.ReducedLbfgs, "init", remember)

    def gradient(x, y):
        seen.append(type(x))
        return 2.0 * (x - 1.0)

    problem = Function(None, gradient, lambda x, y: 2.0 * y, d_x=3, d_y=2)
    r = minmin.minimize(problem, xp.zeros(3), xp.ones(2))
    assert set(seen) == {type(xp.zeros(1))}
    assert type(r.x) is type(xp.zeros(1))
    assert set(vectors) == {np.ndarray}
