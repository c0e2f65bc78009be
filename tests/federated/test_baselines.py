"""The methods that ours are compared with, held against what their papers say."""

import numpy as np
import pytest

import minmin
from minmin.federated import Client, names, run
from minmin.federated.baselines import LocalMemory, ProxSkipTask
from minmin.problems import GLM, Quadratic


def quadratics(count=4, seed=0):
    """Clients that differ: curvatures and minimisers of their own."""
    return [
        Quadratic.random(d_x=6, d_y=3, mu_x=0.5, L_x=5.0, mu_y=0.5, L_y=5.0, coupling=0.5, seed=seed + i)
        for i in range(count)
    ]


def federation(problems):
    weights = np.arange(1.0, len(problems) + 1)
    return [Client(p, w) for p, w in zip(problems, weights, strict=True)], weights / weights.sum()


def minimum(problems, weights):
    return minmin.minimize(minmin.Sum(problems, list(weights)), tol=1e-13)


def step_length(problems):
    return 1.0 / max(p.constants.L_x for p in problems), 1.0 / max(p.constants.L_y for p in problems)


@pytest.mark.parametrize("method", ["fedavg", "scaffold"])
def test_with_one_local_step_they_are_gradient_descent_in_both_blocks(method):
    problems = quadratics()
    clients, weights = federation(problems)
    r = run(clients, method, tol=0, rounds=7, local_steps=1, step_size=1.0, certify_every=0)
    in_x, in_y = step_length(problems)
    x, ys = np.zeros(6), [np.zeros(3) for _ in problems]
    for _ in range(7):
        evaluations = [p.fix(x).at(y) for p, y in zip(problems, ys, strict=True)]
        ys = [y - in_y * e.grad_y for y, e in zip(ys, evaluations, strict=True)]
        x = x - in_x * sum(w * e.grad_x for w, e in zip(weights, evaluations, strict=True))
    np.testing.assert_allclose(r.x, x, rtol=1e-12)
    for client, y in zip(clients, ys, strict=True):
        np.testing.assert_allclose(client.y, y, rtol=1e-12)


def test_reconstruction_with_one_local_step_is_gradient_descent_on_the_reduced_function():
    problems = quadratics()
    clients, weights = federation(problems)
    r = run(clients, "fedrecon", tol=0, rounds=5, local_steps=1, step_size=1.0, certify_every=0)
    in_x, _ = step_length(problems)
    x = np.zeros(6)
    for _ in range(5):
        gradients = []
        for p in problems:
            y = -np.linalg.solve(p.H[6:, 6:], p.H[6:, :6] @ x + p.b[6:])
            gradients.append(p.fix(x).at(y).grad_x)
        x = x - in_x * sum(w * g for w, g in zip(weights, gradients, strict=True))
    np.testing.assert_allclose(r.x, x, rtol=1e-6)


def test_several_local_steps_keep_fedavg_from_the_minimum_but_not_the_corrected_ones():
    problems = quadratics()
    gaps = {}
    for method in ("fedavg", "scaffold", "proxskip"):
        clients, weights = federation(problems)
        best = minimum(problems, weights)
        r = run(clients, method, tol=0, rounds=400, certify_every=0)
        gaps[method] = r.fun - best.fun
    assert gaps["fedavg"] > 1e-3
    assert abs(gaps["scaffold"]) <= 1e-9
    assert abs(gaps["proxskip"]) <= 1e-9


def test_the_control_variates_of_proxskip_sum_to_zero():
    problems = quadratics()
    _, weights = federation(problems)
    task = ProxSkipTask(steps=3, probability=0.3, step_x=0.1, step_y=0.1)
    x, memories = np.zeros(6), [task.begin(np.zeros(3)) for _ in problems]
    for _ in range(5):
        outcomes = [task.run_at_client(p, x, m) for p, m in zip(problems, memories, strict=True)]
        memories = [outcome.memory for outcome in outcomes]
        x = x - sum(w * outcome.vector for w, outcome in zip(weights, outcomes, strict=True))
        assert all(isinstance(memory, LocalMemory) for memory in memories)
        total = sum(w * memory.control for w, memory in zip(weights, memories, strict=True))
        np.testing.assert_allclose(total, 0, atol=1e-12)


def test_proxskip_takes_about_the_root_of_kappa_rounds():
    """O(√κ log 1/ε) rounds: a hundredfold κ costs about ten times the rounds of gradient steps' hundred."""

    def rounds(kappa):
        problems = [
            Quadratic.random(d_x=20, d_y=2, mu_x=1 / kappa, L_x=1.0, mu_y=0.5, L_y=1.0, seed=i) for i in range(4)
        ]
        clients, weights = federation(problems)
        best, start = minimum(problems, weights).fun, 0.0
        reached = []

        def look(record):
            if record.value - best <= 1e-4 * (start - best):
                reached.append(record.grad_x)
            return bool(reached)

        run(clients, "proxskip", tol=0, rounds=5000, certify_every=0, callback=look)
        return reached[0]

    assert rounds(1000.0) <= 20 * rounds(10.0)


@pytest.mark.parametrize("method", names())
def test_rounds_are_counted_and_bounded(method):
    clients, _ = federation(quadratics())
    r = run(clients, method, tol=0, rounds=11)
    assert r.calls["grad_x"] == 11
    assert r.status == "budget"
    assert r.y is None
    assert r.method == method


@pytest.mark.parametrize("method", ["scaffold", "proxskip", "bam", "reduced-lbfgs"])
def test_tol_has_one_meaning(method):
    problems = quadratics()
    clients, weights = federation(problems)
    r = run(clients, method, tol=1e-6, rounds=3000)
    assert r.success
    assert r.certified
    assert r.gap_bound <= 1e-6
    assert r.fun - minimum(problems, weights).fun <= r.gap_bound


def test_options_and_names_are_checked():
    clients, _ = federation(quadratics())
    for method, options, words in [
        ("fedavgg", {}, "did you mean 'fedavg'"),
        ("fedavg", {"local_step": 3}, "did you mean 'local_steps'"),
        ("fedavg", {"local_steps": 0}, "must take at least one step"),
        ("fedavg", {"step_size": -1.0}, "positive"),
        ("proxskip", {"L_x": 1.0}, "no option 'L_x'"),
        ("nag", {}, "does not run in a federation"),
    ]:
        with pytest.raises(minmin.MinMinError, match=words):
            run(clients, method, **options)


def test_clients_without_constants_can_only_be_reduced():
    value = {"value": lambda x, y: float(x @ x + y @ y), "grad_x": lambda x, y: 2 * x, "grad_y": lambda x, y: 2 * y}
    clients = [Client(minmin.problems.Function(**value, d_x=2, d_y=1), y0=[1.0])]
    for method in ("bam", "fedavg", "proxskip"):
        with pytest.raises(minmin.UnsupportedError, match="constants"):
            run(clients, method)
    r = run(clients, "reduced-lbfgs", x0=[1.0, 2.0])
    assert abs(r.fun) <= 1e-6


def test_stateless_clients_find_the_same_minimum():
    rng = np.random.default_rng(0)
    problems = [
        GLM(
            rng.standard_normal((40, 5)),
            rng.standard_normal((40, 2)),
            np.sign(rng.standard_normal(40)),
            alpha_x=0.1,
            alpha_y=0.1,
        )
        for _ in range(3)
    ]
    clients, weights = federation(problems)
    r = run(clients, "reduced-lbfgs", tol=1e-9, stateless=True)
    assert r.success
    assert abs(r.fun - minimum(problems, weights).fun) <= 1e-9
