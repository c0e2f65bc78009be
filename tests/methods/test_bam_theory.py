"""What the paper proves of BAM, tested as it is stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.core.bound import Constants
from minmin.core.counting import Tally
from minmin.core.start import make_start
from minmin.methods import Bam
from minmin.methods.inner.curved import LbfgsSolver
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.inner.solvers import INNER_SOLVERS, find_solver
from minmin.methods.needs import Need
from minmin.methods.theory import block_parameters
from minmin.problems import Quadratic
from reference import ExactQuadratic, glm_minimum, random_glm

log_kappa = st.floats(0.0, 5.0)


def lyapunov(p, state, x_star, y_star, gap):
    """Ψ of Theorem 2.2."""
    (y,) = state.y
    distances = np.sum((state.x.x - x_star) ** 2) / p.eta_x + np.sum((y.y - y_star) ** 2) / p.eta_y
    return (1 + p.alpha) * distances + 2 / p.alpha * gap(state.x.x_bar, y.y_bar)


@given(
    st.integers(0, 10**6),
    log_kappa,
    log_kappa,
    st.sampled_from([0.5, 1.0]),
    st.sampled_from(sorted(name for name in INNER_SOLVERS if Need.ROWS not in find_solver(name).needs)),
)
def test_theorem_2_2_lyapunov_decrease_at_every_step(seed, log_kappa_x, log_kappa_y, coupling, inner):
    rng = np.random.default_rng(seed)
    mu_x, mu_y = 10 ** rng.uniform(-1, 1, size=2)
    problem = Quadratic.random(
        d_x=int(rng.integers(1, 10)),
        d_y=int(rng.integers(1, 10)),
        mu_x=mu_x,
        L_x=mu_x * 10**log_kappa_x,
        mu_y=mu_y,
        L_y=mu_y * 10**log_kappa_y,
        coupling=coupling,
        seed=seed,
    )
    exact = ExactQuadratic(problem)
    x_star, y_star = np.split(exact.z, [problem.d_x])
    p, method = block_parameters(problem.constants), Bam(inner=inner)
    state = method.init(problem, rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y))
    first = psi = lyapunov(p, state, x_star, y_star, exact.gap)
    for _ in range(min(100, int(20 / p.alpha))):
        state = method.step(problem, state)
        psi, before = lyapunov(p, state, x_star, y_star, exact.gap), psi
        if before < 1e-13 * first:  # what follows is rounding
            break
        assert (1 + p.alpha) * psi <= before * (1 + 1e-9)


def test_lyapunov_decrease_on_logistic_regression():
    rng = np.random.default_rng(0)
    for _ in range(10):
        problem = random_glm(rng)
        z, minimum = glm_minimum(problem)
        x_star, y_star = np.split(z, [problem.d_x])

        def gap(x, y, problem=problem, minimum=minimum):
            return problem.fix(x).at(y).value - minimum

        p, method = block_parameters(problem.constants), Bam()
        state = method.init(problem, *make_start(problem))
        first = psi = lyapunov(p, state, x_star, y_star, gap)
        for _ in range(50):
            state = method.step(problem, state)
            psi, before = lyapunov(p, state, x_star, y_star, gap), psi
            if before < 1e-10 * first:
                break
            assert (1 + p.alpha) * psi <= before * (1 + 1e-9)


def calls_to(problem, relative_gap, **options):
    exact = ExactQuadratic(problem)
    target = exact.value * (1 - relative_gap)  # f(0) = 0
    return minmin.minimize(problem, method="bam", tol=0, target_value=target, **options).calls


def median_calls(seeds, *, coupling=1.0, **parameters):
    runs = [calls_to(Quadratic.random(coupling=coupling, seed=s, **parameters), 1e-8) for s in range(seeds)]
    return np.median([[r["grad_x"], r["grad_y"]] for r in runs], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_grad_x_calls_grow_as_the_root_of_kappa_x(coupling):
    kappas = np.array([1e2, 1e3, 1e4, 1e5])
    calls = [median_calls(1, coupling=coupling, d_x=60, mu_x=1 / k, L_x=1.0, mu_y=1e-6, L_y=1.0)[0] for k in kappas]
    slope = np.polyfit(np.log(kappas), np.log(calls), 1)[0]
    assert abs(slope - 0.5) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_kappa_y_moves_grad_x_little_and_grad_y_by_its_root_at_most(coupling):
    kappas = np.array([1e2, 1e3, 1e4, 1e5, 1e6])
    calls = np.array([median_calls(5, coupling=coupling, mu_x=0.01, L_x=1.0, mu_y=1 / k, L_y=1.0) for k in kappas])
    in_x = calls[:, 0]
    assert np.all(np.abs(in_x / in_x[0] - 1) <= 0.1)
    slope = np.polyfit(np.log(kappas), np.log(calls[:, 1]), 1)[0]
    assert slope <= 0.6


FIRST_ROW = {0.0: (1207, 3871, 12584), 1.0: (508, 2192, 4160)}
"""∇ᵧ calls of a plain accelerated gradient inner solver, to compare with."""


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_the_papers_quadratics(coupling):
    ranges = {0.0: (225, 270), 1.0: (190, 265)}
    ratios = {0.0: (0.5, 0.5, 0.5), 1.0: (1.0, 0.5, 0.4)}
    for L_y, reference, ratio in zip((500, 5000, 50000), FIRST_ROW[coupling], ratios[coupling], strict=True):
        in_x, in_y = median_calls(5, coupling=coupling, L_y=float(L_y))
        assert ranges[coupling][0] <= in_x <= ranges[coupling][1]
        assert in_y <= ratio * reference


@pytest.mark.parametrize(("mu_y", "reference"), [(0.002, 388), (0.0001, 1535), (0.00005, 2223)])
def test_the_papers_logistic_regression(mu_y, reference):
    X, labels = minmin.datasets.load_a1a()
    constants = Constants(L_x=1.567, L_y=1.567, mu_x=0.01, mu_y=mu_y)
    problem = minmin.problems.GLM(X[:, :100], X[:, 100:], labels, alpha_x=0.01, alpha_y=mu_y, constants=constants)
    _, minimum = glm_minimum(problem)
    target = minimum + 1e-8 * (np.log(2) - minimum)
    calls = minmin.minimize(problem, method="bam", tol=0, target_value=target).calls
    assert calls["grad_x"] <= 105
    assert calls["grad_y"] <= 0.5 * reference


@given(st.integers(0, 10**6), st.floats(0, 6), st.floats(0, 6), st.sampled_from(["nag", "lbfgs", "newton", "nag-ogmg"]))
def test_inner_solvers_meet_the_condition_within_their_bound(seed, log_curvature, log_lam_L, inner):
    """T_max gradients from the centre; twice as many and two where a warm start comes first."""
    rng = np.random.default_rng(seed)
    mu_y = 10.0**-log_curvature
    problem = Quadratic.random(d_x=1, d_y=int(rng.integers(1, 8)), mu_x=0.5, L_x=1.0, mu_y=mu_y, L_y=1.0, seed=seed)
    tally = Tally()
    parameters = block_parameters(problem.constants)._replace(lam=10.0**log_lam_L)
    center = 10 ** rng.uniform(-2, 2) * rng.standard_normal(problem.d_y)
    sub = ProximalCondition(parameters).make_goal(problem.counted(tally).fix(np.ones(1)), center, 0.0 * center)
    solver = find_solver(inner)
    point, _ = solver.solve(sub, solver.init(center))
    assert point.solved
    distance = np.linalg.norm(point.v - center)
    noise = 1e-14 * (distance + np.linalg.norm(center)) * sub.shift + 1e-14 * np.linalg.norm(point.v)
    assert point.residual <= distance * sub.shift + noise
    if inner == "nag-ogmg":
        # 2N + 1 gradients with N = ⌈2.38 √(1 + λL)⌉: T of Corollary 3.2, and the test of the last point.
        assert tally["grad_y"] <= 2 * np.ceil(2.38 * np.sqrt(1 + sub.rule.lam)) + 1
    elif inner == "nag":
        assert tally["grad_y"] <= sub.most_gradients + 1
    else:
        assert tally["grad_y"] <= 2 * sub.most_gradients + 2


class Lost(LbfgsSolver):
    """L-BFGS whose directions are useless."""

    def _step(self, objective, point, memory):
        return -1e-9 * point.gradient, True


def test_a_useless_direction_falls_back_on_accelerated_gradient():
    problem = Quadratic.random(d_x=3, d_y=5, L_y=5000.0, mu_y=0.1, coupling=1.0)
    tally = Tally()
    center = np.ones(5)
    parameters = block_parameters(problem.constants)
    sub = ProximalCondition(parameters).make_goal(problem.counted(tally).fix(np.ones(3)), center, 0.0 * center)
    solver = Lost()
    point, _ = solver.solve(sub, solver.init(center))
    assert point.solved
    assert sub.most_gradients < tally["grad_y"] <= 2 * sub.most_gradients + 3


def test_outer_auto_takes_the_better_conditioned_block():
    problem = Quadratic.random(mu_x=1e-4, L_x=1.0, mu_y=0.1, L_y=1.0, coupling=1.0)
    calls = {outer: calls_to(problem, 1e-8, outer=outer) for outer in ("x", "y", "auto")}
    assert calls["auto"] == calls["y"]
    assert calls["y"]["grad_x"] < calls["x"]["grad_x"]
    assert calls["y"]["grad_y"] < calls["x"]["grad_y"]
