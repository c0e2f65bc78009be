"""What every method promises, for methods that minimise a Split alone."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import array_api_strict
import numpy as np
import pytest
import torch

import minmin
from contract.libraries import in_library, small_problem
from contract.promises import assert_pure, assert_same_run
from minmin.core.arrays import to_numpy
from minmin.core.bound import Constants
from minmin.problems import GLM, Quadratic, Split
from reference import SPLIT_VARIANTS, ExactQuadratic, as_function

TOL = {"float64": 1e-5, "float32": 1e-2}
PARTS = {
    "quadratic": (small_problem("quadratic"), Quadratic.random(d_x=3, d_y=3, L_x=40.0, L_y=20.0, coupling=1.0, seed=4)),
    "glm": (small_problem("glm"), Quadratic.random(d_x=3, d_y=3, L_x=40.0, L_y=20.0, coupling=1.0, seed=4)),
}
SPLIT = Split(*PARTS["quadratic"])
EXACT = ExactQuadratic(Quadratic(SPLIT.f.H + SPLIT.g.H, SPLIT.f.b + SPLIT.g.b, 3))

every_variant = pytest.mark.parametrize("variant", SPLIT_VARIANTS)


@cache
def minimum(kind):
    return minmin.minimize(Split(*PARTS[kind]), tol=1e-12).fun


def minimize(problem, variant, *start, **keywords):
    method, options = SPLIT_VARIANTS[variant]
    return minmin.minimize(problem, *start, method=method, **options, **keywords)


@every_variant
@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("dtype", TOL)
@pytest.mark.parametrize("xp", [np, array_api_strict, torch], ids=lambda xp: xp.__name__)
def test_converges_in_every_library_and_keeps_the_dtype(variant, kind, dtype, xp):
    problem = Split(*(in_library(part, xp, dtype) for part in PARTS[kind]))
    x0, y0 = (xp.ones(3, dtype=getattr(xp, dtype)) for _ in range(2))
    r = minimize(problem, variant, x0, y0, tol=TOL[dtype])
    assert r.status == "converged", r
    assert r.certified
    for end, start in ((r.x, x0), (r.y, y0)):
        assert type(end) is type(start)
        assert end.dtype == start.dtype
        assert np.all(to_numpy(start) == 1.0)
    there = Split(*PARTS[kind]).fix(to_numpy(r.x).astype(float)).at(to_numpy(r.y).astype(float)).value
    assert there - minimum(kind) <= r.gap_bound + 1e-5  # the data are rounded in float32


@every_variant
def test_a_start_in_another_library_takes_the_problem_along(variant):
    r = minimize(SPLIT, variant, torch.zeros(3, dtype=torch.float32), tol=1e-2)
    assert r.success
    assert r.x.dtype == r.y.dtype == torch.float32


@every_variant
def test_a_method_is_pure(variant):
    method, options = SPLIT_VARIANTS[variant]
    assert_pure(minmin.extend.build(method, SPLIT, options, None)[0], SPLIT)


@every_variant
def test_calls_equal_counters_inside_the_users_callables(variant):
    for stop in ({"tol": 1e-9}, {"max_grad_y": 7}, {"max_grad_x": 5}, {"tol": 1e-30}):
        of_f, of_g = ({"grad_x": 0, "grad_y": 0, "value": 0} for _ in range(2))
        r = minimize(Split(as_function(SPLIT.f, of_f), as_function(SPLIT.g, of_g)), variant, **stop)
        assert (r.calls["grad_x"], r.calls["grad_y"]) == (of_f["grad_x"], of_f["grad_y"])
        assert r.calls["grad_f"] == max(of_f["grad_x"], of_f["grad_y"])
        assert r.calls["grad_g"] == of_g["grad_x"] == of_g["grad_y"]
        assert r.calls["value"] + r.calls["monitor"] == of_f["value"] == of_g["value"]


@every_variant
def test_asked_for_too_much_a_run_stalls_with_a_true_bound(variant):
    r = minimize(SPLIT, variant, tol=1e-300)
    assert r.status == "stalled"
    assert EXACT.gap(r.x, r.y) <= r.gap_bound <= 1e-9


@every_variant
def test_cut_anywhere_a_resumed_run_is_the_undisturbed_one(variant, tmp_path):
    problem, file = Split(*PARTS["glm"]), tmp_path / "run.minmin"
    whole = minimize(problem, variant, tol=1e-8)
    for cut in (0, 3, 8):
        assert minimize(problem, variant, tol=1e-8, max_grad_y=cut, checkpoint=file).status == "budget"
    assert_same_run(whole, minimize(problem, variant, tol=1e-8, checkpoint=file))
    assert_same_run(whole, minimize(problem, variant, tol=1e-8, checkpoint=file))
    with pytest.raises(minmin.CheckpointError):
        minimize(Split(*PARTS["quadratic"]), variant, tol=1e-8, checkpoint=file)


@every_variant
def test_gtol_holds_at_the_point_itself(variant):
    r = minimize(SPLIT, variant, tol=0, gtol=1e-4)
    assert r.success
    evaluation = SPLIT.fix(r.x).at(r.y)
    assert max(np.abs(evaluation.grad_x).max(), np.abs(evaluation.grad_y).max()) <= 1e-4


@every_variant
def test_runs_at_once_on_one_problem_do_not_meet(variant):
    alone = minimize(SPLIT, variant, tol=1e-6)
    with ThreadPoolExecutor(4) as pool:
        for r in pool.map(lambda _: minimize(SPLIT, variant, tol=1e-6), range(4)):
            assert np.array_equal(r.x, alone.x)
            assert r.calls == alone.calls


WRONG = [
    (part, name, value)
    for part in "fg"
    for name, value in (("L_x", 5.0), ("L_y", 10.0), ("mu_x", 3.0), ("mu_y", 30.0))
    if (part, name) != ("g", "L_y")  # only an inner solve rests on it, and f is as steep: it succeeds all the same
]


@every_variant
@pytest.mark.parametrize(("part", "name", "value"), WRONG)
def test_a_wrong_constant_of_f_or_g_is_named(variant, part, name, value):
    true, right = {"L_x": 50.0, "L_y": 500.0, "mu_x": 0.1, "mu_y": 0.1}, Quadratic.random()
    wrong = Quadratic(right.H, right.b, right.d_x, Constants(**{**true, name: value}))
    split = Split(wrong, right) if part == "f" else Split(right, wrong)
    kind, block = name.split("_")
    with pytest.raises(minmin.ConstantsError, match=f"^{kind}_{block} of {part} = {value:g} does not hold"):
        minimize(split, variant, tol=1e-6)


@every_variant
@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 2e4), (np.float64, 1.7e9)])
@pytest.mark.parametrize("tol", [1e-4, 1e-300])
def test_right_constants_are_not_doubted_because_of_rounding(variant, dtype, mean, tol):
    """Centred features, an uncentred target: large residuals that are nearly orthogonal to the columns."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 8))
    A -= A.mean(axis=0)
    A, target = A.astype(dtype), (A @ rng.standard_normal(8) + mean).astype(dtype)
    f, g = (GLM(A[:, :5], A[:, 5:], target, "squared", alpha_x=a, alpha_y=a) for a in (1e-3, 1e-2))
    assert minimize(Split(f, g), variant, tol=tol, max_grad_y=20_000).status in ("converged", "stalled")
