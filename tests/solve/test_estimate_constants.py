"""estimate_constants() returns what is proved, and else what the Hessian at a point needs."""

import dataclasses
import json

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minmin
from minmin.problems import GLM, Function, Quadratic
from minmin.problems.spectrum import choose_cheapest, convexity_frontier, smoothness_frontier
from reference import random_glm


def without_constants(problem, counts=None, dtype=None):
    """The same gradients through callables, which count their calls, and may compute in another precision."""
    counts = {} if counts is None else counts

    def counting(name):
        def gradient(x, y):
            counts[name] = counts.get(name, 0) + 1
            if dtype is not None:
                x, y = x.astype(dtype), y.astype(dtype)
            return getattr(problem.fix(x).at(y), name)

        return gradient

    return Function(None, counting("grad_x"), counting("grad_y"), d_x=problem.d_x, d_y=problem.d_y)


def make_quadratic(rng, d_x, d_y, kappa, coupling):
    """Eigenvalues of both diagonal blocks are spread evenly on a logarithmic scale, and blocks have their own units."""
    roots = []
    for size, κ in ((d_x, kappa[0]), (d_y, kappa[1])):
        Q, _ = np.linalg.qr(rng.standard_normal((size, size)))
        roots.append(10 ** rng.uniform(-2, 2) * Q * np.geomspace(1.0, κ**-0.5, size))
    C = rng.standard_normal((d_x, d_y))
    cross = roots[0] @ (coupling * C / np.linalg.norm(C, 2)) @ roots[1].T
    H = np.block([[roots[0] @ roots[0].T, cross], [cross.T, roots[1] @ roots[1].T]])
    return Quadratic(H, H @ rng.standard_normal(d_x + d_y), d_x)


def scaled_eigenvalues(H, d_x, for_x, for_y):
    roots = np.sqrt(np.repeat([for_x, for_y], [d_x, len(H) - d_x]))
    return np.linalg.eigvalsh(H / roots / roots[:, None])


def excess(constants, H, d_x):
    """By which factor H exceeds diag(L_x, L_y), and by which it stays above diag(mu_x, mu_y): 1 is exact."""
    above = scaled_eigenvalues(H, d_x, constants.L_x, constants.L_y)[-1]
    return above, scaled_eigenvalues(H, d_x, constants.mu_x, constants.mu_y)[0]


SIZES = st.tuples(st.integers(1, 12), st.integers(1, 12))
LOG_KAPPAS = st.tuples(st.floats(0, 6), st.floats(0, 6))


@settings(max_examples=30)
@given(SIZES, LOG_KAPPAS, st.sampled_from([0.0, 0.5, 0.9]), st.integers(0, 2**20))
def test_the_constants_of_a_small_quadratic_are_exact(sizes, log_kappas, coupling, seed):
    rng = np.random.default_rng(seed)
    q = make_quadratic(rng, *sizes, 10 ** np.array(log_kappas), coupling)
    counts = {}
    constants = minmin.estimate_constants(without_constants(q, counts))
    assert constants.source == "estimated"
    assert counts == {"grad_x": 2 * q.d_x + 5, "grad_y": 2 * (q.d_x + q.d_y) + 9}
    above, below = excess(constants, q.H, q.d_x)
    assert 0.99 <= above <= 1.01
    assert 0.99 <= below <= 1.05


def test_they_cost_a_run_no_more_than_the_proved_ones():
    q = make_quadratic(np.random.default_rng(0), 8, 6, (10.0, 1e5), 0.8)
    estimated = minmin.estimate_constants(without_constants(q))
    proved = choose_cheapest(smoothness_frontier(q.H, 8), convexity_frontier(q.H, 8))
    assert estimated.kappa_x == pytest.approx(proved[0] / proved[2], rel=0.01)
    assert estimated.kappa_y == pytest.approx(proved[1] / proved[3], rel=0.01)


@pytest.mark.parametrize(("d_x", "d_y"), [(120, 12), (100, 100), (12, 120)])
@pytest.mark.parametrize("coupling", [0.0, 0.9])
def test_large_problems_take_few_calls(d_x, d_y, coupling):
    rng = np.random.default_rng(d_x)
    q = make_quadratic(rng, d_x, d_y, (10.0, 30.0), coupling)
    counts = {}
    constants = minmin.estimate_constants(without_constants(q, counts))
    assert counts["grad_x"] <= 65
    assert counts["grad_y"] <= 310
    above, below = excess(constants, q.H, d_x)
    assert 1 / 2.2 <= above <= 1.01
    assert 0.8 <= below <= 2.1


def test_a_badly_conditioned_y_does_not_hide_a_well_conditioned_x():
    q = make_quadratic(np.random.default_rng(1), 100, 20, (10.0, 1e6), 0.0)
    constants = minmin.estimate_constants(without_constants(q))
    assert constants.kappa_x <= 25
    assert constants.kappa_y >= 0.9e6


@given(st.integers(0, 2**20))
@settings(max_examples=10)
def test_they_hold_at_the_given_point_of_a_function_that_is_not_quadratic(seed):
    rng = np.random.default_rng(seed)
    glm = random_glm(rng)
    x, y = rng.standard_normal(glm.d_x), rng.standard_normal(glm.d_y)
    constants = minmin.estimate_constants(without_constants(glm), x, y)
    A = np.hstack([glm.X, glm.Y])
    p = 1 / (1 + np.exp(-(A @ np.concatenate([x, y]))))
    penalty = np.repeat([glm.alpha_x, glm.alpha_y], [glm.d_x, glm.d_y])
    H = A.T @ (glm.weights * p * (1 - p) * A.T).T + np.diag(penalty)
    above, below = excess(constants, H, glm.d_x)
    assert 0.99 <= above <= 1.01
    assert 0.99 <= below <= 1.01
    assert np.array_equal(constants.at[0], x)
    assert np.array_equal(constants.at[1], y)


@pytest.mark.parametrize("d_x", [6, 60])
@pytest.mark.parametrize("precision", ["point", "callables", "hidden"])
def test_single_precision_is_enough_for_moderate_condition_numbers(d_x, precision):
    rng = np.random.default_rng(0)
    q = make_quadratic(rng, d_x, 4, (20.0, 50.0), 0.5)
    single = Quadratic(q.H.astype(np.float32), q.b.astype(np.float32), d_x)
    x, y = rng.standard_normal(d_x), rng.standard_normal(4)
    f = without_constants(single, dtype=np.float32)
    if precision == "point":
        x, y = x.astype(np.float32), y.astype(np.float32)
    if precision == "hidden":
        g = f
        f = Function(
            None, lambda x, y: 1.0 * g.grad_x(x, y) + 0 * x, lambda x, y: 1.0 * g.grad_y(x, y) + 0 * y, d_x=d_x, d_y=4
        )
    above, below = excess(minmin.estimate_constants(f, x, y), q.H, d_x)
    assert 0.8 <= above <= 1.01
    assert 0.8 <= below <= 2.5


def test_a_point_far_away_is_no_obstacle():
    rng = np.random.default_rng(0)
    q = make_quadratic(rng, 8, 5, (100.0, 1e4), 0.7)
    z = rng.standard_normal(13)
    z *= 1e6 / np.linalg.norm(z)
    above, below = excess(minmin.estimate_constants(without_constants(q), z[:8], z[8:]), q.H, 8)
    assert 0.99 <= above <= 1.01
    assert 0.99 <= below <= 1.05


def test_y_of_a_sum_has_its_weighted_inner_product():
    rng = np.random.default_rng(3)
    weights = [0.2, 3.0]
    terms = [make_quadratic(rng, 4, d_y, (10.0, 100.0), 0.6) for d_y in (2, 3)]
    constants = minmin.estimate_constants(minmin.Sum([without_constants(t) for t in terms], weights))
    H = np.zeros((9, 9))  # in coordinates √w_i y_i, whose inner product is the weighted one
    H[:4, :4] = sum(w * t.H[:4, :4] for w, t in zip(weights, terms, strict=True))
    for w, t, part in zip(weights, terms, (slice(4, 6), slice(6, 9)), strict=True):
        H[:4, part] = np.sqrt(w) * t.H[:4, 4:]
        H[part, :4] = H[:4, part].T
        H[part, part] = t.H[4:, 4:]
    above, below = excess(constants, H, 4)
    assert 0.99 <= above <= 1.01
    assert 0.99 <= below <= 1.05
    assert isinstance(constants.at[1], minmin.Parts)


def test_exchanged_blocks_and_other_array_libraries_work():
    q = make_quadratic(np.random.default_rng(4), 3, 2, (10.0, 10.0), 0.5)
    constants = minmin.estimate_constants(without_constants(q).swapped())
    order = [3, 4, 0, 1, 2]
    assert excess(constants, q.H[np.ix_(order, order)], 2) == pytest.approx((1.0, 1.0), abs=0.01)
    strict = Quadratic(array_api_strict.asarray(q.H), array_api_strict.asarray(q.b), 3)
    x, y = array_api_strict.zeros(3), array_api_strict.zeros(2)
    constants = minmin.estimate_constants(without_constants(strict), x, y)
    assert excess(constants, q.H, 3) == pytest.approx((1.0, 1.0), abs=0.01)


def test_what_is_proved_or_given_stays_as_it_is():
    q = Quadratic.random(d_x=5, d_y=3)
    assert minmin.estimate_constants(q) is q.constants
    glm = random_glm(np.random.default_rng(0))
    assert minmin.estimate_constants(glm) is glm.constants
    given = minmin.Constants(60.0, 600.0, 0.05, 0.05)
    f = without_constants(q)
    stated = Function(None, f.grad_x, f.grad_y, d_x=5, d_y=3, constants=given)
    assert minmin.estimate_constants(stated) is given


def test_estimates_are_replaced_at_another_point():
    f = Function(None, lambda x, y: np.exp(x), lambda x, y: y, d_x=1, d_y=1)
    first = minmin.estimate_constants(f)
    f = Function(None, f.grad_x, f.grad_y, d_x=1, d_y=1, constants=first)
    second = minmin.estimate_constants(f, [1.0], [0.0])
    assert first.L_x == pytest.approx(1.0, rel=1e-6)
    assert second.L_x == pytest.approx(np.e, rel=1e-6)


def test_infinite_smoothness_is_estimated_and_proved_convexity_stays():
    poisson = random_glm(np.random.default_rng(0), "poisson")
    constants = minmin.estimate_constants(poisson)
    assert constants.source == "estimated"
    assert np.isfinite([constants.L_x, constants.L_y]).all()
    assert (constants.mu_x, constants.mu_y) == (poisson.constants.mu_x, poisson.constants.mu_y)


def test_convexity_of_zero_is_estimated_and_proved_smoothness_stays():
    rng = np.random.default_rng(0)
    X, Y, target = rng.standard_normal((50, 4)), rng.standard_normal((50, 2)), np.sign(rng.standard_normal(50))
    glm = GLM(X, Y, target, "logistic", alpha_x=0.1, alpha_y=0.0)
    assert glm.constants.mu_y == 0.0
    constants = minmin.estimate_constants(glm)
    assert constants.mu_y > 0.01
    assert (constants.L_x, constants.L_y) == (glm.constants.L_x, glm.constants.L_y)


def test_a_direction_without_curvature_gives_mu_zero():
    q = Quadratic(np.diag([1.0, 1.0, 0.0, 1.0, 1.0]), np.zeros(5), 3)
    constants = minmin.estimate_constants(without_constants(q))
    assert constants.mu_x == 0.0
    assert constants.L_x == pytest.approx(1.0)


def test_a_function_that_is_not_convex_is_an_error():
    q = Quadratic(np.diag([1.0, -0.01, 1.0, 1.0]), np.zeros(4), 2)
    with pytest.raises(minmin.InputError, match=r"not convex at this point: its curvature .* is -0\.01"):
        minmin.estimate_constants(without_constants(q))


def test_blocks_that_are_convex_only_apart_are_an_error():
    q = Quadratic(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), 1)
    with pytest.raises(minmin.InputError, match="not convex at this point"):
        minmin.estimate_constants(without_constants(q))


def test_gradients_that_no_function_has_are_an_error():
    f = Function(None, lambda x, y: x + 2 * np.roll(x, 1), lambda x, y: y, d_x=3, d_y=3)
    with pytest.raises(minmin.InputError, match=r"contradict each other.*minmin\.check"):
        minmin.estimate_constants(f)


def test_a_point_outside_the_domain_is_an_error():
    def grad_x(x, y):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(x)

    f = Function(None, grad_x, lambda x, y: y, d_x=2, d_y=2)
    with pytest.raises(minmin.NonFiniteError, match="give x and y inside the domain of f"):
        minmin.estimate_constants(f)
    assert minmin.estimate_constants(f, [1.0, 2.0], [0.0, 0.0]).L_x == pytest.approx(1.0, rel=1e-3)


def test_only_problems_have_constants():
    with pytest.raises(minmin.InputError, match="wrap your own functions"):
        minmin.estimate_constants(lambda x, y: x)


def test_a_federation_is_an_error():
    class Remote(minmin.Problem):
        d_x = d_y = 1
        y_is_remote = True

        def fix(self, x):
            pytest.fail("nothing may be computed")

    with pytest.raises(minmin.UnsupportedError, match="let every client"):
        minmin.estimate_constants(Remote())


def test_a_run_with_them_is_not_certified():
    q = make_quadratic(np.random.default_rng(5), 5, 3, (50.0, 500.0), 0.8)
    f = without_constants(q)
    f = Function(None, f.grad_x, f.grad_y, d_x=5, d_y=3, constants=minmin.estimate_constants(f))
    r = minmin.minimize(f, method="bam", tol=1e-8)
    assert r.status == "converged"
    assert r.bound.basis == "estimate"
    assert not r.certified


def test_the_point_follows_the_blocks_and_stays_out_of_messages():
    constants = minmin.Constants(1.0, 2.0, 0.1, 0.2).estimated_at([1.0], [2.0])
    assert constants.source == "estimated"
    assert constants.swapped().at == ([2.0], [1.0])
    assert "at" not in json.loads(json.dumps(dataclasses.asdict(constants)))
    assert constants == dataclasses.replace(constants)
    assert minmin.Constants(1.0, 2.0, 0.1, 0.2).at is None
