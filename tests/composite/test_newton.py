"""reduced-newton with terms: bounds at every iteration, the answers of other solvers, and how little it computes."""

import numpy as np
import pytest
import scipy.sparse

import minmin
from composite.cases import draw_case
from composite.independent import find_minima
from composite.test_certificates import run_and_compare
from composite.test_zeros import find_clear_zeros
from minmin.problems import GLM, Composite, Quadratic, Softmax, Split
from minmin.terms import L1, Box, ElasticNet, GroupL2, NonNegative

PIECES = ("none", "L1", "Box", "GroupL2", "ElasticNet")


def draw_term(rng, kind, d):
    return {
        "none": None,
        "L1": L1(10 ** rng.uniform(-3, -1, size=d)),
        "ElasticNet": ElasticNet(10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-3, 0)),
        "Box": Box(-(10 ** rng.uniform(-1.5, 0.5)), 10 ** rng.uniform(-1.5, 0.5)),
        "NonNegative": NonNegative(),
        "GroupL2": GroupL2(10 ** rng.uniform(-2.5, -1), [g.tolist() for g in np.array_split(rng.permutation(d), 2)]),
    }[kind]


def draw_glm(rng, loss, d=12, m=4, alpha=1e-3):
    """With columns in other units, two equal ones and one of zeros; sparse in half of the cases."""
    n = int(rng.integers(30, 120))
    X, Y = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1, size=d), rng.standard_normal((n, m))
    X[:, 0], X[:, 1] = X[:, 2], 0.0
    margins = X[:, :4] @ rng.standard_normal(4) * 0.1 + Y @ rng.standard_normal(m) * 0.3
    target = {
        "logistic": lambda: np.sign(margins + rng.logistic(size=n)),
        "squared": lambda: margins + rng.standard_normal(n),
        "huber": lambda: margins + rng.standard_t(2, size=n),
        "poisson": lambda: rng.poisson(np.exp(np.clip(margins, -4, 3))).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(np.clip(margins, -3, 3))),
    }[loss]()
    if rng.random() < 0.5:
        X = scipy.sparse.csr_array(X * (rng.random(X.shape) < 0.3))
    weights = rng.random(n) + 0.1
    return GLM(X, Y, target, loss, alpha_x=alpha, alpha_y=alpha, sample_weight=weights)


def draw_problem(rng, kind):
    if kind == "softmax":
        X, Y, labels = rng.standard_normal((60, 5)), rng.standard_normal((60, 2)), rng.integers(0, 3, size=60)
        return Softmax(X, Y, labels, alpha_x=1e-3, alpha_y=1e-2)
    if kind == "quadratic":
        return Quadratic.random(d_x=12, d_y=5, coupling=1.0, seed=int(rng.integers(1000)))
    if kind == "sum":
        return minmin.Sum([draw_glm(rng, loss) for loss in ("logistic", "squared")], weights=[0.3, 1.2])
    if kind == "split":
        return Split(draw_glm(rng, "logistic"), draw_glm(rng, "squared"))
    return draw_glm(rng, kind)


@pytest.mark.parametrize("seed", range(2))
def test_no_bound_is_below_the_true_gap_and_zeros_are_exact(seed):
    """60 quadratics and logistic regressions with terms in x, in y, or in both, beside an independent solver."""
    rng = np.random.default_rng(seed)
    cases = []
    while len(cases) < 30:
        kinds = tuple(str(kind) for kind in rng.choice(PIECES, size=2))
        if kinds != ("none", "none"):
            cases.append(
                draw_case(rng, kinds, logistic=len(cases) % 2 == 0, spread=4.0 if len(cases) % 4 == 3 else 1.0)
            )
    for i, minimum in enumerate(find_minima(cases)):
        tol = 10 ** rng.uniform(-11, -3) * minimum.size
        allow = 1e-19 * minimum.size  # of the independent solver's own rounding
        run_and_compare(minimum, minimum.case.problem(), allow, method="reduced-newton", tol=tol, max_iterations=100)
        r = minmin.minimize(minimum.case.problem(), method="reduced-newton", tol=1e-12 * minimum.size)
        assert r.success, (i, r)
        assert np.all(np.concatenate([r.x, r.y])[find_clear_zeros(minimum)] == 0.0)


@pytest.mark.parametrize(
    "kind", ["logistic", "squared", "poisson", "gamma", "huber", "softmax", "quadratic", "sum", "split"]
)
def test_the_answers_are_those_of_reduced_lbfgs(kind):
    """With terms of every kind in x, in y, or in both; the same coordinates are zero or on a bound."""
    kinds = ("L1", "ElasticNet", "Box", "NonNegative", "GroupL2")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        f = draw_problem(rng, kind)
        term_x = draw_term(rng, kinds[seed % 5] if seed < 7 else "none", f.d_x)
        term_y = None
        if seed % 2 or seed >= 5:
            term_y = [draw_term(rng, kinds[(seed + 2) % 5], d) for d in f.part_sizes or [f.d_y]]
            term_y = term_y if f.part_sizes else term_y[0]
        p = Composite(f, term_x, term_y)
        r = minmin.minimize(p, method="reduced-newton", tol=1e-9)
        other = minmin.minimize(p, method="reduced-lbfgs", tol=1e-9)
        assert r.success, (seed, r)
        assert r.certified, (seed, r)
        assert abs(r.fun - other.fun) <= 2e-9
        for term, x, its in ((term_x, r.x, other.x), (term_y, r.y, other.y)):
            if term is not None and not f.part_sizes:
                assert np.abs(x - its).max() <= 5e-3
                assert np.array_equal(x[np.abs(its) > 1e-3] == 0.0, its[np.abs(its) > 1e-3] == 0.0)


@pytest.mark.parametrize("kind", ["logistic", "poisson", "huber", "quadratic", "sum"])
def test_f_and_the_terms_fall_in_every_step_and_at_last_superlinearly(kind):
    """Also from far starts; Lee, Sun and Saunders, "Proximal Newton-type methods" (2014)."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        f = draw_problem(rng, kind)
        p = Composite(f, draw_term(rng, ("L1", "Box", "GroupL2", "ElasticNet")[seed], f.d_x))
        far = (0.0, 0.1, 0.3, 1.0) if kind == "poisson" else (0.0, 1.0, 30.0, 300.0)  # exp would overflow
        x0 = far[seed] * rng.standard_normal(f.d_x)
        values = []
        r = minmin.minimize(p, x0, method="reduced-newton", tol=1e-10, callback=lambda i, v=values: v.append(i.value))
        assert r.success
        values = np.array([*values, r.fun])
        assert np.all(np.diff(values) <= 1e-13 * (1.0 + np.abs(values[:-1])))
        gaps = values - values[-1]
        near = gaps[(gaps > 1e-9) & (gaps < 1e-3)]
        assert np.all(near[1:] <= 0.1 * near[:-1])


def draw_sparse(seed, n=2000, d=300, dense=5):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.02, format="csr", rng=rng, data_sampler=lambda size: np.ones(size))
    Y, w = rng.standard_normal((n, dense)), np.zeros(d)
    w[:20] = rng.standard_normal(20)
    labels = np.sign(X @ w + Y.sum(axis=1) / 2 + rng.logistic(size=n))
    return GLM(X, Y, labels, "logistic", alpha_x=0.0, alpha_y=0.0)


def test_sparse_columns_cost_two_full_products_per_step():
    """One for ∇F, and one for the first point; the steps of conjugate gradients use the columns that move alone."""
    r = minmin.minimize(Composite(draw_sparse(0), L1(2e-3)), tol=1e-9)
    assert r.method == "reduced-newton"
    assert r.success
    assert 0 < np.count_nonzero(r.x) < 60
    assert r.nit <= 8
    assert r.calls["passes"] <= r.nit + 6
    assert r.calls["passes_of_columns"] >= 2 * r.calls["hess_product"]


def test_a_quadratic_penalty_costs_the_same_as_a_term():
    for seed in range(3):
        f = draw_sparse(seed)
        as_penalty = minmin.minimize(GLM(f.X, f.Y, f.target, "logistic", alpha_x=1e-3, alpha_y=0.0), tol=1e-9)
        as_term = minmin.minimize(Composite(f, ElasticNet(0.0, 1e-3)), tol=1e-9)
        assert as_term.method == as_penalty.method == "reduced-newton"
        assert as_term.certified
        assert np.allclose(as_term.x, as_penalty.x, atol=1e-4)
        assert as_term.calls["grad_x"] <= as_penalty.calls["grad_x"] + 1
        assert as_term.calls["hess_product"] <= 1.5 * as_penalty.calls["hess_product"]


def test_a_run_resumes_to_the_same_bits(tmp_path):
    p = Composite(draw_sparse(2), L1(1e-3), Box(-0.3, 0.3))
    whole = minmin.minimize(p, tol=1e-10)
    minmin.minimize(p, tol=1e-10, max_iterations=3, checkpoint=tmp_path / "c.npz")
    resumed = minmin.minimize(p, tol=1e-10, checkpoint=tmp_path / "c.npz")
    assert whole.method == "reduced-newton"
    assert np.array_equal(whole.x, resumed.x)
    assert np.array_equal(whole.y, resumed.y)
    assert whole.gap_bound == resumed.gap_bound
    assert whole.nit == resumed.nit


def test_separated_data_have_no_minimum_with_a_term_in_x():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    with pytest.raises(minmin.NoMinimumError):
        minmin.minimize(Composite(GLM(X, Y, np.sign(Y[:, 0]), alpha_x=0.0, alpha_y=0.0), L1(0.1)))


def test_gtol_alone_ends_a_run():
    f = draw_sparse(1)
    for terms in ((L1(2e-3), None), (Box(-0.1, 0.1), L1(0.01)), (None, NonNegative())):
        p = Composite(f if terms[0] else draw_glm(np.random.default_rng(0), "logistic"), *terms)
        r = minmin.minimize(p, method="reduced-newton", gtol=1e-6, tol=0)
        assert r.status == "converged", r
        assert p.evaluate(r.x, r.y).gradient_size <= 1e-6


def test_a_limit_that_is_never_reached_is_approached_with_a_bound():
    """Separated data and terms that do not hold all coordinates: f falls towards zero, which the losses prove."""
    rng = np.random.default_rng(0)
    X, Y, weights = rng.standard_normal((40, 30)), rng.standard_normal((40, 3)), np.zeros(30)
    weights[:5] = 0.1
    logistic = GLM(X, Y, np.sign(X[:, 9]), alpha_x=0.0, alpha_y=0.0)
    softmax = Softmax(X, Y, X[:, 9] > 0, alpha_x=0.0, alpha_y=0.0)
    for f, terms in (
        (logistic, (L1(weights), Box(-1, 1))),
        (softmax, (NonNegative(), None)),
        (softmax, (None, L1(0.1))),
    ):
        for method in ("reduced-newton", "reduced-lbfgs"):
            r = minmin.minimize(Composite(f, *terms), method=method, tol=1e-7)
            assert r.success
            assert r.certified
            assert r.fun <= r.gap_bound <= 1e-7


def test_starts_where_the_losses_explode_or_vanish_are_left():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((26, 36)), rng.standard_normal((26, 2))
    lower = -10.0 * rng.random(36)
    upper = np.where(rng.random(36) < 0.5, lower, lower + 5.0)
    exploding = GLM(5.0 * X, Y, np.ones(26), "poisson", alpha_x=3e-4, alpha_y=6e-5)
    vanishing = GLM(X, Y, np.sign(rng.standard_normal(26)), "logistic", alpha_x=0.0, alpha_y=0.0)
    for f, terms, far in ((exploding, (Box(lower, upper), NonNegative()), 0.0), (vanishing, (L1(0.1), L1(0.1)), 1e3)):
        x, y = far * rng.standard_normal(36), far * rng.standard_normal(2)
        r = minmin.minimize(Composite(f, *terms), x, y, method="reduced-newton", tol=1e-8)
        assert r.certified
        assert r.bound.value <= max(1e-8, 2.0 * r.bound.floor), r
        assert r.calls["hess_product"] <= 6000, r


def test_terms_without_known_pieces_are_refused_with_a_remedy():
    p = Composite(draw_sparse(0), minmin.terms.L2Ball(1.0))
    with pytest.raises(minmin.UnsupportedError, match=r"needs terms whose smooth pieces are known.*'reduced-lbfgs'"):
        minmin.minimize(p, method="reduced-newton")
    assert minmin.minimize(p, tol=1e-6).method == "reduced-lbfgs"
