"""reduced-newton: few products, counted exactly, and no constants."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import minmin
from benchmark_utils.clicks import first_kind, second_kind
from minmin.core.start import make_start
from minmin.methods import reduced_newton, y_system
from minmin.methods.newton_step import solve_newton_system
from minmin.methods.y_system import YSystem
from minmin.numerics.dense import inverse_root
from minmin.numerics.step_search import search_step
from minmin.problems import GLM, Quadratic
from minmin.problems.linear import sampling
from minmin.problems.linear.designs import DenseDesign, SparseDesign
from minmin.problems.spectrum import ProvedConstants
from reference import (
    ExactQuadratic,
    as_function,
    glm_minimum,
    random_columns_glm,
    random_glm,
    random_quadratic,
    random_softmax,
)

seeds = st.integers(0, 10**6)
LOSSES = ["logistic", "squared", "poisson"]


def problem_of(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "sum":
        return minmin.Sum(
            [Quadratic.random(d_x=4, d_y=i + 1, coupling=1.0, seed=seed + i) for i in range(3)], [1, 2, 3]
        )
    if kind == "softmax":
        return random_softmax(rng, sparse=bool(seed % 2))
    if kind == "columns":
        return random_columns_glm(rng, LOSSES[seed % 3], sparse=bool(seed % 2), free_x=True)
    return random_quadratic(rng, 1e3) if kind == "quadratic" else random_glm(rng, kind, sparse=bool(seed % 2))


def random_like(vector, rng):
    if isinstance(vector, minmin.Parts):
        return vector.map(lambda part: rng.standard_normal(part.shape))
    return rng.standard_normal(vector.shape)


def dense_hessian(problem, x, y):
    """The Hessian of f in (x, y) by central differences of both gradients."""
    z, d_x = np.concatenate([x, y]), len(x)
    columns = []
    for i in range(len(z)):
        step = 1e-5 * np.eye(len(z))[i]
        ends = [problem.fix((z + s * step)[:d_x]).at((z + s * step)[d_x:]) for s in (-1, 1)]
        low, high = (np.concatenate([e.grad_x, e.grad_y]) for e in ends)
        columns.append((high - low) / 2e-5)
    return np.array(columns).T


@pytest.mark.parametrize("kind", ["quadratic", "columns", "softmax", *LOSSES])
@given(seed=seeds)
def test_products_and_the_schur_complement_are_those_of_the_dense_hessian(kind, seed):
    problem, rng = problem_of(kind, seed), np.random.default_rng(seed)
    x, y, dx, dy = (0.3 * rng.standard_normal(d) for d in 2 * (problem.d_x, problem.d_y))
    H = dense_hessian(problem, x, y)
    n = problem.d_x
    here = problem.fix(x).at(y)
    along = here.slice.along(dx)
    close = {"rtol": 1e-5, "atol": 1e-5 * np.abs(H).max()}
    assert np.allclose(here.hess_product(along, dy), H[:n] @ np.concatenate([dx, dy]), **close)
    assert np.allclose(here.hess_yx(along), H[n:, :n] @ dx, **close)
    assert np.allclose(here.hess_yy_product(dy), H[n:, n:] @ dy, **close)
    assert np.allclose(here.hess_xx_diagonal(), np.diag(H)[:n], **close)
    assert np.allclose(here.hess_yy_diagonal(), np.diag(H)[n:], **close)
    assert np.allclose(here.model_after(dy).grad_x, here.grad_x + H[:n, n:] @ dy, **close)
    assert here.slope(along, dy) == pytest.approx(here.grad_x @ dx + here.grad_y @ dy, rel=1e-9, abs=1e-12)
    schur = H[:n, :n] - H[:n, n:] @ np.linalg.solve(H[n:, n:], H[n:, :n])
    reduced = here.hess_product(along, -YSystem(here).solve(here.hess_yx(along)))
    assert np.allclose(reduced, schur @ dx, **close)


@pytest.mark.parametrize("kind", ["quadratic", "sum", "columns", "softmax", *LOSSES])
@given(seed=seeds)
def test_a_moved_slice_says_what_a_fresh_one_says(kind, seed):
    problem, rng = problem_of(kind, seed), np.random.default_rng(seed)
    x, y, dx = (0.3 * random_like(v, rng) for v in (*make_start(problem), make_start(problem)[0]))
    slice_ = problem.fix(x)
    along = slice_.along(dx)
    along = along.times(2.0).add(-0.5, along)
    moved, fresh = slice_.moved(along, 0.7).at(y), problem.fix(x + 1.05 * dx).at(y)
    again = problem.evaluate(moved.x, moved.y, moved.cache)
    for e in (moved, again):
        assert e.value == pytest.approx(fresh.value, rel=1e-12, abs=1e-12)
        assert np.allclose(e.grad_x, fresh.grad_x, rtol=1e-10, atol=1e-10)


@given(seed=seeds)
def test_on_a_quadratic_one_exact_step_is_the_minimiser(seed):
    problem = random_quadratic(np.random.default_rng(seed), 1e3)
    exact, rng = ExactQuadratic(problem), np.random.default_rng(seed)
    x, y = rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y)
    here = problem.fix(x).at(y)
    system = YSystem(here)
    dy = system.y_step.dy
    gradient, preconditioner = here.model_after(dy).grad_x, here.x_preconditioner()
    step = solve_newton_system(system, gradient, dy, preconditioner, tolerance=1e-13, most_steps=50 * problem.d_x)
    assert exact.gap(x + step.direction.dx, y + step.dy) <= 1e-12 * (exact.gap(x, y) + 1e-12)


def counting(kind, counts, base):
    """A design that counts its products with vectors, each of them a pass over the data."""

    class Counting(base):
        def image(self, v):
            counts[kind] += 1
            return super().image(v)

        def adjoint(self, r):
            counts[kind] += 1
            return super().adjoint(r)

        def column_squares(self, r):
            counts[kind] += 1
            return super().column_squares(r)

        def row_squares(self, v):
            counts[kind] += 1
            return super().row_squares(v)

        def sample(self, rows, columns=None):
            counts[kind] += 1
            return super().sample(rows, columns)

        @property
        def row_norms_squared(self):
            if "norms" not in self.__dict__:
                counts[kind] += 1
                self.norms = base.row_norms_squared.func(self)
            return self.norms

    return Counting


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("stop", [{"tol": 1e-9}, {"max_grad_x": 3}, {"tol": 0, "max_grad_y": 5}, {"tol": 1e-300}])
def test_passes_are_the_products_made_whoever_watches(loss, stop, monkeypatch):
    """Two per step of conjugate gradients, one for ∇F, one or two for the preconditioner; one per run for norms."""
    monkeypatch.setattr(sampling, "_FIXED_COST", 0.0)  # so that a sample pays on small data, too
    for seed in range(5):
        plain = random_glm(np.random.default_rng(seed), loss, sparse=True)
        counts = {"passes": 0, "passes_y": 0}
        problem = GLM(
            counting("passes", counts, SparseDesign)(plain.X),
            counting("passes_y", counts, DenseDesign)(plain.Y),
            plain.target,
            loss,
            alpha_x=plain.alpha_x,
            alpha_y=plain.alpha_y,
            sample_weight=plain.weights,
        )
        r = minmin.minimize(problem, method="reduced-newton", callback=lambda record: False, **stop)
        assert counts == {kind: r.calls[kind] for kind in counts}
        assert r.calls["monitor"] == r.nit + 1


def test_no_constants_are_computed(monkeypatch):
    def never(self, cost_ratio):
        raise AssertionError("somebody asked for the constants")

    monkeypatch.setattr(ProvedConstants, "choose", never)
    rng = np.random.default_rng(0)
    for loss in LOSSES:
        for start in (np.float64, np.float32):
            problem = random_glm(rng, loss)
            r = minmin.minimize(problem, np.zeros(problem.d_x, start), tol=1e-3)
            assert r.success
            assert r.certified
            assert r.method == "reduced-newton"


@pytest.fixture(scope="module", params=[0, 11])
def clicks(request):
    return first_kind(request.param)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "by_value", "certified"), [((2e-3, 2e-7), 45, 60), ((2e-5, 2e-8), 75, 100), ((2e-6, 2e-9), 120, 170)]
)
def test_few_passes_on_clicks(clicks, alpha, by_value, certified):
    require_few_passes(GLM(*clicks, alpha_x=alpha[0], alpha_y=alpha[1]), by_value, certified)


@pytest.mark.slow
def test_few_passes_on_clicks_built_against_us():
    require_few_passes(GLM(*second_kind(seed=11), alpha_x=1e-6, alpha_y=1e-3), 120, 130)


def require_few_passes(problem, by_value, certified):
    """To a relative gap of 1e-9."""
    minimum = minmin.minimize(problem, tol=1e-14).fun
    gap = 1e-9 * (np.log(2) - minimum)
    r = minmin.minimize(problem, method="reduced-newton", tol=0, target_value=minimum + gap)
    assert r.success
    assert r.calls["passes"] <= by_value
    r = minmin.minimize(problem, method="reduced-newton", tol=gap)
    assert r.success
    assert r.certified
    assert r.fun - minimum <= r.gap_bound + 1e-14
    assert r.calls["passes"] <= certified


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_minimum_of_every_loss_is_found_and_certified(loss, sparse):
    rng = np.random.default_rng(3)
    for _ in range(10):
        problem = random_glm(rng, loss, sparse=sparse)
        r = minmin.minimize(problem, tol=1e-9)
        _, minimum = glm_minimum(problem)
        assert r.success
        assert r.certified
        assert -1e-13 <= r.fun - minimum <= r.gap_bound + 1e-13
        assert r.gap_bound <= 1e-9


def test_an_unpenalised_y_is_certified_and_an_unpenalised_x_is_estimated():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((60, 4)), rng.standard_normal((60, 3))
    labels = np.where(rng.uniform(size=60) < 0.5, 1.0, -1.0)
    for alpha_x, alpha_y in ((1e-2, 0.0), (0.0, 1e-2), (0.0, 0.0)):
        problem = GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)
        _, minimum = glm_minimum(problem)
        r = minmin.minimize(problem, tol=1e-9)
        assert r.success
        assert r.certified == (alpha_x > 0.0)
        assert r.fun - minimum <= r.gap_bound <= 1e-9


@pytest.mark.parametrize("kind", ["quadratic", "logistic", "poisson", "softmax", "sum"])
def test_a_large_y_is_eliminated_by_conjugate_gradients(kind, monkeypatch):
    problem = problem_of(kind, 4)
    dense = minmin.minimize(problem, method="reduced-newton", tol=1e-9)
    monkeypatch.setattr(y_system, "DENSE_UP_TO", 0)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-9)
    assert r.success
    assert r.calls.get("hess_yy", 0) == 0
    assert r.fun == pytest.approx(dense.fun, abs=2e-9)


def test_large_blocks():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((400, 3000)) / 50, rng.standard_normal((400, 2000)) / 50
    problem = GLM(X, Y, np.sign(rng.standard_normal(400)), alpha_x=1e-3, alpha_y=1e-4)
    r = minmin.minimize(problem, tol=1e-7)
    assert r.success
    assert r.certified
    assert r.calls["passes"] <= 100


def test_auto_takes_it_for_a_glm_unless_y_is_expensive_or_an_option_asks_for_another():
    problem = random_glm(np.random.default_rng(0))
    assert "auto took reduced-newton in x" in minmin.minimize(problem).message
    assert minmin.minimize(problem, cost_ratio=10).method == "reduced-newton"
    assert minmin.minimize(problem, cost_ratio=0.1).method == "reduced-lbfgs"
    assert minmin.minimize(problem, inner="newton").method == "reduced-lbfgs"
    assert minmin.minimize(minmin.Sum([problem])).method == "reduced-lbfgs"


def test_auto_leaves_quadratics_to_fewer_expensive_calls():
    """Where a product costs what ∇ₓ costs, quasi-Newton takes fewer of both."""
    for seed in range(3):
        problem = Quadratic.random(coupling=1.0, seed=seed)
        newton = minmin.minimize(problem, method="reduced-newton", tol=1e-6).calls
        r = minmin.minimize(problem, tol=1e-6)
        assert r.method == "reduced-lbfgs"
        assert r.calls["grad_x"] < newton["grad_x"] + newton["hess_product"]


def test_callables_are_refused_by_name():
    f = as_function(Quadratic.random(d_x=3, d_y=2))
    with pytest.raises(minmin.UnsupportedError, match=r"'reduced-newton' needs a SecondOrderProblem.*Function is not"):
        minmin.minimize(f, method="reduced-newton")


def test_a_start_far_away_leaves_no_rounding_behind():
    """What is cached of x is computed again once x has shrunk: f of the answer is f at the answer."""
    problem = random_glm(np.random.default_rng(1))
    _, minimum = glm_minimum(problem)
    r = minmin.minimize(problem, np.full(problem.d_x, 1e7), method="reduced-newton", tol=1e-10)
    assert r.success
    assert r.fun == pytest.approx(problem.fix(r.x).at(r.y).value, abs=1e-14)
    assert -1e-14 <= r.fun - minimum <= r.gap_bound + 1e-14


def test_a_run_of_many_steps_refreshes_its_cache(monkeypatch):
    monkeypatch.setattr(reduced_newton, "_MOST_CACHED_STEPS", 2)
    problem = random_glm(np.random.default_rng(1), sparse=True)
    r = minmin.minimize(problem, method="reduced-newton", tol=1e-10)
    assert r.success
    assert r.calls["passes"] > 1 + 2 * r.calls["hess_product"] + 2 * r.nit - 1


@given(root=st.floats(0.01, 100.0), power=st.sampled_from([2, 4]), wall=st.booleans())
def test_the_line_search_ends_neither_too_long_nor_too_short(root, power, wall):
    def at(t):
        slope = np.sign(t - root) * abs(t - root) ** (power - 1)
        return t, (np.inf if wall and t > 2 * root else slope)

    start = -(root ** (power - 1))
    _, t = search_step(at, start, overshoot=0.3, undershoot=0.3)
    assert 0.3 * start <= at(t)[1] <= -0.3 * start


@pytest.mark.parametrize("kind", ["full", "singular", "zero"])
def test_the_inverse_root(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6 if kind == "full" else 3)) * np.geomspace(1e-6, 1e6, 6)[:, None]
    H = 0.0 * A @ A.T if kind == "zero" else A @ A.T
    root = inverse_root(H)
    right = H @ rng.standard_normal(6)
    assert np.allclose(H @ (root.T @ (root @ right)), right, rtol=1e-6, atol=0.0)


def test_sparse_and_dense_data_give_one_run():
    problem = random_glm(np.random.default_rng(7), sparse=True)
    dense = GLM(
        problem.X.toarray(),
        scipy.sparse.csr_array(problem.Y),
        problem.target,
        alpha_x=problem.alpha_x,
        alpha_y=problem.alpha_y,
        sample_weight=problem.weights,
    )
    one, other = (minmin.minimize(p, method="reduced-newton", tol=1e-9) for p in (problem, dense))
    assert one.calls == other.calls
    assert np.allclose(one.x, other.x, rtol=1e-8)


def test_systems_are_solved_no_more_exactly_than_tol_needs():
    problem = problem_of("logistic", 3)
    runs = [minmin.minimize(problem, method="reduced-newton", tol=tol) for tol in (1e-4, 1e-8, 1e-12)]
    assert all(r.certified and r.gap_bound <= tol for r, tol in zip(runs, (1e-4, 1e-8, 1e-12), strict=True))
    assert [r.calls["passes"] for r in runs] == sorted(r.calls["passes"] for r in runs)
    without = minmin.minimize(problem, method="reduced-newton", tol=0, target_value=runs[1].fun)
    assert runs[1].calls["passes"] <= without.calls["passes"]


def test_a_run_may_be_resumed_under_another_tol(tmp_path):
    problem, path = random_glm(np.random.default_rng(5), n=400), tmp_path / "run"
    first = minmin.minimize(problem, method="reduced-newton", tol=1e-3, checkpoint=path)
    second = minmin.minimize(problem, method="reduced-newton", tol=1e-12, checkpoint=path)
    assert first.gap_bound <= 1e-3
    assert second.certified
    assert second.gap_bound <= 1e-12
    assert second.nit > first.nit


@pytest.mark.parametrize("kind", ["quadratic", "squared"])
def test_a_constant_hessian_is_factorised_once(kind):
    result = minmin.minimize(problem_of(kind, 1), method="reduced-newton", tol=1e-9)
    assert result.status == "converged"
    assert result.calls["hess_yy"] == 1


def test_a_block_that_does_not_matter_costs_no_surrogate_step():
    problem = random_glm(np.random.default_rng(0))
    zero = GLM(np.zeros((60, 1)), problem.Y, problem.target, alpha_x=1.0, alpha_y=problem.alpha_y)
    result = minmin.minimize(zero, method="reduced-newton", tol=1e-9)
    assert result.certified
    assert result.calls["value"] == result.calls.get("hess_product", 0) == 0
