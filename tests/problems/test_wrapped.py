"""Problems around other problems: they keep the abilities of the one inside, second order included."""

import dataclasses

import numpy as np
import pytest

import minmin
from minmin.core.regularized import Regularized
from minmin.core.wrapped import Assumed
from minmin.problems import GLM, Composite, Function, Quadratic, Softmax, Split
from minmin.terms import L1
from reference import as_function


def draw_glm(rng, loss="logistic", alpha=0.0, K=1):
    X, Y, z = rng.standard_normal((30, 4)), rng.standard_normal((30, 3)), rng.standard_normal(30)
    if K > 1:
        return Softmax(X, Y, rng.integers(K, size=30), alpha_x=alpha, alpha_y=alpha)
    target = np.sign(z) if loss == "logistic" else np.exp(z) if loss == "poisson" else z
    return GLM(X, Y, target, loss, alpha_x=alpha, alpha_y=alpha)


def draw_flat(rng):
    """A quadratic with a minimum and without curvature in some directions."""
    A = rng.standard_normal((5, 7))
    return Quadratic(A.T @ A, A.T @ rng.standard_normal(5), 4)


CONVEX = {
    "quadratic": draw_flat,
    "GLM": draw_glm,
    "softmax": lambda rng: draw_glm(rng, K=3),
    "sum": lambda rng: minmin.Sum([draw_glm(rng), draw_glm(rng)]),
    "composite": lambda rng: Composite(draw_glm(rng), term_x=L1(0.01)),
    "split": lambda rng: Split(draw_glm(rng), draw_glm(rng)),
}


@pytest.mark.parametrize("kind", CONVEX)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_radius_goes_with_newton_steps_in_y_and_the_bound_holds(kind, seed):
    problem = CONVEX[kind](np.random.default_rng(seed))
    best = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-13)
    r = minmin.minimize(problem, method="bam", inner="newton", radius=30.0, tol=1e-3)
    assert r.status == "converged"
    assert (r.certified, r.bound.basis) == (True, "constants")
    assert r.fun - best.fun <= r.gap_bound <= 1e-3
    assert r.calls["hess_yy"] > 0


SECOND_ORDER = {
    "split of GLMs": lambda rng: Split(draw_glm(rng, alpha=1e-3), draw_glm(rng, alpha=1e-2)),
    "split of Poisson models": lambda rng: Split(*(draw_glm(rng, "poisson", alpha=1e-2) for _ in range(2))),
    "split of softmax models": lambda rng: Split(*(draw_glm(rng, alpha=1e-2, K=3) for _ in range(2))),
    "regularised GLM": lambda rng: Regularized(draw_glm(rng), (np.ones(4), np.ones(3)), (0.1, 0.2)),
    "regularised sum": lambda rng: Regularized(
        minmin.Sum([draw_glm(rng), draw_glm(rng)]),
        (np.ones(4), minmin.Parts([np.ones(3)] * 2, (0.5, 0.5))),
        (0.1, 0.2),
    ),
    "assumed constants": lambda rng: Assumed(draw_glm(rng, alpha=0.1), minmin.Constants(50.0, 50.0, 0.1, 0.1)),
}


@pytest.mark.parametrize("kind", SECOND_ORDER)
def test_reduced_newton_runs_on_wrapped_problems(kind):
    problem = SECOND_ORDER[kind](np.random.default_rng(3))
    best = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-12)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-8)
    assert r.status == "converged"
    assert r.fun - best.fun <= r.gap_bound <= 1e-8
    assert r.calls["hess_product"] > 0


@pytest.mark.parametrize("kind", [*SECOND_ORDER, "split of a GLM and a quadratic"])
def test_the_hessian_of_a_wrapped_problem_is_that_of_its_gradient(kind):
    if kind in SECOND_ORDER:
        problem = SECOND_ORDER[kind](np.random.default_rng(5))
    else:
        problem = Split(draw_glm(np.random.default_rng(5)), Quadratic.random(d_x=4, d_y=3, coupling=1.0))
    assert problem.traits.is_second_order
    report = minmin.check(problem)
    assert report.ok, report


def test_a_split_counts_points_of_f_and_g_and_its_expensive_products_once():
    rng = np.random.default_rng(0)
    split = Split(draw_glm(rng, alpha=0.1), draw_glm(rng, alpha=0.1))
    calls = minmin.minimize(split, method="reduced-newton", tol=1e-8).calls
    alone = minmin.minimize(draw_glm(rng, alpha=0.1), method="reduced-newton", tol=1e-8).calls
    assert calls["grad_f"] == calls["grad_g"]
    assert calls["grad_x"] <= calls["grad_f"] <= calls["grad_x"] + calls["grad_y"]
    assert calls["hess_yy"] <= 2 * alone["hess_yy"]


def test_wrappers_say_what_they_change_and_keep_the_other_traits():
    quadratic = Quadratic.random(d_x=3, d_y=2, coupling=1.0)
    inside = minmin.Sum([quadratic, quadratic])
    term = L1(0.1)
    assert inside.traits.part_sizes == (2, 2)
    for wrapped, changes in (
        (Composite(inside, term_x=term), {"term_x": term}),
        (Regularized(inside, (0.0, 0.0), (1.0, 1.0)), {"flat_gradient_proves_unbounded": False}),
        (Assumed(inside, quadratic.constants), {}),
    ):
        assert wrapped.traits == dataclasses.replace(inside.traits, **changes)
    function = as_function(quadratic)
    swapped = function.swapped().traits
    assert (swapped.d_x, swapped.d_y, swapped.is_second_order) == (2, 3, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        swapped.d_x = 1


def test_the_rows_of_a_wrapped_problem_are_those_inside():
    rng = np.random.default_rng(0)
    glm = draw_glm(rng)
    regularized = Regularized(Composite(glm, term_y=L1(0.5)), (np.ones(4), np.ones(3)), (0.1, 0.2))
    (part,) = regularized.fix(rng.standard_normal(4)).parts
    known, new = (part.at(rng.standard_normal(3)) for _ in range(2))
    n = glm.X.shape[0]
    change = part.estimate_change(known, new.y, np.arange(n), np.ones(n))
    assert np.allclose(change, new.grad_y - known.grad_y, rtol=1e-10)
    assert np.array_equal(part.find_row_smoothness(), glm.fix(part.x).find_row_smoothness())


def test_swapped_blocks_swap_passes_and_terms_too():
    rng = np.random.default_rng(0)
    split = Split(draw_glm(rng, alpha=0.1), Quadratic.random(d_x=4, d_y=3))
    assert split.swapped().passes_for_constants() == split.passes_for_constants()[::-1] != (0, 0)
    with_terms = minmin.Sum([Composite(draw_glm(rng, alpha=0.1), term_y=L1(0.5))]).swapped()
    assert with_terms.without_terms().term_x is None


def test_where_blocks_are_exchanged_the_error_of_differences_is_that_of_the_other_gradient():
    quadratic = Quadratic.random(d_x=3, d_y=2, L_x=5.0, L_y=7.0, coupling=1.0)
    given = as_function(quadratic)
    by_values = Function(
        lambda x, y: given.value(x, y) + 1e6, given.grad_x, None, d_x=3, d_y=2, constants=quadratic.constants
    )
    evaluation, swapped = by_values.fix(np.ones(3)).at(np.ones(2)), by_values.swapped()
    exchanged = swapped.fix(np.ones(2)).at(np.ones(3))
    for e in (evaluation, exchanged):
        assert np.isfinite(e.grad_x_norm + e.grad_y_norm)
    in_x, in_y = by_values.gradient_noise(evaluation)
    assert in_y > 1e6 * in_x
    assert swapped.gradient_noise(exchanged)[0] >= in_y


def test_what_is_not_finite_in_either_part_of_a_split_is_explained():
    rng = np.random.default_rng(0)
    X, target = 1e4 * rng.standard_normal((30, 4)), rng.poisson(1.0, 30).astype(float)
    steep = GLM(X, rng.standard_normal((30, 3)), target, "poisson", alpha_x=0.1, alpha_y=0.1)
    other = Quadratic.random(d_x=4, d_y=3)
    for split in (Split(steep, other), Split(other, steep)):
        with pytest.raises(minmin.NonFiniteError, match=r"a column has numbers of about 1e\+04"):
            minmin.minimize(split, np.ones(4), np.ones(3))
