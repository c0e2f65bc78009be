"""Gradients and Hessians are those of the values; a slice says the same as the whole."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.core.start import make_start
from reference import random_columns_glm, random_glm, random_quadratic, random_softmax

seeds = st.integers(0, 10**6)
KINDS = [
    "quadratic",
    "logistic",
    "squared",
    "poisson",
    "sparse",
    "columns",
    "softmax",
    "sum",
    "swapped-quadratic",
    "swapped-glm",
    "swapped-columns",
    "swapped-softmax",
    "swapped-sum",
]


def problem_of(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "quadratic":
        return random_quadratic(rng, 1e2)
    if kind == "sparse":
        return random_glm(rng, "logistic", sparse=True)
    if kind == "columns":
        return random_columns_glm(rng, ["logistic", "squared"][seed % 2], sparse=bool(seed % 3), free_x=True)
    if kind == "softmax":
        return random_softmax(rng, sparse=bool(seed % 2))
    if kind == "sum":
        d_x = 4
        terms = [minmin.problems.Quadratic.random(d_x=d_x, d_y=i + 1, coupling=1.0, seed=seed + i) for i in range(3)]
        return minmin.Sum(terms, [0.2, 0.5, 1.3])
    if kind.startswith("swapped"):
        inner = {"glm": "poisson"}.get(kind.removeprefix("swapped-"), kind.removeprefix("swapped-"))
        return problem_of(inner, seed).swapped()
    return random_glm(rng, kind)


def random_like(vector, rng):
    if isinstance(vector, minmin.Parts):
        return vector.map(lambda a: rng.standard_normal(a.shape))
    return rng.standard_normal(vector.shape)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_gradients_against_differences(kind, seed):
    problem = problem_of(kind, seed)
    rng = np.random.default_rng(seed)
    x0, y0 = make_start(problem)
    x, y, dx, dy = (0.3 * random_like(v, rng) for v in (x0, y0, x0, y0))
    here = problem.fix(x).at(y)
    h = 1e-5
    along_x = (problem.fix(x + h * dx).at(y).value - problem.fix(x - h * dx).at(y).value) / (2 * h)
    along_y = (problem.fix(x).at(y + h * dy).value - problem.fix(x).at(y - h * dy).value) / (2 * h)
    scale = 1 + abs(here.value)
    assert here.grad_x @ dx == pytest.approx(along_x, abs=1e-6 * scale, rel=1e-5)
    assert here.grad_y @ dy == pytest.approx(along_y, abs=1e-6 * scale, rel=1e-5)


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.endswith(("sum", "sparse"))])
@given(seed=seeds)
def test_y_hessian_against_differences(kind, seed):
    problem = problem_of(kind, seed)
    rng = np.random.default_rng(seed)
    x, y, dy = (0.3 * rng.standard_normal(d) for d in (problem.d_x, problem.d_y, problem.d_y))
    h = 1e-5
    change = (problem.fix(x).at(y + h * dy).grad_y - problem.fix(x).at(y - h * dy).grad_y) / (2 * h)
    assert np.allclose(problem.fix(x).at(y).hess_yy() @ dy, change, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["quadratic", "logistic", "squared", "sparse", "columns", "softmax"])
@given(seed=seeds)
def test_stated_constants_hold_between_any_two_points(kind, seed):
    """Assumptions 1.1 and 1.2, with the constants that the problem computes for itself."""
    problem = problem_of(kind, seed)
    if kind == "quadratic":
        problem = minmin.problems.Quadratic(problem.H, problem.b, problem.d_x)
    c = problem.constants
    assert c.source == "proved"
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1.0, 10.0):
        x1, x2 = scale * rng.standard_normal((2, problem.d_x))
        y1, y2 = scale * rng.standard_normal((2, problem.d_y))
        one, two = problem.fix(x1).at(y1), problem.fix(x2).at(y2)
        excess = two.value - one.value - one.grad_x @ (x2 - x1) - one.grad_y @ (y2 - y1)
        in_x, in_y = np.sum((x2 - x1) ** 2), np.sum((y2 - y1) ** 2)
        slack = 1e-12 * (abs(one.value) + abs(two.value) + c.L_x * in_x + c.L_y * in_y)
        assert excess <= c.L_x / 2 * in_x + c.L_y / 2 * in_y + slack
        assert excess >= c.mu_x / 2 * in_x + c.mu_y / 2 * in_y - slack


@given(seed=seeds, coupling=st.sampled_from([0.0, 0.3, 1.0]))
def test_random_quadratics_have_exactly_the_constants_asked_for(seed, coupling):
    rng = np.random.default_rng(seed)
    mu = 10 ** rng.uniform(-2, 1, size=2)
    L = mu * 10 ** rng.uniform(0, 6, size=2)
    d_x, d_y = rng.integers(1, 8, size=2).tolist()
    problem = minmin.problems.Quadratic.random(
        d_x=d_x, d_y=d_y, mu_x=mu[0], L_x=L[0], mu_y=mu[1], L_y=L[1], coupling=coupling, seed=seed
    )
    lower, upper = (np.diag(np.repeat(v, [d_x, d_y])) for v in (mu, L))
    root = np.diag(1 / np.sqrt(np.diag(upper)))
    assert np.linalg.eigvalsh(root @ (problem.H - lower) @ root)[0] >= -1e-15
    assert np.linalg.eigvalsh(root @ (upper - problem.H) @ root)[0] >= -1e-15
    assert np.any(problem.H[:d_x, d_x:]) == (coupling > 0)


def test_coupling_is_traded_and_not_doubled():
    """On a1a the blocks' norms are 1.567 and 0.0047: L_x stays near its norm, far from twice that."""
    X, labels = minmin.datasets.load_a1a()
    c = minmin.problems.GLM(X[:, :100], X[:, 100:], labels, alpha_x=0.01, alpha_y=1e-4).constants
    assert 1.567 <= c.L_x <= 1.15 * 1.577
    assert c.L_y <= 0.1


def test_large_designs_get_a_proved_bound_by_lanczos():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 1600)), rng.standard_normal((300, 5))
    c = minmin.problems.GLM(X, Y, np.sign(rng.standard_normal(300)), alpha_x=0.1, alpha_y=0.1).constants
    true_x = np.linalg.norm(X, 2) ** 2 / 1200
    joint = np.hstack([X / np.sqrt(c.L_x - 0.1), Y / np.sqrt(c.L_y - 0.1)])
    assert np.linalg.norm(joint, 2) ** 2 / 1200 <= 1.0
    assert c.L_x <= 2.0 * true_x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("scale", [1e6, -1e6])
def test_margins_of_a_million_are_harmless(loss, scale, dtype):
    X, Y = np.array([[1.0], [1.0]], dtype), np.array([[1.0], [-1.0]], dtype)
    problem = minmin.problems.GLM(X, Y, np.array([1, -1]), loss, alpha_x=0.0, alpha_y=0.0)
    e = problem.fix(np.array([scale], dtype)).at(np.array([0.0], dtype))
    expected = 1e6 / 2 if loss == "logistic" else 0.5 * (scale**2 + 1.0)
    assert e.value == pytest.approx(expected, rel=1e-5)
    assert np.all(np.isfinite(e.grad_x))
    assert np.all(np.isfinite(e.hess_yy()))


def test_a_huge_poisson_margin_overflows_without_a_warning_and_is_reported():
    problem = minmin.problems.GLM(np.eye(2), np.eye(2), [1, 2], "poisson", alpha_x=1.0, alpha_y=1.0)
    assert problem.fix(np.array([1e6, 0.0])).at(np.zeros(2)).value == np.inf
    assert np.isfinite(problem.fix(np.array([-1e6, 0.0])).at(np.zeros(2)).value)


def test_least_squares_has_the_curvature_of_its_data():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    problem = minmin.problems.GLM(X, Y, rng.standard_normal(50), "squared", alpha_x=0.0, alpha_y=0.0)
    c = problem.constants
    H = np.hstack([X, Y]).T @ np.hstack([X, Y]) / 50
    assert c.mu_x > 0.1
    assert np.linalg.eigvalsh(H - np.diag([c.mu_x] * 3 + [c.mu_y] * 2))[0] >= -1e-15
    assert minmin.minimize(problem).success


@pytest.mark.parametrize("scales", [(1e12, 1e-6), (1e-9, 1e9), (1.0, 1e-14)])
def test_blocks_of_different_scale_keep_their_constants(scales):
    base = minmin.problems.Quadratic.random(d_x=3, d_y=2, coupling=0.5, L_x=5.0, L_y=5.0)
    roots = np.sqrt(np.repeat(scales, [3, 2]))
    scaled = minmin.problems.Quadratic(base.H * roots * roots[:, None], base.b * roots, 3).constants
    plain = minmin.problems.Quadratic(base.H, base.b, 3).constants
    assert scaled.kappa_x == pytest.approx(plain.kappa_x, rel=1e-6)
    assert scaled.kappa_y == pytest.approx(plain.kappa_y, rel=1e-6)


@given(seed=seeds)
def test_proved_constants_hold_in_exact_arithmetic(seed):
    """diag(L) - H and H - diag(mu) have positive pivots, computed with fractions."""
    rng = np.random.default_rng(seed)
    d_x, d_y = rng.integers(1, 4, size=2).tolist()
    base = minmin.problems.Quadratic.random(d_x=d_x, d_y=d_y, L_y=50.0, coupling=1.0, seed=seed)
    c = minmin.problems.Quadratic(base.H, base.b, d_x).constants
    H = [[Fraction(h) for h in row] for row in base.H.tolist()]
    for sign, in_x, in_y in ((-1, c.L_x, c.L_y), (1, c.mu_x, c.mu_y)):
        D = [Fraction(in_x)] * d_x + [Fraction(in_y)] * d_y
        A = [[sign * (H[i][j] - (D[i] if i == j else 0)) for j in range(len(D))] for i in range(len(D))]
        for k in range(len(D)):
            assert A[k][k] >= 0
            for i in range(k + 1, len(D)):
                factor = A[i][k] / A[k][k]
                A[i] = [a - factor * b for a, b in zip(A[i], A[k], strict=True)]


def test_weights_and_label_conventions_mean_what_they_say():
    rng = np.random.default_rng(1)
    X, Y, labels = rng.standard_normal((6, 2)), rng.standard_normal((6, 2)), np.array([1, -1, 1, 1, -1, -1.0])
    weight = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])
    repeated = np.repeat(np.arange(6), weight.astype(int))
    x, y = rng.standard_normal(2), rng.standard_normal(2)
    penalties = {"alpha_x": 0.1, "alpha_y": 0.2}
    weighted = minmin.problems.GLM(X, Y, labels, sample_weight=1e300 * weight, **penalties).fix(x).at(y)
    plain = minmin.problems.GLM(X[repeated], Y[repeated], (labels[repeated] + 1) / 2, **penalties).fix(x).at(y)
    assert weighted.value == pytest.approx(plain.value, rel=1e-12)
    assert np.allclose(weighted.grad_x, plain.grad_x, rtol=1e-12)
