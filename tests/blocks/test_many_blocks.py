"""Functions and quadratics of several blocks: results, counts, starts, checkpoints, and input that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks.cases import make_case

import minmin
from minmin.problems import Function, Quadratic

METHODS = ["reduced-lbfgs", "bam", "lincoupling", "alternating", "cutting-plane"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_method_finds_the_minimum_in_the_users_order_and_counts_every_gradient(method, seed):
    kappas = np.array([3e2, 10.0, 50.0])
    case = make_case(kappas, seed=seed)
    counts = np.zeros(3, int)
    r = minmin.minimize(case.function(counts, costs=[1.0, 5.0, 2.0]), method=method, tol=1e-9)
    assert r.success
    assert r.certified
    assert r.fun - case.minimum <= r.gap_bound + 1e-13 * abs(case.minimum)
    assert [block.shape for block in r.blocks] == [(size,) for size in case.sizes]
    assert np.array_equal(r.x, r.blocks[0])
    assert np.allclose(np.concatenate(r.blocks), case.minimiser, atol=2 * np.sqrt(2e-9 / case.mu.min()))
    assert [r.calls[f"grad_{i}"] for i in range(3)] == counts.tolist()


def test_without_constants_the_bound_is_an_estimate_and_blocks_inside_save_calls():
    together, inside = np.zeros(3, int), np.zeros(3, int)
    for seed in range(3):
        case = make_case([1e2, 1e4, 1e6], seed, sizes=(20, 20, 10), coupling=0.5)
        for costs, counts in (([1.0, 1.0, 1.0], together), ([100.0, 10.0, 1.0], inside)):
            r = minmin.minimize(case.function(counts, with_constants=False, costs=costs), tol=1e-8)
            assert r.success
            assert not r.certified
            assert r.fun - case.minimum <= 1e-7
    assert together[1] == together[2]
    assert inside[1] < 0.8 * together[1]


@pytest.mark.parametrize("sizes", [(4, 3, 2), (5, 70, 3, 40), (40, 20, 20), (3, 3)])
def test_estimated_constants_hold_for_every_block_and_can_be_given_back(sizes):
    for seed in range(4):
        case = make_case([10.0] * len(sizes), seed, 0.3 * (seed % 3), sizes)
        costs = np.random.default_rng(seed).permutation(len(sizes)) + 1.0
        counts = np.zeros(len(sizes), int)
        c = minmin.estimate_constants(case.function(counts, with_constants=False, costs=costs))
        assert counts.max() <= 310 + 240 * (len(sizes) - 1)
        assert c.source == "estimated"
        scale = 1e-6 * np.abs(case.H).max()
        for bound, sign in ((c.mu, 1.0), (c.L, -1.0)):
            assert np.linalg.eigvalsh(sign * (case.H - np.diag(np.repeat(bound, sizes))))[0] >= -scale
        assert (np.array(c.L) / c.mu <= 8.0 * case.L / case.mu).all()
        given = case.function(with_constants=False, L=c.L, mu=c.mu, costs=costs)
        r = minmin.minimize(given, method="bam", tol=1e-6)
        assert r.success
        assert not r.certified
        assert r.fun - case.minimum <= r.gap_bound
    proved = case.quadratic()
    assert minmin.estimate_constants(proved).L == proved.blocks.L
    half = case.function(with_constants=False, L=case.L, mu=[0.0] * len(sizes))
    assert tuple(case.L) == minmin.estimate_constants(half).L


def test_constants_of_a_quadratic_are_proved_for_every_block():
    for seed in range(20):
        case = make_case(10 ** np.random.default_rng(seed).uniform(0.1, 5, size=3), seed, coupling=0.5 * (seed % 3))
        layout = Quadratic(case.H, case.b, sizes=case.sizes).blocks
        assert layout.source == "proved"
        for bound, sign in ((layout.mu, 1.0), (layout.L, -1.0)):
            slack = sign * (case.H - np.diag(np.repeat(bound, case.sizes)))
            assert np.linalg.eigvalsh(slack)[0] >= -1e-12 * np.abs(case.H).max()


def test_constants_are_exact_where_blocks_do_not_interact():
    case = make_case([1e2, 1e4, 1e6], coupling=0.0)
    layout = Quadratic(case.H, case.b, sizes=case.sizes).blocks
    assert np.allclose(layout.L, case.L, rtol=1e-3)
    assert np.allclose(layout.mu, case.mu, rtol=1e-3)


def test_a_quadratic_that_is_zero_has_constants_as_well():
    problem = Quadratic(np.zeros((3, 3)), np.zeros(3), sizes=[1, 1, 1])
    assert minmin.minimize(problem).success
    assert min(problem.blocks.L) > 0.0


def _round_one_gradient(case, number):
    """The same function of blocks, with one gradient in single precision."""
    rows = np.split(np.arange(len(case.b)), np.cumsum(case.sizes)[:-1])

    def grad(i):
        dtype = np.float32 if i == number else np.float64
        H, b = case.H[rows[i]].astype(dtype), case.b[rows[i]].astype(dtype)
        return lambda *blocks: H @ np.concatenate(blocks).astype(dtype) + b

    grads = [grad(i) for i in range(len(case.sizes))]
    return Function(None, grads=grads, sizes=case.sizes, L=case.L, mu=case.mu, costs=[3.0, 2.0, 1.0])


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_bounds_allow_for_a_gradient_in_single_precision_whatever_its_block(method, number):
    case = make_case([1e2, 1e2, 1e2], seed=5, coupling=0.5)
    r = minmin.minimize(_round_one_gradient(case, number), method=method, tol=1e-13, max_iterations=200)
    away = np.concatenate(r.blocks) - case.minimiser
    assert 0.5 * away @ case.H @ away <= r.gap_bound
    assert r.status != "converged"


def test_a_start_is_a_list_of_blocks_and_is_not_changed():
    case = make_case([1e2, 1e2, 1e2])
    start = [np.full(size, 1.0 + i) for i, size in enumerate(case.sizes)]
    minmin.minimize(case.quadratic(), start)
    assert all(np.array_equal(block, np.full(len(block), 1.0 + i)) for i, block in enumerate(start))
    unmoved = minmin.minimize(case.quadratic(), start, max_iterations=0)
    assert all(np.allclose(block, given) for block, given in zip(unmoved.blocks, start, strict=True))


@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs"])
def test_a_resumed_run_is_bit_identical(method, tmp_path):
    case = make_case([1e2, 1e3, 1e4], seed=3)
    problem = case.function(costs=[9.0, 3.0, 1.0])
    whole = minmin.minimize(problem, method=method, tol=1e-9)
    path = tmp_path / "run.ckpt"
    minmin.minimize(problem, method=method, tol=1e-9, max_iterations=whole.nit // 2, checkpoint=path)
    rest = minmin.minimize(problem, method=method, tol=1e-9, checkpoint=path)
    assert all(np.array_equal(a, b) for a, b in zip(whole.blocks, rest.blocks, strict=True))
    assert whole.calls == rest.calls


def test_other_costs_refuse_the_checkpoint(tmp_path):
    case = make_case([1e2, 1e2, 1e2], seed=3)
    path = tmp_path / "run.ckpt"
    minmin.minimize(case.quadratic(costs=[9.0, 3.0, 1.0]), method="bam", max_iterations=2, checkpoint=path)
    with pytest.raises(minmin.CheckpointError):
        minmin.minimize(case.quadratic(costs=[1.0, 3.0, 9.0]), method="bam", checkpoint=path)


def test_blocks_of_pytorch_come_back_as_blocks_of_pytorch():
    torch = pytest.importorskip("torch")
    targets = [torch.arange(size, dtype=torch.float64) for size in (3, 2, 4)]

    def value(*blocks):
        assert all(isinstance(block, torch.Tensor) for block in blocks)
        total = sum(block.sum() for block in blocks)
        return float(sum(((a - t) ** 2).sum() for a, t in zip(blocks, targets, strict=True)) + 0.1 * total**2)

    def grad(i):
        return lambda *blocks: 2 * (blocks[i] - targets[i]) + 0.2 * sum(block.sum() for block in blocks)

    problem = Function(value, grads=[grad(i) for i in range(3)], sizes=[3, 2, 4], L=[4, 4, 4], mu=[2, 2, 2])
    r = minmin.minimize(
        problem, [torch.zeros(size, dtype=torch.float64) for size in (3, 2, 4)], method="bam", tol=1e-10
    )
    assert r.success
    assert all(isinstance(block, torch.Tensor) for block in r.blocks)
    assert max(float(grad(i)(*r.blocks).abs().max()) for i in range(3)) < 1e-3


def test_check_and_budgets_work_on_several_blocks():
    case = make_case([1e2, 1e3, 1e4])
    report = minmin.check(case.function())
    assert report.ok
    assert "L of blocks 1 and 2" in str(report)
    r = minmin.minimize(case.function(), method="bam", tol=1e-12, max_grad_y=50)
    assert r.status == "budget"
    assert r.calls["grad_2"] == r.calls["grad_y"] == 50


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "reduced-newton"])
def test_gtol_is_in_the_units_of_every_block(method):
    case = make_case([10.0, 10.0, 10.0], mu=[1.0, 1.0, 1e4])
    r = minmin.minimize(case.quadratic(costs=[3.0, 2.0, 1.0]), method=method, tol=0.0, gtol=1e-4)
    assert r.success
    assert np.abs(case.H @ np.concatenate(r.blocks) + case.b).max() <= 1e-4


def test_a_gradient_that_is_not_finite_is_named_by_its_block():
    def grad(i):
        return lambda *blocks: np.full(2, np.nan) if i == 2 else 2 * blocks[i]

    problem = Function(None, grads=[grad(i) for i in range(3)], sizes=[2, 2, 2])
    with pytest.raises(minmin.NonFiniteError, match="index 0 of block 2"):
        minmin.minimize(problem)


def _give(**changes):
    given = {"grads": [lambda a, b: a, lambda a, b: b], "sizes": [2, 3], "L": [1.0, 1.0], "mu": [1.0, 1.0]}
    return Function(None, **(given | changes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quadratic(np.eye(5), np.ones(5), sizes=[2, 2]), r"sizes = \[2, 2\] add up to 4, and H has 5"),
        (lambda: Quadratic(np.eye(5), np.ones(5), sizes=[5]), "at least two blocks"),
        (lambda: Quadratic(np.eye(5), np.ones(5), sizes=[5, 0]), "at least one variable"),
        (lambda: Quadratic(np.eye(5), np.ones(5), 2, sizes=[2, 3]), "leave d_x and constants out"),
        (lambda: Quadratic(np.eye(5), np.ones(5), 2, costs=[2, 3]), r"costs is for several blocks"),
        (lambda: Quadratic(np.diag([1.0, 1.0, -1.0]), np.ones(3), sizes=[1, 1, 1]), "not convex"),
        (lambda: _give(sizes=None), "give sizes, too"),
        (lambda: _give(sizes=3), "sizes must be a list"),
        (lambda: _give(grads=[lambda a, b: a]), "a function for each of the 2 blocks, got 1 functions"),
        (lambda: _give(grads=[lambda a, b: a, None]), r"grads\[1\] must be callable"),
        (lambda: _give(grad_x=lambda x, y: x), "leave grad_x out"),
        (lambda: _give(L=None), "give L, too"),
        (lambda: _give(L=[1.0]), "L has 1 numbers, and sizes 2"),
        (lambda: _give(mu=[2.0, 1.0]), r"L\[0\] = 1 and mu\[0\] = 2"),
        (lambda: _give(costs=[1.0, -1.0]), "every cost must be positive"),
        (lambda: Function(3, grads=[len, len], sizes=[1, 1]), "value must be callable with all blocks"),
    ],
)
def test_wrong_input_says_what_and_what_to_do(make, message):
    with pytest.raises(minmin.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([np.zeros(2)], "a list of 3 blocks, as the problem has, got 1 blocks"),
        (np.zeros(6), "a list of 3 blocks"),
        ([np.zeros(2), np.zeros(3), np.zeros(2)], "block 1 of the start has shape"),
        ([np.zeros(2), np.zeros(2, np.float32), np.zeros(2)], "block 0 of the start is .* and block 1 is"),
    ],
)
def test_a_wrong_start_names_the_block(start, message):
    case = make_case([10.0, 10.0, 10.0], sizes=(2, 2, 2))
    with pytest.raises(minmin.InputError, match=message):
        minmin.minimize(case.quadratic(), start)


def test_what_takes_two_blocks_alone_says_so():
    problem = make_case([10.0, 10.0, 10.0], sizes=(2, 2, 2)).quadratic()
    with pytest.raises(minmin.InputError, match="in one list"):
        minmin.minimize(problem, np.zeros(2), np.zeros(4))
    with pytest.raises(minmin.InputError, match="leave outer and cost_ratio out"):
        minmin.minimize(problem, method="bam", outer="y")
    with pytest.raises(minmin.InputError, match=r"bounds_y is for two blocks; .* bounds=\[...\] with 3 entries"):
        minmin.minimize(problem, bounds_y=(0.0, 1.0))
    with pytest.raises(minmin.InputError, match="Split takes no problem with sizes"):
        minmin.problems.Split(problem, problem)
    with pytest.raises(minmin.InputError, match="Sum takes no problem with sizes"):
        minmin.Sum([problem, problem])
    with pytest.raises(minmin.InputError, match="a client takes no problem with sizes"):
        minmin.federated.Client(problem)
    without = make_case([10.0, 10.0, 10.0], sizes=(2, 2, 2)).function(with_constants=False)
    with pytest.raises(minmin.UnsupportedError, match=r"give L=\[...\] and mu=\[...\]"):
        minmin.minimize(without, method="bam")


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag"])
def test_callables_may_change_their_arguments_and_reuse_their_arrays(method):
    out = np.zeros(2)

    def grad(i):
        def function(*blocks):
            np.add((i + 2) * blocks[i], 1.0, out=out)
            for block in blocks:
                block += 1e3
            return out

        return function

    problem = Function(None, grads=[grad(i) for i in range(4)], sizes=[2] * 4, L=[2, 3, 4, 5], mu=[2, 3, 4, 5])
    r = minmin.minimize(problem, method=method, tol=1e-12)
    assert np.allclose(r.blocks, [[-1 / (i + 2)] * 2 for i in range(4)], atol=1e-5)


def test_functions_of_several_blocks_are_given_as_a_problem():
    with pytest.raises(minmin.InputError, match=r"minmin.problems.Function\(f, grads="):
        minmin.minimize(lambda a, b, c: 0.0, [np.zeros(1)] * 3, grads=[len] * 3, sizes=[1, 1, 1])


def test_an_error_in_a_gradient_names_it():
    def broken(a, b, c):
        raise ValueError("no")

    fine = [lambda a, b, c: 2 * a, lambda a, b, c: 2 * b]
    with pytest.raises(minmin.UserCodeError, match=r"grads\[2\] raised ValueError: no"):
        minmin.minimize(Function(None, grads=[*fine, broken], sizes=[1, 1, 1]))
    with pytest.raises(minmin.InputError, match=r"grads\[2\] returned shape \(2,\); it must return \(1,\)"):
        minmin.minimize(Function(None, grads=[*fine, lambda a, b, c: np.ones(2)], sizes=[1, 1, 1]))
