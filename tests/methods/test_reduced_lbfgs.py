"""reduced-lbfgs: few calls, a guard, and estimates that are on the safe side."""

import math

import numpy as np
import pytest

import minmin
from minmin.core.bound import Constants
from minmin.methods.reduced_step import ReducedStep
from minmin.methods.theory import block_parameters
from minmin.problems import GLM, Function, Quadratic
from reference import ExactQuadratic, as_function, glm_minimum, random_glm, random_quadratic


def calls_to(problem, target, method="reduced-lbfgs", **options):
    r = minmin.minimize(problem, method=method, tol=0, target_value=target, **options)
    assert r.success, r
    return np.array([r.calls["grad_x"], r.calls["grad_y"]])


def median_calls(seeds, method="reduced-lbfgs", **parameters):
    runs = []
    for seed in range(seeds):
        problem = Quadratic.random(seed=seed, **parameters)
        runs.append(calls_to(problem, ExactQuadratic(problem).value * (1 - 1e-8), method))
    return np.median(runs, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.0, 1.0])
@pytest.mark.parametrize("L_y", [500.0, 5000.0, 50000.0])
def test_fewer_calls_than_bam_on_the_papers_quadratics(coupling, L_y):
    """BAM's ∇ₓ calls are the fewest of the paper's methods but for a few per cent, its ∇ᵧ calls by far."""
    ours, bam = (median_calls(5, method, coupling=coupling, L_y=L_y) for method in ("reduced-lbfgs", "bam"))
    assert ours[0] <= 0.4 * bam[0]
    assert ours[1] <= 0.6 * bam[1]


@pytest.mark.parametrize("mu_y", [0.002, 0.0001, 0.00005])
def test_fewer_calls_than_bam_on_the_papers_logistic_regression(mu_y):
    X, labels = minmin.datasets.load_a1a()
    constants = Constants(L_x=1.567, L_y=1.567, mu_x=0.01, mu_y=mu_y)
    problem = GLM(X[:, :100], X[:, 100:], labels, alpha_x=0.01, alpha_y=mu_y, constants=constants)
    _, minimum = glm_minimum(problem)
    target = minimum + 1e-8 * (np.log(2) - minimum)
    ours, bam = calls_to(problem, target), calls_to(problem, target, "bam")
    assert ours[0] <= 0.25 * bam[0]
    assert ours[1] <= 0.6 * bam[1]


@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_kappa_y_hardly_matters(coupling):
    kappas = (1e2, 1e3, 1e4, 1e5, 1e6)
    calls = np.array([median_calls(5, coupling=coupling, mu_x=0.01, L_x=1.0, mu_y=0.01, L_y=0.01 * k) for k in kappas])
    assert calls[:, 0].max() <= 1.3 * calls[:, 0].min()
    assert calls[:, 1].max() <= 2.5 * calls[:, 1].min()


def nesterov_chain(kappa, d_x=300, d_y=3):
    """Nesterov's worst function in x: information travels one variable a gradient."""
    chain = 2 * np.eye(d_x) - np.eye(d_x, k=1) - np.eye(d_x, k=-1)
    H = np.zeros((d_x + d_y, d_x + d_y))
    H[:d_x, :d_x] = (kappa - 1) / 4 * chain + np.eye(d_x)
    H[d_x:, d_x:] = np.diag(np.linspace(1, 10, d_y))
    b = np.zeros(d_x + d_y)
    b[0] = -(kappa - 1) / 4
    b[d_x:] = 1.0
    return Quadratic(H, b, d_x, Constants(kappa, 10.0, 1.0, 1.0))


@pytest.mark.parametrize("kappa", [1e3, 1e5])
def test_nesterovs_chain_takes_no_more_calls_than_bam(kappa):
    problem = nesterov_chain(kappa)
    target = ExactQuadratic(problem).value * (1 - 1e-8)
    ours, bam = calls_to(problem, target), calls_to(problem, target, "bam")
    assert ours[0] <= bam[0]


def test_a_bad_direction_is_guarded_by_bam(monkeypatch):
    """With useless directions the run becomes BAM's, and takes a constant times BAM's calls."""
    problem = Quadratic.random(d_x=20, d_y=5, coupling=1.0)
    bam = minmin.minimize(problem, method="bam", tol=1e-6)
    monkeypatch.setattr(ReducedStep, "_find_direction", lambda self, state: -1e-9 * state.gradient)
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-6)
    assert r.success
    assert "BAM took over after" in r.message
    assert r.gap_bound >= ExactQuadratic(problem).gap(r.x, r.y)
    c = problem.constants
    waited = 2 * math.log(3 * max(c.kappa_x, c.kappa_y)) / math.log1p(block_parameters(c).alpha)
    assert r.calls["grad_x"] <= waited + 2 + 1.5 * bam.calls["grad_x"]


def test_the_guard_leaves_good_runs_alone():
    rng = np.random.default_rng(0)
    for _ in range(100):
        r = minmin.minimize(random_quadratic(rng), method="reduced-lbfgs", tol=1e-8)
        assert "BAM" not in r.message


def steep_then_flat(d_x, d_y):
    """Curvature from 1 to 1e-8 along the way: log-cosh walls far from the minimum."""
    scale = np.geomspace(1.0, 1e4, d_x)

    def value(x, y):
        return float(np.sum(np.logaddexp(scale * x, -scale * x)) + 0.5e-4 * x @ x + 0.5 * (y - x.sum()) @ (y - x.sum()))

    def grad_x(x, y):
        return scale * np.tanh(scale * x) + 1e-4 * x - np.sum(y - x.sum())

    return Function(value, grad_x, lambda x, y: y - x.sum(), d_x=d_x, d_y=d_y)


@pytest.mark.parametrize("d_x", [2, 10])
def test_curvature_that_changes_by_1e8(d_x):
    problem = steep_then_flat(d_x, 3)
    r = minmin.minimize(problem, np.full(d_x, 5.0), np.full(3, -7.0), tol=1e-6, max_grad_x=2000)
    assert r.success
    assert r.fun - d_x * np.log(2) <= 1e-6
    assert np.abs(r.x).max() <= 1e-3


@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
def test_data_at_the_edge_of_separability(alpha):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((200, 20)), rng.standard_normal((200, 3))
    labels = np.sign(X @ rng.standard_normal(20) + 0.01 * rng.standard_normal(200))
    problem = GLM(X, Y, labels, alpha_x=alpha, alpha_y=alpha)
    _, minimum = glm_minimum(problem)
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-8)
    assert r.success
    assert r.fun - minimum <= r.gap_bound <= 1e-8


@pytest.mark.parametrize("sparse", [False, True])
def test_poisson_needs_no_smoothness_and_is_certified_by_its_penalties(sparse):
    rng = np.random.default_rng(1)
    for _ in range(10):
        problem = random_glm(rng, "poisson", sparse=sparse)
        r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-8)
        tighter = minmin.minimize(problem, tol=1e-12)
        assert r.success
        assert r.certified
        assert r.fun - tighter.fun <= r.gap_bound


def test_an_unpenalised_block_is_solved_and_not_certified():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((60, 4)), rng.standard_normal((60, 3))
    labels = np.where(rng.uniform(size=60) < 0.5, 1.0, -1.0)
    problem = GLM(X, Y, labels, alpha_x=1e-2, alpha_y=0.0)
    _, minimum = glm_minimum(problem)
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-9)
    assert r.success
    assert not r.certified
    assert r.fun - minimum <= r.gap_bound


@pytest.mark.slow
def test_estimated_bounds_are_below_the_true_gap_in_fewer_than_one_run_of_a_hundred():
    rng = np.random.default_rng(17)
    below = 0
    for _ in range(200):
        quadratic = random_quadratic(rng)
        f = as_function(quadratic)
        bare = Function(f.value, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
        start = rng.standard_normal(f.d_x), rng.standard_normal(f.d_y)
        r = minmin.minimize(bare, *start, tol=10 ** rng.uniform(-9, -1))
        assert not r.certified
        below += ExactQuadratic(quadratic).gap(r.x, r.y) > r.gap_bound + 1e-20
    assert below < 2


def test_an_optimal_start_needs_no_curvature():
    f = Function(lambda x, y: float(x @ x + y @ y), lambda x, y: 2 * x, lambda x, y: 2 * y, d_x=2, d_y=2)
    r = minmin.minimize(f)
    assert r.success
    assert r.gap_bound == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kappa_x", [1e3, 1e4, 1e5, 1e6])
def test_steep_directions_do_not_pass_for_all_of_them(kappa_x):
    """A loose tolerance is met in the steep directions long before the flat ones have been seen."""
    below = 0
    for seed in range(30):
        quadratic = Quadratic.random(d_x=30, d_y=5, mu_x=1.0, L_x=kappa_x, mu_y=1.0, L_y=10.0, seed=seed)
        f = as_function(quadratic)
        r = minmin.minimize(Function(f.value, f.grad_x, f.grad_y, d_x=30, d_y=5), tol=1e-3)
        below += ExactQuadratic(quadratic).gap(r.x, r.y) > r.gap_bound
    assert below <= 1


def test_where_x_has_nothing_to_gain_y_is_still_solved():
    rng = np.random.default_rng(5)
    H = np.diag(np.r_[np.ones(3), np.logspace(-4, 2, 20)])
    problem = Quadratic(H, np.r_[np.zeros(3), rng.standard_normal(20)], 3)
    for inner in ("lbfgs", "newton", "nag"):
        r = minmin.minimize(problem, method="reduced-lbfgs", inner=inner)
        assert r.success, r


@pytest.mark.parametrize("outer", ["x", "y"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_separable_without_a_penalty_ends_in_words(outer, dtype):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)).astype(dtype), rng.standard_normal((60, 4)).astype(dtype)
    problem = GLM(Y, X, np.sign(X @ rng.standard_normal(5)).astype(dtype), alpha_x=1e-3, alpha_y=0.0)
    r = minmin.minimize(problem, method="reduced-lbfgs", outer=outer, max_grad_y=20_000)
    assert r.status in ("converged", "stalled", "budget")
    assert not r.certified


def test_a_singular_hessian_in_y():
    rng = np.random.default_rng(0)
    Y = np.c_[rng.standard_normal((60, 2)), np.zeros(60)]
    labels = np.where(rng.uniform(size=60) < 0.5, 1.0, -1.0)
    problem = GLM(rng.standard_normal((60, 4)), Y, labels, alpha_x=1e-2, alpha_y=0.0)
    r = minmin.minimize(problem, method="reduced-lbfgs", inner="newton", max_grad_y=20_000)
    assert r.fun <= minmin.minimize(problem, max_grad_y=20_000).fun + 1e-5


UNBOUNDED = {
    "linear in y": (lambda x, y: 2 * x, lambda x, y: np.ones(2)),
    "linear in x": (lambda x, y: np.ones(2), lambda x, y: 2 * y),
    "concave in x": (lambda x, y: -x, lambda x, y: 2 * y),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", UNBOUNDED)
@pytest.mark.parametrize("start", [1.0, -1e307])
def test_without_a_minimum_a_run_ends_by_itself(case, start):
    grad_x, grad_y = UNBOUNDED[case]
    f = Function(None, grad_x, grad_y, d_x=2, d_y=2)
    try:
        r = minmin.minimize(f, np.full(2, start), np.full(2, start), max_grad_x=5000, max_seconds=30)
    except minmin.MinMinError:
        return
    assert r.status in ("stalled", "budget")
    assert r.seconds < 30


def test_large_blocks():
    rng = np.random.default_rng(0)
    n = 400
    X, Y = rng.standard_normal((n, 3000)) / 50, rng.standard_normal((n, 2000)) / 50
    problem = GLM(X, Y, np.sign(rng.standard_normal(n)), alpha_x=1e-3, alpha_y=1e-4)
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-7)
    assert r.success
    assert r.calls["grad_x"] <= 60


def test_y_is_solved_again_where_it_was_too_loose():
    """Asked for far too little of y at first, a run notices, and still ends well."""
    problem = Quadratic.random(coupling=1.0, L_y=5000.0)
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-8, inner_tolerance_ratio=50.0)
    assert r.success
    assert r.calls["grad_x"] <= 200
