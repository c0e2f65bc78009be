"""Bad luck with data: a run converges to the truth, or says in words why not."""

import numpy as np
import pytest

import minmin
from minmin.problems import GLM, Quadratic
from reference import glm_minimum

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 5)), RNG.standard_normal((60, 3))
ONES, ZEROS = np.ones((60, 1)), np.zeros((60, 1))
MIXED = np.where(RNG.uniform(size=60) < 0.5, 1.0, -1.0)
BY_X, BY_Y = np.sign(X @ RNG.standard_normal(5)), np.sign(Y @ [1.0, 2.0, -1.0])
BY_BOTH = np.sign(X @ RNG.standard_normal(5) + Y @ [1.0, 2.0, -1.0])
GROUP = (np.arange(60) < 20).astype(float)[:, None]  # a column of which only one class, or no count, is seen
ONE_CLASS_IN_GROUP = np.where(GROUP[:, 0] > 0, 1.0, MIXED)
COUNTS = RNG.poisson(1.0, 60).astype(float)


ALPHAS = [(1e-2, 1e-2), (1e-2, 0.0), (0.0, 1e-2), (0.0, 0.0)]


def glm(X, Y, target, alpha_x, alpha_y, loss="logistic", **options):
    return GLM(X, Y, target, loss, alpha_x=alpha_x, alpha_y=alpha_y, **options)


WITH_A_MINIMUM = {
    "separable, alpha = 1e-3": lambda: glm(X, Y, BY_BOTH, 1e-3, 1e-3),
    "separable, alpha = 1e-6": lambda: glm(X, Y, BY_BOTH, 1e-6, 1e-6),
    "separable, alpha = 1e-9": lambda: glm(X, Y, BY_BOTH, 1e-9, 1e-9),
    "separable, alpha = 1e-12": lambda: glm(X, Y, BY_BOTH, 1e-12, 1e-12),
    "separable in x, which alone is penalised": lambda: glm(X, Y, BY_X, 1e-3, 0.0),
    "no penalty": lambda: glm(X, Y, MIXED, 0.0, 0.0),
    "no penalty on x": lambda: glm(X, Y, MIXED, 0.0, 1e-2),
    "no penalty on y": lambda: glm(X, Y, MIXED, 1e-2, 0.0),
    "one class": lambda: glm(X, Y, np.ones(60), 0.1, 0.1),
    "one class, tiny penalties": lambda: glm(X, np.c_[Y, ONES], np.ones(60), 1e-9, 1e-9),
    "a constant column in both blocks": lambda: glm(np.c_[X, ONES], np.c_[Y, ONES], MIXED, 0.1, 0.1),
    "duplicate columns": lambda: glm(np.c_[X, X], np.c_[Y, Y], MIXED, 1e-3, 1e-3),
    "duplicated across the blocks, no penalty on y": lambda: glm(X, X, MIXED, 0.1, 0.0),
    "zero columns": lambda: glm(np.c_[X, ZEROS], np.c_[Y, ZEROS], MIXED, 1e-3, 1e-3),
    "all zero": lambda: glm(0 * X, 0 * Y, MIXED, 0.1, 0.1),
    "d_x = 1": lambda: glm(X[:, :1], Y, MIXED, 1e-3, 1e-3),
    "d_y = 1": lambda: glm(X, Y[:, :1], MIXED, 1e-3, 1e-3),
    "d_x = d_y = 1, no penalty": lambda: glm(X[:, :1], Y[:, :1], MIXED, 0.0, 0.0),
    "one row": lambda: glm(X[:1], Y[:1], [1.0], 0.1, 0.1),
    "weights from 1e-12 to 1": lambda: glm(X, Y, MIXED, 1e-6, 1e-9, sample_weight=np.geomspace(1e-12, 1, 60)),
    "weights of zero": lambda: glm(X, Y, MIXED, 1e-3, 1e-3, sample_weight=(np.arange(60) < 10) * 1.0),
    "margins of 1e8": lambda: glm(1e8 * X, Y, MIXED, 1e-3, 1e-3),
    "columns from 1e-8 to 1e3": lambda: glm(X * np.geomspace(1e-8, 1e3, 5), Y, MIXED, 1e-3, 1e-3),
    "least squares": lambda: glm(X, Y, 10 * MIXED, 1e-6, 0.0, "squared"),
    "least squares, no penalty": lambda: glm(X, Y, 10 * MIXED, 0.0, 0.0, "squared"),
}

SINGULAR = {
    "duplicate columns": lambda loss, t: glm(np.c_[X, X], np.c_[Y, Y], t, 0.0, 0.0, loss),
    "duplicated across the blocks": lambda loss, t: glm(X, np.c_[Y, X], t, 0.0, 0.0, loss),
    "constant columns": lambda loss, t: glm(np.c_[X, ONES], np.c_[Y, ONES], t, 0.0, 0.0, loss),
    "zero columns": lambda loss, t: glm(np.c_[X, ZEROS], np.c_[Y, ZEROS], t, 0.0, 0.0, loss),
}

WITHOUT_A_MINIMUM = {
    "separable in both blocks": lambda: glm(X, Y, BY_BOTH, 0.0, 0.0),
    "separable in x": lambda: glm(X, Y, BY_X, 0.0, 1e-2),
    "separable in y": lambda: glm(X, Y, BY_Y, 1e-2, 0.0),
    "separable in one column of y": lambda: glm(X, GROUP, ONE_CLASS_IN_GROUP, 1e-2, 0.0),
    "separable in one column of x": lambda: glm(GROUP, X, ONE_CLASS_IN_GROUP, 0.0, 1e-2),
    "separable in one column, no penalty": lambda: glm(X, np.c_[Y, GROUP], ONE_CLASS_IN_GROUP, 0.0, 0.0),
    "one class and a constant column": lambda: glm(X, np.c_[Y, ONES], np.ones(60), 0.1, 0.0),
    "one row": lambda: glm(X[:1], Y[:1], [1.0], 0.0, 0.0),
    "separable where weights are not zero": lambda: glm(X, Y, MIXED, 0, 0, sample_weight=(np.arange(60) < 5) * 1.0),
    "float32": lambda: glm(*(a.astype(np.float32) for a in (X, Y, BY_BOTH)), 0.0, 0.0),
    "no counts": lambda: glm(X, np.c_[Y, ONES], 0 * COUNTS, 0.1, 0.0, "poisson"),
    "no counts where a column is": lambda: glm(X, GROUP, np.where(GROUP[:, 0] > 0, 0.0, 1.0), 0.1, 0.0, "poisson"),
    "a quadratic, linear in x": lambda: Quadratic(np.diag([0.0, 1.0, 1.0]), [1.0, 0.0, 0.0], 2),
    "a quadratic, linear in y": lambda: Quadratic(np.diag([1.0, 1.0, 0.0]), [1.0, 0.0, 1.0], 2),
    "a plane": lambda: Quadratic(np.zeros((4, 4)), np.ones(4), 2),
    "a quadratic, linear in some direction": lambda: Quadratic(X[:3].T @ X[:3], RNG.standard_normal(5), 2),
}


@pytest.mark.parametrize("name", WITH_A_MINIMUM)
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_the_minimum_is_found(name, tol, record_property):
    problem = WITH_A_MINIMUM[name]()
    r = minmin.minimize(problem, method="reduced-newton", tol=tol)
    _, minimum = glm_minimum(problem)
    assert r.status == "converged", r
    assert r.fun - minimum <= r.gap_bound + 1e-13 * (1 + abs(minimum))
    assert r.gap_bound <= tol
    assert r.certified or problem.alpha_x == 0.0
    record_property("hard input", f"reduced-newton: {name}, tol {tol:g}: {r.status}")


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize(("loss", "target"), [("logistic", MIXED), ("squared", MIXED), ("poisson", COUNTS)])
def test_columns_that_say_the_same_twice(name, loss, target):
    """The minimiser is not unique, but the minimum is: that with a penalty which is nearly nothing."""
    problem = SINGULAR[name](loss, target)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-8)
    nearly = glm(problem.X, problem.Y, problem.target, 1e-10, 1e-10, loss)
    assert r.status == "converged", r
    assert r.fun == pytest.approx(minmin.minimize(nearly, tol=1e-11).fun, abs=2e-8)


@pytest.mark.parametrize("name", WITHOUT_A_MINIMUM)
@pytest.mark.parametrize("tol", [1e-1, 1e-6])
def test_no_minimum_is_an_error_that_says_so(name, tol, record_property):
    with pytest.raises(minmin.NoMinimumError, match="has no minimum") as caught:
        minmin.minimize(WITHOUT_A_MINIMUM[name](), method="reduced-newton", tol=tol)
    assert np.isfinite(caught.value.result.fun)
    record_property("hard input", f"reduced-newton: {name}, tol {tol:g}: NoMinimumError")


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e12, 1e100, 1e160])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_start_whose_margins_are_huge(loss, far, alpha, record_property):
    problem = glm(X, Y, COUNTS if loss == "poisson" else MIXED, *alpha, loss)
    best = minmin.minimize(problem, method="reduced-newton", tol=1e-10)
    try:
        r = minmin.minimize(problem, np.full(5, far), method="reduced-newton", tol=1e-6)
    except minmin.NonFiniteError:
        record_property("hard input", f"reduced-newton: {loss}, {alpha}, start {far:g}: NonFiniteError")
        assert far > 1e150 or loss == "poisson"
        return
    record_property("hard input", f"reduced-newton: {loss}, {alpha}, start {far:g}: {r.status}")
    assert r.status in ("converged", "stalled")
    assert r.fun - best.fun <= r.gap_bound + 1e-12
    if r.success:
        assert r.gap_bound <= 1e-6


@pytest.mark.parametrize("far", [1e2, 1e3, 1e4, 1e6])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("block", ["x", "y"])
def test_from_far_away_the_minimum_is_found_though_f_is_nearly_flat_there(far, alpha, block):
    """Curvatures of exp(-far) say nothing of where the minimum is; a step of 1e150 would be no news."""
    problem = glm(X, Y, MIXED, *alpha)
    _, minimum = glm_minimum(problem)
    for seed in range(5):
        start = far * np.random.default_rng(seed).standard_normal(5 if block == "x" else 3)
        starts = (start, None) if block == "x" else (None, start)
        r = minmin.minimize(problem, *starts, method="reduced-newton", tol=1e-8)
        assert r.status == "converged", r
        assert r.fun - minimum <= r.gap_bound + 1e-13


FLAT_BY_CHANCE = {
    "no curvature at the start": (lambda: glm([[1.0], [1.0]], [[1.0], [-1.0]], [1, -1], 0.0, 1.0), [1000.0]),
    "a huge row": (
        lambda: glm(
            [[1.0, 0.0], [0.0, 1.0], [3e7, 3e7]], [[1.0], [0.0], [0.0]], [2.0, 0.0, -1.0], 1e-2, 1.0, "squared"
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", FLAT_BY_CHANCE)
def test_data_that_look_flat_have_a_minimum_all_the_same(name):
    make, start = FLAT_BY_CHANCE[name]
    problem = make()
    r = minmin.minimize(problem, start, method="reduced-newton")
    _, minimum = glm_minimum(problem)
    assert r.status in ("converged", "stalled")
    assert r.fun - minimum <= r.gap_bound + 1e-14


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha_y", [0.0, 1e-6])
def test_estimates_are_not_below_the_gap_where_curvatures_differ_widely(seed, alpha_y):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 5)) * np.geomspace(1e-3, 1.0, 5)
    problem = glm(A, Y, MIXED, 0.0, alpha_y)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-2)
    assert r.success
    assert not r.certified
    assert r.fun - glm_minimum(problem)[1] <= r.gap_bound


@pytest.mark.parametrize("block", ["x", "y"])
def test_one_huge_outlier_is_not_taken_for_all_samples(block):
    """It dwarfs what the others say in every direction; they must be heard all the same."""
    outlier = np.where(np.arange(60) == 7, 1e13, 1.0)[:, None]
    problem = glm(*((outlier * X, Y) if block == "x" else (X, outlier * Y)), MIXED, 1e-3, 0.0)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-8)
    assert r.status in ("converged", "stalled")
    assert r.fun <= glm_minimum(glm(X, Y, MIXED, 1e-3, 0.0))[1] + 0.02


@pytest.mark.parametrize("alpha", [(0.0, 0.0), (0.0, 1e-3), (1e-3, 0.0)])
@pytest.mark.parametrize(("dtype", "decades"), [(np.float64, 8), (np.float32, 3)])
def test_units_of_columns_do_not_make_data_separable(alpha, dtype, decades):
    """A column of large numbers must not hide that others have samples against them."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A, B = (M * 10 ** rng.uniform(-decades, decades, M.shape[1]) for M in (X, Y))
        problem = glm(*(M.astype(dtype) for M in (A, B, MIXED)), *alpha)
        r = minmin.minimize(problem, method="reduced-newton")
        assert r.status in ("converged", "stalled")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("unit", [1e-3, 1e6])
def test_units_of_columns_do_not_hide_that_data_are_separable(dtype, unit):
    problem = glm(*(M.astype(dtype) for M in (X, np.c_[unit * Y, GROUP], ONE_CLASS_IN_GROUP)), 0.0, 0.0)
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(problem, method="reduced-newton", tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
def test_zero_columns_in_a_large_y_without_a_penalty(loss):
    rng = np.random.default_rng(0)
    B = np.c_[Y, np.zeros((60, 1100))]
    target = COUNTS if loss == "poisson" else MIXED
    small, large = (glm(X, A, target, 1e-2, 0.0, loss) for A in (Y, B))
    r = minmin.minimize(large, 0.1 * rng.standard_normal(5), rng.standard_normal(1103), "reduced-newton", tol=1e-8)
    assert r.status == "converged", r
    assert r.fun - glm_minimum(small)[1] <= r.gap_bound + 1e-13


@pytest.mark.parametrize("stop", [{"tol": 1e-2}, {"tol": 0.0, "target_value": True}])
@pytest.mark.parametrize("seed", range(5))
def test_a_bound_that_rounding_spoils_does_not_end_a_run_while_f_falls(seed, stop):
    """Large columns in y with next to no penalty: noise²/alpha is huge, but f falls for some steps yet."""
    rng = np.random.default_rng(seed)
    problem = glm(X, rng.standard_normal((60, 3)) * [1e5, 1e5, 1e8], MIXED, 1e-2, 1e-12)
    _, minimum = glm_minimum(problem)
    if "target_value" in stop:
        stop = {**stop, "target_value": minimum + 1e-9}
    r = minmin.minimize(problem, method="reduced-newton", **stop)
    assert r.fun <= minimum + 1e-9
    assert r.success or r.gap_bound > 1e-2


def test_a_sum_has_no_minimum_where_a_term_has_none_in_its_own_y():
    terms = [glm(X, Y, MIXED, 1e-2, 0.0), glm(X, GROUP, ONE_CLASS_IN_GROUP, 1e-2, 0.0)]
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(minmin.Sum(terms), method="reduced-newton", tol=1e-9)


def test_a_sum_may_have_a_minimum_though_a_term_has_none_in_x():
    terms = [glm(X, Y, BY_X, 0.0, 1e-2), glm(X, Y, MIXED, 0.0, 1e-2)]
    r = minmin.minimize(minmin.Sum(terms), method="reduced-newton", tol=1e-6)
    assert r.success


def test_underflow_is_no_error_for_whoever_wants_to_hear_of_floating_point():
    with np.errstate(all="raise"):
        r = minmin.minimize(glm(X, Y, MIXED, 1e-2, 1e-2), np.full(5, 1e3), method="reduced-newton")
    assert r.success
