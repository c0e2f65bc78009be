"""cutting-plane: few calls whatever κ_x is, cuts and bounds that hold, the ball, kinks, and bad input."""

import math

import numpy as np
import pytest

import minmin
from minmin import federated
from minmin.methods import CuttingPlane
from minmin.numerics.central_path import Model, find_path_point, find_reach, start_path
from minmin.problems import Function, Quadratic
from reference import ExactQuadratic, as_function, random_quadratic

MIN = 3.0


def small_x(d, kappa, seed, mu_y=1e-3, values=True):
    """½(x - a)ᵀH(x - a) + ½(y - Bx)ᵀD(y - Bx) + 3 with |a| = 1, and the eigenvalues of H from 1 to κ."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H, a, B = (Q * np.geomspace(1.0, kappa, d)) @ Q.T, Q[0], rng.standard_normal((3, d))
    D = np.array([1.0, 10.0, 100.0])

    def value(x, y):
        return float(0.5 * (x - a) @ H @ (x - a) + 0.5 * (y - B @ x) @ (D * (y - B @ x)) + MIN)

    return Function(
        value if values else None,
        lambda x, y: H @ (x - a) - B.T @ (D * (y - B @ x)),
        lambda x, y: D * (y - B @ x),
        d_x=d,
        d_y=3,
        constants=minmin.Constants(L_x=math.inf, L_y=math.inf, mu_x=0.0, mu_y=mu_y) if mu_y else None,
    )


def solve(problem, **arguments):
    return minmin.minimize(problem, np.zeros(problem.d_x), np.zeros(problem.d_y), method="cutting-plane", **arguments)


@pytest.mark.parametrize("d", [2, 5, 10])
def test_calls_grow_like_d_log_1_over_eps_whatever_kappa_is(d):
    """To ε of the range of F on a ball of 10|x*|, with a proof: at most 3·d·log₁₀(1/ε) calls, and no mu_x, no L."""
    radius, digits, calls = 10.0, 8, []
    for kappa in (10.0, 1e3, 1e5):
        tol = 10.0**-digits * 0.5 * kappa * (radius + 1.0) ** 2
        r = solve(small_x(d, kappa, seed=d), radius=radius, tol=tol)
        assert r.success
        assert r.certified
        assert r.fun - MIN <= r.gap_bound <= tol
        assert r.calls["grad_x"] == r.nit <= 3 * d * digits
        calls.append(r.calls["grad_x"])
    assert max(calls) <= 1.5 * min(calls)


@pytest.mark.parametrize("d", [2, 5])
def test_calls_to_reach_the_same_share_of_the_ball_do_not_depend_on_kappa(d):
    """The eigenvalues of H have the geometric mean √κ, so F is within ε√κR²/2 of its minimum in ε^(d/2) of the ball."""
    radius, calls = 11.0, []
    for kappa in (10.0, 1e3, 1e5):
        r = solve(small_x(d, kappa, seed=d), radius=radius, tol=1e-6 * 0.5 * math.sqrt(kappa) * radius**2)
        assert r.certified
        calls.append(r.calls["grad_x"])
    assert max(calls) <= 1.3 * min(calls)


def test_every_cut_is_below_the_reduced_function_though_y_is_not_exact():
    rng, errors = np.random.default_rng(4), []
    for _ in range(5):
        problem = random_quadratic(rng)
        H, b, n = problem.H, problem.b, problem.d_x
        method = CuttingPlane(radius=10.0)
        state = method.init(problem, rng.standard_normal(n), rng.standard_normal(problem.d_y))
        for _ in range(8):
            state = method.step(problem, state)
        errors.append(max(cut.error for cut in state.cuts))
        for z in rng.standard_normal((10, n)):
            y = np.linalg.solve(H[n:, n:], -b[n:] - H[n:, :n] @ z)
            value = problem.fix(z).at(y).value
            for cut in state.cuts:
                below = cut.value - cut.error + cut.gradient @ (z - cut.x) - cut.slope_error * np.linalg.norm(z - cut.x)
                assert below <= value + 1e-12 * abs(value)
    assert max(errors) > 1e-3  # y was not exact


def random_model(rng, d, cuts):
    slopes = rng.standard_normal((cuts, d))
    slopes -= slopes.mean(axis=0)  # so that the cuts bound a minimum
    return Model(slopes, -rng.uniform(0.1, 1.0, size=cuts), 0.1 * rng.standard_normal(d), 5.0)


def test_any_weights_bound_the_model_from_below_and_the_path_finds_good_ones():
    rng = np.random.default_rng(0)
    for d in (1, 3, 6):
        model = random_model(rng, d, 4 * d)
        points = model.centre + model.radius * rng.uniform(-1, 1, size=(500, d)) / math.sqrt(d)
        lowest = (model.offsets + points @ model.slopes.T).max(axis=1).min()
        for weights in rng.uniform(size=(20, 4 * d)):
            assert model.bound_below(weights) <= lowest
        point = find_path_point(model, 1e6, *start_path(model, points[0], 1e6))
        assert (model.offsets + model.slopes @ point.u).max() - model.bound_below(point.weights) <= 1e-3


def test_the_reach_holds_every_point_where_no_cut_is_above_zero():
    rng = np.random.default_rng(1)
    for d in (1, 2, 5):
        model = random_model(rng, d, 6 * d)
        point = find_path_point(model, 10.0 * d, *start_path(model, np.zeros(d), 10.0 * d))
        reach = find_reach(model, point.u)
        assert math.isfinite(reach)
        points = point.u + reach * rng.uniform(-3, 3, size=(20_000, d))
        inside = (model.offsets + points @ model.slopes.T).max(axis=1) <= 0.0
        assert np.linalg.norm(points[inside] - point.u, axis=1).max(initial=0.0) <= reach
    few = Model(np.eye(2), -np.ones(2), np.zeros(2), 5.0)  # x <= 1 and y <= 1 enclose nothing
    assert math.isinf(find_reach(few, np.zeros(2)))


def test_without_a_radius_the_ball_grows_and_mu_y_alone_proves_the_bound():
    far = Function(
        lambda x, y: float(0.5 * (x - 100.0) @ (x - 100.0) + 0.5 * (y - x) @ (y - x)),
        lambda x, y: 2.0 * x - 100.0 - y,
        lambda x, y: y - x,
        d_x=2,
        d_y=2,
        constants=minmin.Constants(L_x=math.inf, L_y=math.inf, mu_x=0.0, mu_y=0.3),
    )
    r = solve(far, tol=1e-6)
    assert r.certified
    assert r.fun <= r.gap_bound <= 1e-6
    bare = Function(far.value, far.grad_x, far.grad_y, d_x=2, d_y=2)
    r = solve(bare, tol=1e-6)
    assert r.success
    assert not r.certified
    assert r.fun <= 1e-6


def test_a_ball_that_counts_as_proved_holds_the_minimum():
    rng, proved = np.random.default_rng(7), 0
    for _ in range(10):
        problem = random_quadratic(rng)
        exact, method = ExactQuadratic(problem), CuttingPlane()
        state = method.init(problem, 3.0 * rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y))
        for _ in range(30):
            state = method.step(problem, state)
            if state.ball.proved:
                proved += 1
                assert np.linalg.norm(state.ball.centre - exact.z[: problem.d_x]) <= state.ball.radius
    assert proved > 100


def test_where_f_is_not_finite_a_run_turns_back():
    """-log(1 - |x|²) + ½|y - x|² - x_0, defined inside of the unit ball."""

    def room(x):
        return 1.0 - x @ x

    def value(x, y):
        return float(-np.log(room(x)) + 0.5 * (y - x) @ (y - x) - x[0]) if room(x) > 0 else np.inf

    inside = Function(
        value,
        lambda x, y: (2.0 / room(x) if room(x) > 0 else np.nan) * x + x - y - np.eye(2)[0],
        lambda x, y: y - x,
        d_x=2,
        d_y=2,
    )
    r = solve(inside, radius=3.0, tol=1e-8)
    assert r.success
    best = math.sqrt(2.0) - 1.0  # where 2x/(1 - x²) = 1
    assert np.abs(r.x - [best, 0.0]).max() <= 1e-3
    with pytest.raises(minmin.NonFiniteError):
        minmin.minimize(inside, np.ones(2), np.zeros(2), method="cutting-plane")


def test_a_radius_that_looks_too_small_is_named():
    r = solve(small_x(3, 10.0, seed=0), radius=0.5, tol=1e-3)
    assert "near the boundary of the ball of radius = 0.5 around the start: is that large enough?" in r.message
    assert "boundary" not in solve(small_x(3, 10.0, seed=0), radius=5.0, tol=1e-3).message


def test_a_function_with_kinks_in_x_is_minimised():
    """Σ|x_i - i| + ½|x - i|² + ½|y - x|²: no gradient is continuous in x."""
    target = np.arange(4.0)
    kinked = Function(
        lambda x, y: float(np.abs(x - target).sum() + 0.5 * (x - target) @ (x - target) + 0.5 * (y - x) @ (y - x)),
        lambda x, y: np.sign(x - target) + 2.0 * x - target - y,
        lambda x, y: y - x,
        d_x=4,
        d_y=4,
        constants=minmin.Constants(L_x=math.inf, L_y=1.0, mu_x=0.0, mu_y=0.4),
    )
    r = solve(kinked, radius=10.0, tol=1e-6)
    assert r.success
    assert r.fun <= 1e-6


def test_cuts_that_contradict_f_are_named():
    """Gradients of f/5 are not steep enough: their cuts lie above f."""
    lie = Function(
        lambda x, y: float(0.5 * (x @ x + y @ y)),
        lambda x, y: 0.2 * x,
        lambda x, y: 0.2 * y,
        d_x=2,
        d_y=1,
        constants=minmin.Constants(L_x=math.inf, L_y=math.inf, mu_x=0.0, mu_y=0.2),
    )
    with pytest.raises(
        minmin.ConstantsError, match=r"below what mu_x = 0 and mu_y = 0.2 prove .*; a constant or a grad"
    ):
        minmin.minimize(lie, np.ones(2), np.ones(1), method="cutting-plane", radius=10.0, tol=1e-9)


def test_a_function_that_is_not_convex_is_named():
    wave = Function(
        lambda x, y: float(np.cos(3.0 * x).sum() + 0.1 * x @ x + y @ y),
        lambda x, y: -3.0 * np.sin(3.0 * x) + 0.2 * x,
        lambda x, y: 2.0 * y,
        d_x=2,
        d_y=1,
    )
    r = minmin.minimize(wave, np.array([0.3, 0.2]), np.ones(1), method="cutting-plane", tol=1e-6)
    assert r.status == "stalled"
    assert "f is not convex" in r.message
    assert math.isinf(r.gap_bound)


@pytest.mark.parametrize("radius", [0, -1.0, math.nan, math.inf, "far"])
def test_a_radius_must_be_positive_and_finite(radius):
    with pytest.raises(minmin.InputError, match="radius"):
        CuttingPlane(radius=radius)


def test_what_it_cannot_minimise_is_refused_with_another_method():
    large = Quadratic.random(d_x=201, d_y=2)
    for problem, words in (
        (large, "at most 200 variables in x, and this problem has 201; take method='reduced-lbfgs'"),
        (
            small_x(2, 10.0, seed=0, values=False),
            "needs values of f, and this problem has none; take method='reduced-lbfgs'",
        ),
    ):
        with pytest.raises(minmin.UnsupportedError, match=words):
            solve(problem)
    with pytest.raises(minmin.UnsupportedError, match=r"does not run in a federation; .* take method='reduced-lbfgs'"):
        federated.run([federated.Client(Quadratic.random(d_x=2, d_y=2))] * 2, CuttingPlane())
    with pytest.raises(minmin.UnsupportedError, match=r"inner='nag' needs"):
        solve(small_x(2, 10.0, seed=0, mu_y=None), inner="nag")
    with pytest.raises(minmin.UnsupportedError, match="inner='newton' needs a y-Hessian"):
        solve(as_function(Quadratic.random(d_x=2, d_y=2)), inner="newton")
    with pytest.raises(minmin.InputError, match="inner='nag-ogmg' is for method 'bam' alone"):
        CuttingPlane(inner="nag-ogmg")


@pytest.mark.parametrize("inner", ["newton", "nag"])
def test_other_solvers_in_y_find_the_same_minimum(inner):
    problem = Quadratic.random(d_x=4, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0)
    exact = ExactQuadratic(problem)
    r = minmin.minimize(problem, method="cutting-plane", inner=inner, tol=1e-8)
    assert r.certified
    assert exact.gap(r.x, r.y) <= r.gap_bound <= 1e-8


@pytest.mark.parametrize("kappa", [1e4, 1e6])
def test_a_long_thin_region_near_the_edge_of_the_ball_does_not_stop_a_run(kappa):
    """The best point is often near the edge of the ball that mu_x proves."""
    for seed in range(2):
        problem = Quadratic.random(10, 10, mu_x=0.1, L_x=0.1 * kappa, mu_y=0.1, L_y=5000.0, coupling=1.0, seed=seed)
        exact = ExactQuadratic(problem)
        r = solve(problem, tol=1e-8 * abs(exact.value))
        assert r.certified
        assert exact.gap(r.x, r.y) <= r.gap_bound <= 1e-8 * abs(exact.value)
        assert r.calls["grad_x"] <= 160
