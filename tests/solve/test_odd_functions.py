"""Functions as they come: with a domain, without a minimum, with kinks, not convex. Each run says what it met."""

from math import inf

import numpy as np
import pytest

import minmin
from minmin.federated import Client, ClipAndNoise, run

ROUNDING = "rounding errors"
CENTRES = np.random.default_rng(0).standard_normal((30, 6))
OFFSETS = 0.1 + np.abs(np.random.default_rng(1).standard_normal(30))
MATRIX, TARGET = np.random.default_rng(3).standard_normal((40, 12)), np.random.default_rng(4).standard_normal(40)


def minimize(value, gradient, x0, y0, *, values=True, dtype="float64", **options):
    """Minimise a function of z = (x, y), given with its gradient, with at most 5,000 calls."""
    x0, y0 = np.atleast_1d(x0).astype(dtype), np.atleast_1d(y0).astype(dtype)
    d_x = x0.shape[0]

    def in_block(part):
        return lambda x, y: np.asarray(gradient(np.concatenate([x, y])), dtype)[part]

    return minmin.minimize(
        (lambda x, y: float(value(np.concatenate([x, y])))) if values else None,
        x0,
        y0,
        grad_x=in_block(slice(None, d_x)),
        grad_y=in_block(slice(d_x, None)),
        max_grad_x=5_000,
        **options,
    )


WITH_DOMAIN = {
    "x - log x, near": (lambda z: z[0] - np.log(z[0]) + z[1] ** 2, lambda z: [1 - 1 / z[0], 2 * z[1]], 0.1, 3.0, 1.0),
    "x - log x, far": (lambda z: z[0] - np.log(z[0]) + z[1] ** 2, lambda z: [1 - 1 / z[0], 2 * z[1]], 100.0, 3.0, 1.0),
    "y - log y": (
        lambda z: z[1] - np.log(z[1]) + (z[0] - z[1]) ** 2,
        lambda z: [2 * (z[0] - z[1]), 1 - 1 / z[1] - 2 * (z[0] - z[1])],
        5.0,
        0.01,
        1.0,
    ),
    "-log(x + y)": (lambda z: -np.log(z.sum()) + z @ z, lambda z: 2 * z - 1 / z.sum(), 3.0, 0.2, 0.5),
    "entropy": (lambda z: (z * np.log(z)).sum(), lambda z: np.log(z) + 1, 5.0, 7.0, -2 / np.e),
    "-sqrt(1 - x²)": (
        lambda z: -np.sqrt(1 - z[0] ** 2) + z[1] ** 2 - z[0] * z[1] / 4,
        lambda z: [z[0] / np.sqrt(1 - z[0] ** 2) - z[1] / 4, 2 * z[1] - z[0] / 4],
        0.9,
        5.0,
        -1.0,
    ),
    "1/x + x": (
        lambda z: (1 / z[0] if z[0] > 0 else inf) + z[0] + z[1] ** 2,
        lambda z: [1 - 1 / z[0] ** 2, 2 * z[1]],
        0.01,
        5.0,
        2.0,
    ),
    "many variables": (lambda z: (z - np.log(z)).sum(), lambda z: 1 - 1 / z, np.full(40, 0.01), np.full(9, 30.0), 49.0),
}
"""Value, gradient, x0, y0 and the minimum."""


@pytest.mark.parametrize("name", WITH_DOMAIN)
def test_a_function_with_a_domain_is_solved(name):
    value, gradient, x0, y0, minimum = WITH_DOMAIN[name]
    r = minimize(value, gradient, x0, y0)
    assert r.success, r.message
    assert abs(r.fun - minimum) <= 1e-6
    assert r.calls["grad_x"] <= 60


def test_the_centre_of_a_polytope_is_found():
    r = minimize(
        lambda z: -np.log(OFFSETS - CENTRES @ z).sum(),
        lambda z: CENTRES.T @ (1 / (OFFSETS - CENTRES @ z)),
        np.zeros(4),
        np.zeros(2),
        gtol=1e-6,
    )
    assert r.success
    assert np.all(CENTRES @ np.concatenate([r.x, r.y]) < OFFSETS)


@pytest.mark.parametrize("values", [True, False])
def test_gradients_that_are_nan_outside_of_the_domain_suffice(values):
    value, gradient, x0, y0, _ = WITH_DOMAIN["-sqrt(1 - x²)"]
    assert minimize(value, gradient, x0, y0, values=values).success


@pytest.mark.parametrize("values", [True, False])
def test_a_minimum_at_the_edge_of_the_domain_is_named(values):
    r = minimize(
        lambda z: 2 * z[0] + z[1] ** 2 if z[0] > 0 else np.nan,
        lambda z: [2 if z[0] > 0 else np.nan, 2 * z[1]],
        3.0,
        1.0,
        values=values,
    )
    assert r.status == "stalled"
    assert "edge of f's domain" in r.message
    assert r.x[0] <= 1e-6


def test_a_start_outside_of_the_domain_is_an_error():
    with pytest.raises(minmin.NonFiniteError, match=r"grad_x\(x, y\) returned nan at index 0"):
        minimize(None, lambda z: [np.nan, 1.0], 0.0, 0.0, values=False)
    with pytest.raises(minmin.NonFiniteError, match="is f defined at the start"):
        minimize(lambda z: inf, lambda z: z, 1.0, 1.0)


UNBOUNDED = {
    "linear in x": (lambda z: z[0] + z[1] ** 2, lambda z: [1, 2 * z[1]]),
    "linear in y": (lambda z: z[0] ** 2 + z[1], lambda z: [2 * z[0], 1]),
    "-log x": (lambda z: -np.log(z[0]) + z[1] ** 2, lambda z: [-1 / z[0], 2 * z[1]]),
    "-log y": (lambda z: z[0] ** 2 - np.log(z[1]), lambda z: [2 * z[0], -1 / z[1]]),
    "-sqrt x": (lambda z: -np.sqrt(z[0]) + z[1] ** 2, lambda z: [-0.5 / np.sqrt(z[0]), 2 * z[1]]),
    "exp(x) + x": (lambda z: np.exp(z[0]) + z[0] + z[1] ** 2, lambda z: [np.exp(z[0]) + 1, 2 * z[1]]),
    "a slope of 0.01": (
        lambda z: np.logaddexp(0, z[0]) + 0.01 * z[0] + z[1] ** 2,
        lambda z: [1 / (1 + np.exp(-z[0])) + 0.01, 2 * z[1]],
    ),
    "x³": (lambda z: z[0] ** 3 + z[1] ** 2, lambda z: [3 * z[0] ** 2, 2 * z[1]]),
}


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("name", UNBOUNDED)
def test_a_function_without_a_minimum_is_named(name, values):
    start = -1.0 if name == "x³" else 1.0
    with np.errstate(over="ignore"):
        r = minimize(*UNBOUNDED[name], start, 1.0, values=values)
    assert r.status == "stalled"
    assert "f appears unbounded below" in r.message
    assert r.calls["grad_x"] + r.calls["grad_y"] <= 200


def test_a_convex_quadratic_of_low_rank_with_a_linear_term_is_named():
    A, slope = MATRIX[:3], MATRIX[3]
    r = minimize(
        lambda z: 0.5 * ((A @ z) ** 2).sum() + slope @ z, lambda z: A.T @ (A @ z) + slope, np.zeros(9), np.zeros(3)
    )
    assert "f appears unbounded below" in r.message


def test_a_far_minimum_is_not_taken_for_none():
    r = minimize(lambda z: 1e-9 * ((z - 1e9) ** 2).sum(), lambda z: 2e-9 * (z - 1e9), np.zeros(3), np.zeros(2))
    assert r.success
    assert np.allclose(r.x, 1e9)


KINKED = {
    "|x|": (lambda z: abs(z[0]) + z[1] ** 2 / 2, lambda z: [np.sign(z[0]), z[1]], 1.3, 1.0),
    "|y - x|": (
        lambda z: z[0] ** 2 / 2 + abs(z[1] - z[0]),
        lambda z: [z[0] - np.sign(z[1] - z[0]), np.sign(z[1] - z[0])],
        1.3,
        1.0,
    ),
    "lasso": (
        lambda z: 0.5 * ((MATRIX @ z - TARGET) ** 2).mean() + 0.1 * abs(z).sum(),
        lambda z: MATRIX.T @ (MATRIX @ z - TARGET) / 40 + 0.1 * np.sign(z),
        np.ones(10),
        np.ones(2),
    ),
    "hinge": (
        lambda z: np.maximum(0, 1 - TARGET * (MATRIX @ z)).mean() + 0.005 * z @ z,
        lambda z: -MATRIX.T @ (TARGET * (TARGET * (MATRIX @ z) < 1)) / 40 + 0.01 * z,
        np.zeros(10),
        np.zeros(2),
    ),
    "maximum": (
        lambda z: (MATRIX @ z).max() + z @ z / 2,
        lambda z: MATRIX[np.argmax(MATRIX @ z)] + z,
        np.ones(10),
        np.ones(2),
    ),
}


@pytest.mark.parametrize("name", KINKED)
def test_a_kink_is_never_called_rounding(name):
    r = minimize(*KINKED[name], tol=1e-9)
    assert not r.success
    assert ROUNDING not in r.message
    assert r.status == "budget" or "jumps" in r.message


NOT_CONVEX = {
    "saddle in y": (lambda z: z[0] ** 2 - z[1] ** 2, lambda z: [2 * z[0], -2 * z[1]], 0.0, 0.0),
    "saddle in x": (lambda z: -(z[0] ** 2) + z[1] ** 2, lambda z: [-2 * z[0], 2 * z[1]], 0.0, 0.0),
    "x y": (lambda z: z[0] * z[1], lambda z: z[::-1], 0.0, 0.0),
    "two wells in x": (
        lambda z: (z[0] ** 2 - 1) ** 2 + z[1] ** 2,
        lambda z: [4 * z[0] * (z[0] ** 2 - 1), 2 * z[1]],
        0.1,
        1.0,
    ),
    "two wells in y": (
        lambda z: (z[1] ** 2 - 1) ** 2 + z[0] ** 2,
        lambda z: [2 * z[0], 4 * z[1] * (z[1] ** 2 - 1)],
        1.0,
        0.1,
    ),
    "cosines": (lambda z: np.cos(z).sum(), lambda z: -np.sin(z), 0.5, 0.7),
    "saturating": (
        lambda z: np.tanh(z[0]) ** 2 + z[1] ** 2,
        lambda z: [2 * np.tanh(z[0]) / np.cosh(z[0]) ** 2, 2 * z[1]],
        2.0,
        1.0,
    ),
}


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("name", NOT_CONVEX)
def test_a_function_that_is_not_convex_is_no_success(name, values):
    r = minimize(*NOT_CONVEX[name], values=values)
    assert not r.success
    assert "f is not convex" in r.message or "unbounded" in r.message
    assert r.gap_bound == inf


def test_a_stationary_point_is_a_success_if_the_user_asks_for_one():
    r = minimize(*NOT_CONVEX["two wells in x"], assume_convex=False)
    assert r.success
    assert abs(abs(r.x[0]) - 1.0) <= 1e-3
    assert "f is not convex" in r.message
    assert r.gap_bound == inf


def test_a_start_at_the_minimum_is_returned_after_a_probe():
    r = minimize(lambda z: z @ z, lambda z: 2 * z, np.zeros(3), np.zeros(2))
    assert r.success
    assert np.array_equal(r.x, np.zeros(3))
    assert 2 <= r.calls["grad_x"] <= 6


def test_float32_functions_have_the_same_rules():
    value, gradient, x0, y0, minimum = WITH_DOMAIN["x - log x, far"]
    assert abs(minimize(value, gradient, x0, y0, dtype="float32", tol=1e-4).fun - minimum) <= 1e-4
    assert "unbounded" in minimize(*UNBOUNDED["linear in x"], 1.0, 1.0, dtype="float32").message
    assert not minimize(*NOT_CONVEX["two wells in x"], dtype="float32").success
    assert ROUNDING not in minimize(*KINKED["|x|"], dtype="float32").message


def _term(slope):
    """slope·Σx - Σlog x + ½(y - x₀)², convex with a domain."""
    return minmin.problems.Function(
        lambda x, y: float(slope * x.sum() - np.log(x).sum() + 0.5 * (y[0] - x[0]) ** 2),
        lambda x, y: slope - 1 / x + np.array([x[0] - y[0], 0.0, 0.0]),
        lambda x, y: y - x[:1],
        d_x=3,
        d_y=1,
    )


def test_a_sum_and_a_federation_with_a_domain_are_solved_alike():
    terms, x0 = [_term(slope) for slope in (0.5, 1.0, 3.0)], np.array([0.1, 5.0, 30.0])
    with np.errstate(invalid="ignore"):
        r, of_sum = run([Client(term) for term in terms], x0=x0), minmin.minimize(minmin.Sum(terms), x0=x0)
    assert r.success, r.message
    assert np.allclose(r.x, 2 / 3, atol=1e-3)
    assert np.array_equal(r.x, of_sum.x)


def test_a_federation_names_functions_without_a_minimum_or_that_are_not_convex():
    falling = minmin.problems.Function(
        lambda x, y: float(x @ x + y.sum()), lambda x, y: 2 * x, lambda x, y: np.ones(1), d_x=3, d_y=1
    )
    assert "unbounded" in run([Client(falling), Client(_term(1.0))], x0=np.ones(3)).message
    wells = minmin.problems.Function(
        lambda x, y: float(((x**2 - 1) ** 2).sum() + y @ y),
        lambda x, y: 4 * x * (x**2 - 1),
        lambda x, y: 2 * y,
        d_x=3,
        d_y=1,
    )
    r = run([Client(wells), Client(wells)], x0=np.full(3, 0.1))
    assert not r.success
    assert "f is not convex" in r.message


def test_rounding_in_y_at_the_start_is_not_taken_for_negative_curvature():
    """∇ᵧ is zero at the start up to rounding, since the linear term acts on x alone."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        d_x, d_y, kappa = int(rng.integers(2, 12)), int(rng.integers(2, 12)), 10 ** rng.uniform(0.5, 3)
        d = d_x + d_y
        H = (kappa - 1) / 4 * (2 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)) + np.eye(d)
        best = np.linalg.solve(H, np.eye(d)[0] * kappa / 4)
        r = minimize(
            lambda z, H=H, best=best: 0.5 * (z - best) @ H @ (z - best),
            lambda z, H=H, best=best: H @ (z - best),
            np.zeros(d_x),
            np.zeros(d_y),
        )
        assert r.success, r.message


def _row_and_column_effects(seed):
    """A Poisson model Σ exp(x_i + y_j) - n_ij (x_i + y_j) with a small ridge: x and y can share a constant."""
    rng = np.random.default_rng(seed)
    a, b = (int(size) for size in rng.integers(2, 8, 2))
    n = rng.poisson(np.exp(1 + rng.standard_normal((a, 1)) + rng.standard_normal((1, b))))

    def margins(z):
        return z[:a, None] + z[None, a:]

    def gradient(z):
        residual = np.exp(margins(z)) - n
        return np.concatenate([residual.sum(axis=1), residual.sum(axis=0)]) + 0.01 * z

    return lambda z: (np.exp(margins(z)) - n * margins(z)).sum() + 0.005 * z @ z, gradient, np.zeros(a), np.zeros(b)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("seed", range(8))
def test_gradients_that_explode_do_not_lead_astray(seed):
    r = minimize(*_row_and_column_effects(seed))
    assert r.success, r.message


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_do_not_matter(unit):
    value, gradient, x0, y0 = _row_and_column_effects(3)
    plain = minimize(value, gradient, x0, y0)
    r = minimize(lambda z: value(z / unit), lambda z: gradient(z / unit) / unit, x0, y0)
    assert r.success, r.message
    assert abs(r.fun - plain.fun) <= 1e-5


def test_a_start_with_a_huge_gradient_is_not_taken_for_rounding():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 5))
    r = minimize(
        lambda z: ((A @ z - 1) ** 4).sum() + z @ z,
        lambda z: 4 * A.T @ (A @ z - 1) ** 3 + 2 * z,
        1e4 * rng.standard_normal(3),
        1e4 * rng.standard_normal(2),
    )
    assert r.success, r.message


def test_least_squares_with_large_terms_that_cancel_is_convex():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 6))
    target = A @ (1e4 * rng.standard_normal(6))
    G, c, constant = A.T @ A, A.T @ target, 0.5 * target @ target
    r = minimize(lambda z: 0.5 * z @ G @ z - c @ z + constant, lambda z: G @ z - c, np.zeros(4), np.zeros(2))
    assert "not convex" not in r.message


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("seed", range(10))
def test_a_step_back_into_the_domain_starts_from_the_y_that_was_inside(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((15, 6)), 0.1 + np.abs(rng.standard_normal(15))
    r = minimize(
        lambda z: -np.log(b - A @ z).sum() + 0.05 * z @ z,
        lambda z: A.T @ (1 / (b - A @ z)) + 0.1 * z,
        np.zeros(3),
        np.zeros(3),
    )
    assert r.success, r.message


def test_noise_of_clients_is_not_taken_for_negative_curvature():
    clients = [
        Client(_term(slope), clip_and_noise=ClipAndNoise(noise=1e-3, seed=number))
        for number, slope in enumerate((1.0, 2.0))
    ]
    assert "not convex" not in run(clients, x0=np.ones(3), rounds=30).message


def test_the_right_block_and_term_are_named_where_a_gradient_is_nan():
    f = minmin.problems.Function(None, lambda x, y: x, lambda x, y: np.full(2, np.nan), d_x=3, d_y=2)
    for outer in ("x", "y"):
        with pytest.raises(minmin.NonFiniteError, match=r"grad_y\(x, y\) returned nan at index 0"):
            minmin.minimize(f, method="reduced-lbfgs", outer=outer)
    good = minmin.problems.Function(None, lambda x, y: x, lambda x, y: y, d_x=3, d_y=2)
    with pytest.raises(minmin.NonFiniteError, match=r"grad_y\(x, y\) returned nan at index 0 of term 1"):
        minmin.minimize(minmin.Sum([good, f]))
