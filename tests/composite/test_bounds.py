"""Bounds on variables: the answers are SciPy's, with fewer calls of the expensive gradient."""

import numpy as np
import pytest
import scipy.optimize

import minmin
from composite.cases import draw_case
from composite.independent import find_minima
from minmin.problems import Composite, Quadratic
from minmin.terms import Box


@pytest.fixture(scope="module")
def solved():
    """The minima of 50 problems with boxes in x and y, each with SciPy's answers and L-BFGS-B's count of gradients."""
    rng = np.random.default_rng(0)
    cases = [draw_case(rng, ("Box", "Box"), logistic=i % 3 == 0, condition=300.0) for i in range(50)]
    rows = []
    for minimum in find_minima(cases):
        first, count = solve_by_scipy(minimum, "L-BFGS-B", ftol=0, gtol=1e-14)
        second, _ = solve_by_scipy(minimum, "TNC", ftol=0, xtol=0, gtol=1e-14, maxfun=1000)
        rows.append((minimum, (first, second), count))
    return rows


def to_pairs(piece):
    """The bounds of a block as SciPy's pairs."""
    free = np.isinf([piece.lower, piece.upper]).T
    pairs = zip(piece.lower.tolist(), piece.upper.tolist(), free, strict=True)
    return [(None if no_low else low, None if no_high else high) for low, high, (no_low, no_high) in pairs]


def solve_by_scipy(minimum, method, **options):
    """The answer of SciPy on (x, y) jointly, and how many gradients it took to come within 1e-10 of the minimum."""
    case = minimum.case
    d, f, gaps = case.x.size, case.f(), []

    def value(z):
        return f.evaluate(z[:d], z[d:]).value

    def gradient(z):
        gaps.append(minimum.gap(z[:d], z[d:]))
        evaluation = f.evaluate(z[:d], z[d:])
        return np.concatenate([evaluation.grad_x, evaluation.grad_y])

    bounds = [*to_pairs(case.x), *to_pairs(case.y)]
    found = scipy.optimize.minimize(
        value, np.zeros(d + case.y.size), jac=gradient, method=method, bounds=bounds, options=options
    )
    return found.x, 1 + int(np.argmax(np.array(gaps) <= 1e-10 * minimum.size))


def as_callables(f):
    return {
        "problem": lambda x, y: f.evaluate(x, y).value,
        "grad_x": lambda x, y: f.evaluate(x, y).grad_x,
        "grad_y": lambda x, y: f.evaluate(x, y).grad_y,
        "x0": np.zeros(f.d_x),
        "y0": np.zeros(f.d_y),
    }


@pytest.mark.parametrize("bare", [False, True], ids=["with constants", "bare callables"])
def test_the_answers_are_those_of_scipy_with_fewer_calls_of_grad_x(solved, bare):
    """Points to 1e-8 of the true one; SciPy's own are accurate to about 1e-7, since its searches compare values.

    It takes fewer calls of ∇ₓ until a bound, or its estimate, is within 1e-10 than gradients until L-BFGS-B is in truth
    that close.
    """
    calls = []
    for minimum, answers, _ in solved:
        case = minimum.case
        arguments = as_callables(case.f()) if bare else {"problem": case.f()}
        bounds = {"bounds_x": to_pairs(case.x), "bounds_y": to_pairs(case.y)}
        r = minmin.minimize(**arguments, **bounds, tol=1e-17 * minimum.size)
        assert r.success, r
        assert r.certified is not bare
        ours, true = np.concatenate([r.x, r.y]), np.concatenate([minimum.x, minimum.y])
        size = np.abs(true).max()
        assert np.abs(ours - true).max() <= 1e-8 * size
        assert np.all(r.x >= case.x.lower)
        assert np.all(r.y <= case.y.upper)
        for theirs in answers:
            assert abs(minimum.gap(r.x, r.y) - minimum.gap(*np.split(theirs, [case.x.size]))) <= 1e-12 * minimum.size
            assert np.abs(ours - theirs).max() <= 1e-6 * size
        calls.append(r.history.grad_x[np.argmax(r.history.gap_bound <= 1e-10 * minimum.size)])
    assert np.median(calls) < np.median([count for _, _, count in solved])


FORMS = {
    "one pair": ((-0.1, 0.2), (None, 0.05)),
    "a pair per variable": ([(-0.1, 0.2)] * 5, [(None, 0.05)] * 3),
    "an array": (np.array([[-0.1, 0.2]] * 5), np.array([[-np.inf, 0.05]] * 3)),
    "Bounds": (scipy.optimize.Bounds(-0.1, 0.2), scipy.optimize.Bounds(ub=0.05)),
    "Bounds with arrays": (
        scipy.optimize.Bounds([-0.1] * 5, np.full(5, 0.2)),
        scipy.optimize.Bounds([-np.inf] * 3, [0.05] * 3),
    ),
    "Bounds with one number in a list": (scipy.optimize.Bounds([-0.1], 0.2), scipy.optimize.Bounds(-np.inf, [0.05])),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_bounds_is_the_same_box(form):
    problem = Quadratic.random(d_x=5, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0)
    bounds_x, bounds_y = FORMS[form]
    r = minmin.minimize(problem, bounds_x=bounds_x, bounds_y=bounds_y, tol=1e-10)
    same = minmin.minimize(Composite(problem, Box(-0.1, 0.2), Box(None, 0.05)), tol=1e-10)
    assert r.success
    assert np.array_equal(r.x, same.x)
    assert np.array_equal(r.y, same.y)
    assert r.calls == same.calls


NESTED = {
    "pairs": {"a": (0.0, 0.5), "b": [None, (None, 0.2)]},
    "Bounds": {"a": scipy.optimize.Bounds(0.0, np.full((2, 2), 0.5)), "b": [None, scipy.optimize.Bounds(ub=[0.2])]},
    "a pair per entry": {"a": [(0.0, 0.5)] * 4, "b": [(None, None), [(None, 0.2)] * 3]},
    "one pair per variable": [(0.0, 0.5)] * 4 + [None] + [(None, 0.2)] * 3,
}


def nested_function():
    """A quadratic of x = {"a": a matrix, "b": [a number, a vector]}, with its minimum at one."""
    arrays = {"a": np.zeros((2, 2)), "b": [np.zeros(()), np.zeros(3)]}
    return minmin.problems.Function(
        lambda x, y: np.sum((x["a"] - 1) ** 2) + sum(np.sum((b - 1) ** 2) for b in x["b"]) + (y[0][0] - 1.0) ** 2,
        lambda x, y: {"a": 2 * (x["a"] - 1), "b": [2 * (b - 1) for b in x["b"]]},
        lambda x, y: [2 * (y[0] - 1)],
        x0=arrays,
        y0=[np.zeros(1)],
    )


@pytest.mark.parametrize("form", NESTED)
def test_bounds_may_have_the_structure_of_x(form):
    r = minmin.minimize(nested_function(), bounds_x=NESTED[form], bounds_y=[(None, 0.3)], tol=1e-12)
    assert np.allclose(r.x["a"], 0.5)
    assert np.allclose(r.x["b"][0], 1.0)
    assert np.allclose(r.x["b"][1], 0.2)
    assert np.allclose(r.y[0], 0.3)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"a": (0, 1)}, r"bounds_x is a dict of 1; give a dict with the keys 'a', 'b'"),
        ({"a": (1, 0), "b": [None, None]}, r"bounds_x\['a'\]: lower = 1 is above upper = 0"),
        ({"a": [(0, 1)] * 3, "b": [None, None]}, r"bounds_x\['a'\]: lower has 3 numbers, but the block has 4"),
        ({"a": None, "b": [None, "(0, 1)"]}, r"bounds_x\['b'\]\[1\]: '\(0, 1\)' are no bounds"),
    ],
)
def test_wrong_bounds_of_nested_arrays_are_named_with_their_place(bounds, words):
    with pytest.raises(minmin.InputError, match=words):
        minmin.minimize(nested_function(), bounds_x=bounds)


def test_a_dict_of_bounds_is_for_nested_arrays_alone():
    problem = Quadratic.random(d_x=2, d_y=2)
    with pytest.raises(minmin.InputError, match=r"bounds_x: \{'a': \(0, 1\), 'b': None\} are no bounds"):
        minmin.minimize(problem, bounds_x={"a": (0, 1), "b": None})


def test_one_block_or_a_few_variables_may_be_free():
    problem = Quadratic.random(d_x=4, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0)
    free = minmin.minimize(problem, tol=1e-10)
    same = minmin.minimize(problem, bounds_x=[None] * 4, bounds_y=(None, None), tol=1e-10)
    assert same.fun == pytest.approx(free.fun, abs=1e-9)
    for bounds in ({"bounds_x": [(0, 0), None, (None, None), (-1, None)]}, {"bounds_y": [None, (0, 0), (None, 0)]}):
        r = minmin.minimize(problem, tol=1e-10, **bounds)
        assert r.success
        assert r.fun >= free.fun
        (block,) = (r.x,) if "bounds_x" in bounds else (r.y[1:],)
        assert block[0] == 0.0


def test_f_is_called_within_the_bounds_alone_by_reduced_lbfgs():
    """f may be undefined elsewhere, as this one is at negative numbers."""

    def check(v):
        assert np.all(v >= 1e-3), "outside of the bounds"
        assert np.all(v <= 2.0), "outside of the bounds"

    def value(x, y):
        check(x), check(y)
        return np.sum(x * np.log(x)) + np.sum(y * np.log(y)) + 0.2 * np.sum(x) * np.sum(y)

    def gradient(v, other):
        check(v), check(other)
        return np.log(v) + 1 + 0.2 * np.sum(other)

    r = minmin.minimize(
        value,
        np.ones(3),
        np.ones(2),
        grad_x=gradient,
        grad_y=lambda x, y: gradient(y, x),
        bounds_x=(1e-3, 2.0),
        bounds_y=(1e-3, 2.0),
        tol=1e-10,
    )
    assert r.success
    residual_x, residual_y = (np.clip(v - gradient(v, w), 1e-3, 2.0) - v for v, w in ((r.x, r.y), (r.y, r.x)))
    assert np.abs(residual_x).max() + np.abs(residual_y).max() < 1e-5


def test_without_a_penalty_one_sided_bounds_prove_nothing_so_the_bound_is_an_estimate():
    X, labels = minmin.datasets.load_a1a()
    model = minmin.problems.GLM(X[:200, :10], X[:200, 100:103], labels[:200], alpha_x=0.0, alpha_y=0.01)
    proved = minmin.minimize(model, bounds_x=(0, 100))
    assert proved.success
    assert proved.certified
    for method in ("reduced-newton", "reduced-lbfgs"):
        ended = minmin.minimize(model, bounds_x=(0, None), method=method)
        assert ended.success
        assert not ended.certified
        assert abs(ended.fun - proved.fun) <= 2e-6
    assert minmin.minimize(model, bounds_x=(0, None), tol=1e-30).status == "stalled"  # not less than rounding
    assert ended.fun == pytest.approx(proved.fun, abs=1e-6)
