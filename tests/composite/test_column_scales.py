"""Linear models with terms whose columns are in very different units."""

import numpy as np
import pytest
from scipy import sparse

import minmin
from minmin.extend import Scaled
from minmin.problems import GLM, Composite
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex

LOSSES = ("squared", "logistic", "huber", "poisson", "gamma", "tweedie")
IN_UNITS = {
    "L1": lambda s: L1(0.1 * s),
    "elastic net": lambda s: ElasticNet(0.1 * s, 0.1 * s**2),
    "box": lambda s: Box(-0.2 / s, 0.3 / s),
    "not negative": lambda s: NonNegative(),
    "scaled": lambda s: Scaled(L1(0.05 * s), 2.0),
    "none": lambda s: None,
}
"""Terms that are the same function of x in all units: ``s`` is the number by which every column is multiplied."""


def draw(loss, seed=0):
    """X, Y and targets, with columns that are alike."""
    rng = np.random.default_rng(seed)
    X, Y, target = rng.standard_normal((20, 3)), rng.standard_normal((20, 2)), rng.standard_normal(20)
    if loss == "logistic":
        target = np.sign(target)
    return X, Y, target if loss in ("squared", "huber", "logistic") else np.exp(target)


def make_scaled(loss, term, scale, *, in_y=False, dtype=np.float64, csr=False):
    """The same problem for every scale of a column of X, or of Y, in other units of the coefficients."""
    X, Y, target = draw(loss)
    scales = np.ones(2 if in_y else 3)
    scales[1] = scale
    term = IN_UNITS[term](scales)
    X, Y = (X, Y * scales) if in_y else (X * scales, Y)
    alphas = {"alpha_x": 1e-3, "alpha_y": 1e-3} | {"alpha_y" if in_y else "alpha_x": 1e-3 * scales**2}
    convert = sparse.csr_matrix if csr else np.asarray
    glm = GLM(convert(X.astype(dtype)), convert(Y.astype(dtype)), target.astype(dtype), loss, **alphas)
    other = L1(0.1) if term is None else None
    return Composite(glm, other if in_y else term, term if in_y else other), scales


@pytest.mark.parametrize("scale", [1e-8, 1e4, 1e6])
@pytest.mark.parametrize("in_y", [False, True])
@pytest.mark.parametrize("term", IN_UNITS)
def test_a_column_in_other_units_hardly_costs_calls(term, in_y, scale):
    for loss in LOSSES:
        alike, _ = make_scaled(loss, term, 1.0, in_y=in_y)
        scaled, scales = make_scaled(loss, term, scale, in_y=in_y)
        before, after = (minmin.minimize(p, method="reduced-lbfgs", tol=1e-9) for p in (alike, scaled))
        assert before.success
        assert after.success
        assert after.certified
        assert abs(after.fun - before.fun) <= before.gap_bound + after.gap_bound + 1e-13
        assert after.calls["grad_x"] <= 2 * before.calls["grad_x"] + 6  # 16 or 17 for 6, by the kernels of the BLAS
        np.testing.assert_array_equal(after.x == 0.0, before.x == 0.0)
        found, known = (after.y * scales, before.y) if in_y else (after.x * scales, before.x)
        np.testing.assert_allclose(found, known, atol=1e-3)


@pytest.mark.parametrize("csr", [False, True])
def test_an_extreme_column_whose_penalty_is_that_of_all_converges(csr):
    for loss in LOSSES:
        X, Y, target = draw(loss, seed=1)
        for scale, term in ((1e6, L1(0.1)), (1e4, Box(-1, 1)), (1e5, L2Ball(0.5)), (1e5, GroupL2(0.1, [[0, 1], [2]]))):
            Z = X * [1.0, scale, 1.0]
            glm = GLM(sparse.csr_matrix(Z) if csr else Z, Y, target, loss, alpha_x=1e-3, alpha_y=1e-3)
            r = minmin.minimize(Composite(glm, term), method="reduced-lbfgs", tol=1e-6, max_iterations=40)
            assert r.success
            assert r.certified


@pytest.mark.parametrize(
    "term", [L1(0.1), L2Ball(1.0), GroupL2(0.1, [[0, 1], [2]]), Simplex()], ids=lambda t: type(t).__name__
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_single_precision_survives_an_extreme_column(term, loss):
    X, Y, target = draw(loss, seed=5)
    arrays = ((X * [1, 1e10, 1]).astype(np.float32), Y.astype(np.float32), target.astype(np.float32))
    f = Composite(GLM(*arrays, loss, alpha_x=1e-3, alpha_y=1e-3), term)
    r = minmin.minimize(f, method="reduced-lbfgs", tol=1e-6, max_iterations=10)
    assert np.isfinite(r.fun)


@pytest.mark.parametrize("term", [Box(-1, 1), L2Ball(1.0), GroupL2(0.1, [[0, 1], [2]])], ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_steps_where_f_overflows_are_shortened(loss, term):
    X, Y, target = draw(loss)
    f = Composite(GLM(X * [1, 1e6, 1], Y, target, loss, alpha_x=1e-3, alpha_y=1e-3), term)
    at_start = f.fix(np.zeros(3)).at(np.zeros(2)).value
    r = minmin.minimize(f, method="reduced-lbfgs", tol=1e-6, max_iterations=5)
    assert r.fun < at_start


def test_where_f_overflows_at_the_start_the_message_names_the_columns():
    X, Y, target = draw("poisson")
    f = Composite(GLM(X * [1, 1e6, 1], Y, target, "poisson", alpha_x=1e-3, alpha_y=1e-3), Simplex())
    with pytest.raises(
        minmin.NonFiniteError, match=r"the loss is not finite here: a column has numbers of about 8e\+05; scale it"
    ) as caught:
        minmin.minimize(f, method="reduced-lbfgs")
    assert "gradient may be wrong" not in str(caught.value)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_where_f_overflows_the_message_names_huge_targets(loss):
    X, Y, target = draw("poisson")
    with pytest.raises(minmin.NonFiniteError, match=r"targets are up to .*e\+200; scale them"):
        minmin.minimize(GLM(X, Y, 1e200 * target, loss, alpha_x=1e-3, alpha_y=1e-3))


def test_units_are_powers_of_two_for_columns_that_differ():
    X, Y, target = draw("squared")

    def find_units(scales, alpha=1e-6):
        return Composite(GLM(X * scales, Y, target, "squared", alpha_x=alpha, alpha_y=1.0), L1(0.1)).units_x

    assert find_units([1.0, 2.0, 1.0]) == 1.0
    units = find_units([1.0, 1e5, 1e-2])

    np.testing.assert_array_equal(np.frexp(units)[0], 0.5)
    np.testing.assert_allclose(units, [1.0, 1e5, 1e-2], rtol=1.0)
    assert find_units([1.0, 1.0, 0.0], alpha=0.0) == 1.0  # a column of zeros has no size
    assert find_units([1.0, 1e-5, 1.0], alpha=1.0) == 1.0  # then the penalty is its curvature
    assert Composite(GLM(X * [1, 1e5, 1], Y, target, "squared", alpha_x=1.0, alpha_y=1.0), Simplex()).units_x == 1.0
    assert GLM(X * [1, 1e5, 1], Y, target, "squared", alpha_x=1.0, alpha_y=1.0).units_x == 1.0


@pytest.mark.parametrize("term", [L1([0.1, 0.3]), ElasticNet([0.1, 0.3], 0.5), Box(-1, [0.5, 2]), Scaled(L1(0.1), 3.0)])
def test_a_step_per_coordinate_is_a_proximal_map_per_coordinate(term):
    assert term.takes_steps
    for dtype in (np.float32, np.float64):
        v, steps = np.array([-0.9, 1.7], dtype), np.array([0.2, 3.0], dtype)
        each = [term.prox(v, float(step))[i] for i, step in enumerate(steps)]
        assert term.prox(v, steps).dtype == dtype
        np.testing.assert_allclose(term.prox(v, steps), each, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_of_balls_and_groups_are_the_proximal_map_in_that_metric(dtype):
    """The differences over the steps are subgradients; groups are exactly zero where those allow it."""
    rng, eps = np.random.default_rng(0), float(np.finfo(dtype).eps)
    groups = GroupL2([0.5, 2.0, 0.0], [[1, 2], [4, 0], [5]])
    for spread in 0.0, 5.0, 10.0:
        for _ in range(50):
            v = (rng.standard_normal(7) * 10 ** rng.uniform(-spread, spread, 7)).astype(dtype)
            steps = (10 ** rng.uniform(-2 * spread, 2, 7)).astype(dtype)
            one = np.full_like(steps, steps[0])
            for term in L2Ball(0.5), L2Ball(0.5, 3.0), L2Ball(0.0, 3.0), groups:
                alike = term.prox(v, float(steps[0]))
                assert term.prox(v, one).dtype == dtype
                np.testing.assert_allclose(term.prox(v, one), alike, rtol=0, atol=20 * eps * (np.abs(v).max() + 3))
            u = L2Ball(0.5).prox(v, steps)
            assert L2Ball(0.5).value(u) == 0.0
            if not np.array_equal(u, v):
                large = np.abs(u) > 1e-3  # there the multiplier is exact enough
                multipliers = (v[large].astype(float) / u[large] - 1.0) / steps[large]
                np.testing.assert_allclose(multipliers, multipliers.max(), rtol=1e-3, atol=100 * eps / steps.min())
            u = groups.prox(v, steps)
            np.testing.assert_array_equal(u[[3, 5, 6]], v[[3, 5, 6]])
            for weight, g in zip([0.5, 2.0], [[1, 2], [4, 0]], strict=True):
                length = np.linalg.norm(u[g].astype(float))
                if length > 0.0:
                    np.testing.assert_allclose(u[g] * (1.0 + steps[g] * weight / length), v[g], rtol=20 * eps)
                else:
                    assert np.linalg.norm(v[g].astype(float) / steps[g]) <= weight * (1.0 + 10 * eps)


def test_a_resumed_run_in_units_is_the_undisturbed_one(tmp_path):
    problem, _ = make_scaled("logistic", "L1", 1e6)
    whole = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-9)
    minmin.minimize(problem, method="reduced-lbfgs", tol=1e-9, max_iterations=4, checkpoint=tmp_path / "run")
    resumed = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-9, checkpoint=tmp_path / "run")
    assert resumed.calls == whole.calls
    assert resumed.x.tobytes() == whole.x.tobytes()
    assert resumed.fun == whole.fun
