"""BAM with inner="katyusha": gradients of a few rows at a time."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse

import minmin
from contract.libraries import in_library
from contract.promises import assert_pure, assert_same_run
from minmin import federated
from minmin.core.counting import Tally
from minmin.lab import katyusha
from minmin.lab.katyusha import KatyushaParameters, KatyushaSolver, RowDraws, find_parameters, mix, move
from minmin.methods import Bam, CuttingPlane, ReducedLbfgs
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.theory import block_parameters
from minmin.problems import GLM, Composite, Quadratic, Softmax
from minmin.problems.linear.designs import DenseDesign, Design, SparseDesign
from reference import as_function, glm_minimum

N = 400


def tall_glm(loss="logistic", sparse=False, seed=0, n=N, alpha_x=0.1, alpha_y=1e-3):
    """Many rows, and a y that is far worse conditioned than x."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 4)), rng.standard_normal((n, 5)) * np.logspace(0, -1.5, 5)
    if sparse:
        Y = scipy.sparse.csr_array(Y * (rng.uniform(size=Y.shape) < 0.5))
    margins = X @ rng.standard_normal(4) + Y @ rng.standard_normal(5)
    noisy = margins + rng.logistic(size=n)
    weight = rng.uniform(0.0, 2.0, size=n) if seed % 2 else None
    target = np.where(noisy > 0, 1.0, -1.0) if loss == "logistic" else noisy
    return GLM(X, Y, target, loss, alpha_x=alpha_x, alpha_y=alpha_y, sample_weight=weight)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_reaches_the_minimum_with_bounds_that_hold(loss, sparse, seed):
    problem = tall_glm(loss, sparse, seed)
    _, minimum = glm_minimum(problem)

    def compare(record):
        assert record.gap_bound >= record.value - minimum - 1e-15

    r = minmin.minimize(problem, method="bam", inner="katyusha", tol=1e-9, callback=compare)
    assert r.success
    assert r.certified
    assert r.fun - minimum <= 1e-9


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_it_takes_the_outer_steps_of_nag_and_a_fraction_of_its_rows(loss):
    problem = tall_glm(loss, n=1000, alpha_x=1e-2, alpha_y=1e-4)
    calls = {i: minmin.minimize(problem, method="bam", inner=i, tol=1e-8).calls for i in ("nag", "katyusha")}
    assert calls["katyusha"]["grad_x"] == pytest.approx(calls["nag"]["grad_x"], rel=0.05)
    assert calls["katyusha"]["rows_y"] < 0.5 * calls["nag"]["rows_y"]
    assert calls["katyusha"]["rows_y"] > 1000 * calls["katyusha"]["grad_y"]


def counting(base, counts):
    """A design that counts the rows of which somebody asks for the adjoint, in full and in minibatches."""

    class Counting(base):
        def adjoint(self, r):
            counts["full"] += self.shape[0]
            return super().adjoint(r)

        def rows(self, chosen):
            counts["drawn"] += len(chosen)
            return super().rows(chosen)

    return Counting


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_is_counted(sparse):
    plain, counts = tall_glm(sparse=sparse), {"full": 0, "drawn": 0}
    Y = counting(SparseDesign if sparse else DenseDesign, counts)(plain.Y)
    problem = GLM(plain.X, Y, plain.target, alpha_x=plain.alpha_x, alpha_y=plain.alpha_y)
    r = minmin.minimize(problem, method="bam", inner="katyusha", tol=1e-8)
    assert counts["drawn"] > 0
    assert r.calls["rows_y"] == counts["full"] + counts["drawn"]
    assert r.calls["grad_y"] == counts["full"] / N


def test_the_rows_of_a_design_by_default():
    matrix, chosen = tall_glm(sparse=True).Y, np.array([3, 3, 7])
    by_default, own = Design.rows(SparseDesign(matrix), chosen), SparseDesign(matrix).rows(chosen)
    assert np.array_equal(by_default.matrix, matrix.toarray()[chosen])
    assert np.array_equal(own.matrix.toarray(), by_default.matrix)


@pytest.mark.parametrize("method", ["bam", "nag", "reduced-lbfgs", "reduced-newton"])
def test_without_draws_every_gradient_takes_all_rows(method):
    calls = minmin.minimize(tall_glm(alpha_y=1e-2), method=method, tol=1e-6).calls
    assert calls["rows_y"] == N * calls["grad_y"]


def test_with_blocks_exchanged_the_rows_of_x_are_counted():
    plain = tall_glm()
    penalties, constants = {"alpha_x": plain.alpha_y, "alpha_y": plain.alpha_x}, plain.constants.swapped()
    problem = GLM(plain.Y, plain.X, plain.target, **penalties, constants=constants)
    calls = minmin.minimize(problem, method="bam", inner="katyusha", outer="y", tol=1e-8).calls
    expected = minmin.minimize(plain, method="bam", inner="katyusha", tol=1e-8).calls
    assert calls["rows"] == expected["rows_y"]
    assert "rows_y" not in calls


def test_the_same_state_gives_the_same_next_state():
    assert_pure(Bam(inner="katyusha"), tall_glm())


def test_the_draws_depend_on_the_seed():
    problem = tall_glm()
    first, again, other = (
        minmin.minimize(problem, method="bam", inner="katyusha", tol=1e-8, seed=seed) for seed in (3, 3, 4)
    )
    assert_same_run(first, again)
    assert first.calls["rows_y"] != other.calls["rows_y"]
    assert_same_run(first, minmin.minimize(problem, method=Bam(inner="katyusha", seed=3), tol=1e-8))


def test_a_resumed_run_is_the_whole_run_bit_for_bit(tmp_path):
    problem, file = tall_glm(), tmp_path / "run"
    options = {"method": "bam", "inner": "katyusha", "tol": 1e-8, "seed": 7}
    whole = minmin.minimize(problem, **options)
    for cut in (1, 3):
        minmin.minimize(problem, **options, max_iterations=cut, checkpoint=file)
    assert_same_run(whole, minmin.minimize(problem, **options, checkpoint=file))


def test_a_term_in_y_leaves_it_a_fraction_of_the_rows_of_nag():
    problem = Composite(tall_glm(n=1000, alpha_x=1e-2, alpha_y=1e-4), term_y=minmin.terms.L1(1e-4))
    calls = {i: minmin.minimize(problem, method="bam", inner=i, tol=1e-8).calls for i in ("nag", "katyusha")}
    assert calls["katyusha"]["rows_y"] < 0.6 * calls["nag"]["rows_y"]


def test_with_a_radius_y_needs_no_penalty():
    problem = tall_glm(n=1000, alpha_y=0.0)
    r = minmin.minimize(problem, method="bam", inner="katyusha", radius=30.0, tol=1e-4)
    assert r.success
    assert r.certified
    assert r.calls["rows_y"] > 2 * N * r.calls["grad_y"]
    assert r.fun - minmin.minimize(problem, tol=1e-9).fun <= 1e-4


@pytest.mark.parametrize("options", [{"adaptive": True}, {"scheme": "triple-momentum"}, {"outer": "auto"}])
def test_it_goes_with_other_options_of_bam(options):
    problem = tall_glm()
    _, minimum = glm_minimum(problem)
    r = minmin.minimize(problem, method="bam", inner="katyusha", tol=1e-7, **options)
    assert r.success
    assert r.fun - minimum <= 1e-7
    assert r.calls["rows_y"] > N * r.calls["grad_y"]


def test_sums_of_glms_and_terms():
    glms, l1 = [tall_glm(seed=seed) for seed in (0, 2)], minmin.terms.L1(0.01)
    box = minmin.terms.Box(-0.3, 0.3)
    for problem in (
        minmin.Sum(glms),
        Composite(glms[0], term_x=l1),
        Composite(glms[0], l1, box),
        Composite(minmin.Sum(glms), l1, [box, l1]),
    ):
        r = minmin.minimize(problem, method="bam", inner="katyusha", tol=1e-8)
        assert r.success
        assert r.certified
        assert r.calls["rows_y"] > N * r.calls["grad_y"]
        assert abs(r.fun - minmin.minimize(problem, method="bam", tol=1e-10).fun) <= 1e-8


@pytest.mark.parametrize(("library", "dtype", "tol"), [(np, "float32", 1e-4), (array_api_strict, "float64", 1e-4)])
def test_other_dtypes_and_libraries(library, dtype, tol):
    problem = in_library(tall_glm(), library, dtype)
    r = minmin.minimize(problem, method="bam", inner="katyusha", tol=tol)
    assert r.success
    assert r.y.dtype == getattr(library, dtype)
    assert r.calls["rows_y"] > N * r.calls["grad_y"]


def test_where_theory_promises_no_fewer_rows_it_is_nag():
    for problem in (tall_glm(alpha_y=0.5), tall_glm(n=6, alpha_y=1e-2)):
        calls = [minmin.minimize(problem, method="bam", inner=i, tol=1e-8).calls for i in ("nag", "katyusha")]
        assert {**calls[0], "passes_y": 0, "row_norms_y": 0} == {**calls[1], "passes_y": 0, "row_norms_y": 0}


def test_y_may_be_zero():
    plain = tall_glm()
    problem = GLM(plain.X, np.zeros((N, 2)), plain.target, alpha_x=0.1, alpha_y=1e-4)
    assert minmin.minimize(problem, np.zeros(4), np.ones(2), method="bam", inner="katyusha", tol=1e-8).success


def inner_problem(problem, tally):
    center = np.ones(problem.d_y)
    parameters = block_parameters(problem.constants)
    return ProximalCondition(parameters).make_goal(
        problem.counted(tally).fix(np.ones(problem.d_x)), center, 0.0 * center
    )


def test_useless_steps_fall_back_on_accelerated_gradient(monkeypatch):
    monkeypatch.setattr(katyusha, "find_parameters", lambda *a: find_parameters(*a)._replace(step=0.0, pull=0.0))
    tally, solver = Tally(), KatyushaSolver()
    objective = inner_problem(tall_glm(), tally)
    point, _ = solver.solve(objective, solver.init(objective.start))
    assert point.solved
    assert N * objective.most_gradients < tally["rows_y"] <= N * (2 * objective.most_gradients + 3)


def test_the_rows_for_a_factor_grow_like_n_plus_the_root_of_n_kappa():
    """With L = 1 and L̄ = 5: about 3n for a low κ, and from there on with the root of κ."""
    n, rows = 10**6, {}
    for kappa in (1e4, 1e6, 1e9, 1e11):
        rows[kappa] = find_parameters(1.0, 1.0 / kappa, 5.0, n).rows_per_factor
        assert rows[kappa] < 7 * (n + (5.0 * n * kappa) ** 0.5)
    assert rows[1e4] < 4 * n
    assert rows[1e11] == pytest.approx(10 * rows[1e9], rel=0.01)


def test_draws_have_the_right_mean_and_leave_out_rows_without_curvature():
    smoothness = np.array([0.0, 3.0, 1.0, 0.0, 0.5, 0.0])
    draws, generator, total = RowDraws(smoothness), np.random.default_rng(0), np.zeros(6)
    for _ in range(4000):
        rows, factors = draws.draw(generator, 3)
        assert np.all(np.diff(rows) >= 0)
        np.add.at(total, rows, factors / 4000)
    assert np.allclose(total, smoothness > 0, atol=0.06)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_variance_is_at_most_what_the_proof_needs(loss):
    """Σ q_i |∇φ_i(v) - ∇φ_i(w)|²/q_i² - |Σ(...)|² <= 2L̄ (f(w) - f(v) - <∇f(v), w - v>), for one row."""
    problem = tall_glm(loss, seed=1, n=50)
    rng = np.random.default_rng(0)
    for size in (0.01, 1.0, 100.0):
        slice_ = problem.fix(rng.standard_normal(4))
        v, w = (slice_.at(size * rng.standard_normal(5)) for _ in range(2))
        L = slice_.find_row_smoothness()
        rest = problem.alpha_y * (v.y - w.y)
        one = [slice_.estimate_change(w, v.y, np.array([i]), np.ones(1)) - rest for i in range(50)]
        assert np.allclose(sum(one) + rest, v.grad_y - w.grad_y)
        second_moment = L.sum() * sum(change @ change / of_row for change, of_row in zip(one, L, strict=True))
        distance = w.value - v.value - v.grad_y @ (w.y - v.y)
        assert second_moment - sum(one) @ sum(one) <= 2 * L.sum() * distance * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_theorem_holds_in_the_mean_over_all_draws(seed):
    """E Ψ⁺ <= (1 - rate) Ψ at random states, for one row in a step; see docs/explanation/theory.md."""
    rng, n = np.random.default_rng(seed), 20
    problem = tall_glm(["logistic", "squared"][seed % 2], seed=seed, n=n, alpha_y=10 ** rng.uniform(-4, -1))
    slice_ = problem.fix(rng.standard_normal(4))
    best = np.zeros(5)
    for _ in range(30):
        e = slice_.at(best)
        best = best - np.linalg.solve(e.hess_yy(), e.grad_y)
    rows = slice_.find_row_smoothness()
    gram = (problem.Y.T * problem.weights) @ problem.Y
    L = problem.loss.max_curvature * np.linalg.norm(gram, 2) + problem.alpha_y
    chance, theta = 10 ** rng.uniform(-2, 0), 0.5 * 10 ** rng.uniform(-2, 0)
    step = 1 / (theta * (L + rows.sum() / 0.5))
    p = KatyushaParameters(1, chance, theta, step, step * problem.alpha_y, np.nan)
    rate = min(p.pull / (1 + p.pull), chance * theta / (1 + theta))
    c = 0.5 * (1 + theta) / (chance * theta)

    def gap(v):
        return slice_.at(v).value - slice_.at(best).value

    def psi(z, gap_y, gap_w):
        distance = (1 + p.pull) / (2 * step) * np.sum((z - best) ** 2)
        return distance + (1 / theta - chance * c) * gap_y + c * gap_w

    for _ in range(4):
        z, y, w = (best + 10 ** rng.uniform(-2, 1) * rng.standard_normal(5) for _ in range(3))
        v, known, mean = mix(p, z, y, w), slice_.at(w), 0.0
        for i in range(n):
            q = rows[i] / rows.sum()
            change = slice_.estimate_change(known, v, np.array([i]), np.array([1 / q]))
            new, end = move(p, z, v, known.grad_y + change)
            mean += q * (chance * psi(new, gap(end), gap(end)) + (1 - chance) * psi(new, gap(end), gap(w)))
        assert mean <= (1 - rate) * psi(z, gap(y), gap(w)) * (1 + 1e-9)


def poisson_with_constants():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    constants = minmin.Constants(L_x=10.0, L_y=10.0, mu_x=0.1, mu_y=0.1)
    return GLM(X, Y, rng.poisson(1.0, 30), "poisson", alpha_x=0.1, alpha_y=0.1, constants=constants)


def softmax():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    return Softmax(X, Y, np.arange(30) % 3, alpha_x=0.1, alpha_y=0.1)


REFUSED = {
    "a Quadratic is not known to be a sum over rows; take inner='lbfgs'": lambda: Quadratic.random(d_x=3, d_y=2),
    "Function is not known": lambda: as_function(Quadratic.random(d_x=3, d_y=2)),
    "the loss 'poisson' has no bound on its curvature": poisson_with_constants,
    "the loss 'softmax' has several margins per row": softmax,
    "term 1: a Quadratic is not": lambda: minmin.Sum([tall_glm(n=9), Quadratic.random(d_x=4, d_y=2)]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_problems_without_rows_are_refused_before_any_work(words):
    with pytest.raises(minmin.UnsupportedError, match=words.replace("(", r"\(")):
        minmin.minimize(REFUSED[words](), method="bam", inner="katyusha")


def test_a_swapped_function_is_refused_by_its_own_name():
    with pytest.raises(minmin.UnsupportedError, match="a Function is not known to be a sum over rows"):
        minmin.minimize(as_function(Quadratic.random(d_x=3, d_y=2)), method="bam", inner="katyusha", outer="y")


def test_a_federation_is_refused():
    with pytest.raises(minmin.UnsupportedError, match="the rows are with the clients; take inner='lbfgs'"):
        federated.run([federated.Client(tall_glm(n=20))] * 2, "bam", inner="katyusha")


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(minmin.InputError, match="seed"):
        Bam(inner="katyusha", seed=-1)
    with pytest.raises(minmin.InputError, match=r"seed = 3 is for a method given by name"):
        minmin.minimize(tall_glm(n=20), method=Bam(inner="katyusha"), seed=3)
    for kind in (ReducedLbfgs, CuttingPlane):
        with pytest.raises(minmin.InputError, match="inner='katyusha' is for method 'bam' alone"):
            kind(inner="katyusha")
