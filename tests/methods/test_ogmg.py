"""OGM-G's exact bound, that it is attained, and the bound of NAG + OGM-G."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.extend import nag_ogm_g, ogm_g
from minmin.lab.ogmg import ogm_g_weights


def huber(threshold):
    """Value and gradient of a 1-smooth function that is quadratic near 0 and linear far away."""

    def value(x):
        r = np.linalg.norm(x)
        return 0.5 * r * r if r <= threshold else threshold * r - 0.5 * threshold**2

    def gradient(x):
        return x * (threshold / max(threshold, np.linalg.norm(x)))

    return value, gradient


def random_smooth(seed):
    """A convex, 1-smooth function with minimum 0: a degenerate quadratic, a Huber, or a log-cosh."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    kind = seed % 3
    if kind == 0:
        basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
        H = (basis * np.geomspace(1.0, 1e-6, d)) @ basis.T
        return (lambda x: 0.5 * x @ H @ x), (lambda x: H @ x), rng.standard_normal(d)
    if kind == 1:
        return *huber(10 ** rng.uniform(-3, 0)), rng.standard_normal(d)
    A = rng.standard_normal((2 * d, d))
    A /= np.linalg.norm(A, 2)
    return (
        (lambda x: float(np.sum(np.logaddexp(A @ x, -A @ x) - np.log(2)))),
        (lambda x: A.T @ np.tanh(A @ x)),
        10 ** rng.uniform(0, 2) * rng.standard_normal(d),
    )


@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_exact_bound(seed, steps):
    value, gradient, x0 = random_smooth(seed)
    x = ogm_g(gradient, x0, 1.0, steps)
    bound = 2.0 * value(x0) / ogm_g_weights(steps)[0] ** 2
    assert gradient(x) @ gradient(x) <= bound * (1 + 1e-9) + 1e-25
    assert ogm_g_weights(steps)[0] ** 2 >= (steps + 1) ** 2 / 2


@pytest.mark.parametrize("steps", [1, 2, 5, 10, 50])
def test_equality_on_the_worst_case_functions(steps):
    """The quadratic L/2 |x|², and the Huber function whose kink the last point just reaches."""
    theta = ogm_g_weights(steps)[0]
    x0 = np.array([1.0])
    quadratic_end = ogm_g(lambda x: 3.0 * x, x0, 3.0, steps)
    assert (3.0 * quadratic_end[0]) ** 2 == pytest.approx(2 * 3.0 * 1.5 / theta**2, rel=1e-9)
    threshold = 2.0 / (theta**2 + 1.0)
    value, gradient = huber(threshold)
    end = ogm_g(gradient, x0, 1.0, steps)
    assert gradient(end) @ gradient(end) == pytest.approx(2 * value(x0) / theta**2, rel=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 60))
def test_nag_and_ogm_g_from_a_distance(seed, steps):
    _, gradient, x0 = random_smooth(seed)
    x = nag_ogm_g(gradient, x0, 1.0, steps)
    n = steps // 2
    bound = 2 * np.sqrt(2) * np.linalg.norm(x0) / ((n + 1) * (steps - n + 1))
    assert np.linalg.norm(gradient(x)) <= bound * (1 + 1e-9) + 1e-12


def test_gradients_are_counted_exactly_and_input_checked():
    count = []
    gradient = lambda x: (count.append(1), x)[1]  # noqa: E731
    ogm_g(gradient, np.ones(2), 1.0, 7)
    assert len(count) == 7
    nag_ogm_g(gradient, np.ones(2), 1.0, 7)
    assert len(count) == 14
    for bad in ({"L": 0.0, "steps": 1}, {"L": 1.0, "steps": -1}, {"L": 1.0, "steps": 1.5}):
        with pytest.raises(minmin.InputError):
            ogm_g(gradient, np.ones(2), **bad)
