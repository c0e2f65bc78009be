"""PyTorch: every method, dtypes, recorded gradients, checkpoints, and products in full precision."""

import numpy as np
import pytest
import torch

import minmin
from contract.libraries import assert_converges, assert_proximal_maps, assert_resumes, in_library, small_problem
from minmin import federated
from minmin.core.arrays import to_numpy
from minmin.core.precision import full_float32
from minmin.problems import Function, Quadratic
from reference import VARIANTS
from terms.cases import SIZE, TERMS


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["quadratic", "glm", "softmax", "sum"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_method_converges(variant, kind, dtype):
    assert_converges(kind, variant, torch, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_cut_run_resumes(dtype, tmp_path):
    assert_resumes(torch, dtype, tmp_path / "run")


def test_terms_give_the_values_of_numpy():
    assert_proximal_maps(TERMS, np.random.default_rng(1).standard_normal(SIZE), torch)


def test_numpys_data_may_be_read_only_or_reversed():
    problem = small_problem("quadratic")
    H, b = problem.H[::-1, ::-1], problem.b[::-1]
    b.flags.writeable = False
    assert minmin.minimize(Quadratic(H, b, 3), torch.ones(3, dtype=torch.float64), tol=1e-6).success


def test_a_start_in_single_precision_takes_numpys_problem_along():
    r = minmin.minimize(small_problem("glm"), torch.zeros(3), tol=1e-3)
    assert r.success
    assert r.x.dtype == r.y.dtype == torch.float32


def test_tensors_that_record_gradients_are_taken_without_the_record():
    problem = in_library(small_problem("quadratic"), torch, "float64")
    H, b, x0 = (v.clone().requires_grad_() for v in (problem.H, problem.b, torch.ones(3, dtype=torch.float64)))
    assert np.array_equal(to_numpy(H), to_numpy(problem.H))
    r = minmin.minimize(Quadratic(H, b, 3), x0, tol=1e-6)
    assert r.success
    assert not r.x.requires_grad
    assert H.requires_grad


def test_gradients_that_record_gradients_are_taken_without_the_record():
    scale = torch.ones(1, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(2, dtype=torch.float64)
    r = minmin.minimize(
        lambda x, y: 0.5 * (x @ x + y @ y + x @ y).item(),
        zero + 1.0,
        zero,
        grad_x=lambda x, y: scale * (x + 0.5 * y),
        grad_y=lambda x, y: scale * (y + 0.5 * x),
        tol=1e-6,
    )
    assert r.success
    assert not r.x.requires_grad


NEW = [backend.matmul for backend in (torch.backends.cuda, torch.backends.mkldnn)]
ROUNDED = {
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
    "allow_tf32": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "fp32_precision": lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    "fp32_precision of all backends": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
    "untouched": lambda: None,
}


def settings():
    try:
        old = torch.get_float32_matmul_precision()
    except RuntimeError:  # PyTorch does not say while only the new settings were changed
        old = "unknown"
    return old, *(backend.fp32_precision for backend in NEW)


@pytest.fixture(params=ROUNDED)
def rounded(request):
    """One way to make PyTorch round the factors of products; returns the settings."""
    before = settings()
    ROUNDED[request.param]()
    yield settings()
    torch.backends.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    for backend, precision in zip(NEW, before[1:], strict=True):
        backend.fp32_precision = precision


def recording(seen, dtype=torch.float32):
    """A problem whose gradients note the settings under which they are computed."""

    def gradient(v, w):
        seen.append(settings())
        return v + 0.5 * w

    return Function(
        lambda x, y: 0.5 * (x @ x + y @ y + x @ y).item(),
        gradient,
        lambda x, y: gradient(y, x),
        d_x=2,
        d_y=2,
        constants=minmin.Constants(1.5, 1.5, 0.5, 0.5),
    ), torch.ones(2, dtype=dtype)


RUNS = {
    "minimize": lambda f, start: minmin.minimize(f, start, start, tol=1e-3),
    "check": lambda f, start: minmin.check(f, start, start),
    "estimate_constants": lambda f, start: minmin.estimate_constants(
        Function(f.value, f.grad_x, f.grad_y, d_x=2, d_y=2), start, start
    ),
    "a client": lambda f, start: federated.run([federated.Client(f, y0=start)], tol=1e-3),
}


@pytest.mark.parametrize("run", RUNS)
def test_float32_is_multiplied_in_full_precision_and_the_users_setting_comes_back(run, rounded):
    seen = []
    RUNS[run](*recording(seen))
    assert seen
    for old, *new in seen:
        assert old == "highest"
        assert set(new) <= {"none", "ieee"}
    assert settings() == rounded


def test_a_run_that_fails_restores_the_setting(rounded):
    def fail(x, y):
        raise KeyError("no such row")

    start = torch.ones(2)
    with pytest.raises(minmin.UserCodeError):
        minmin.minimize(lambda x, y: 0.0, start, start, grad_x=fail, grad_y=fail)
    assert settings() == rounded


def test_double_precision_leaves_the_setting_alone(rounded):
    seen = []
    RUNS["minimize"](*recording(seen, torch.float64))
    assert set(seen) == {rounded}


def test_the_setting_comes_back_after_the_last_of_overlapping_runs(rounded):
    first, second = full_float32(torch.ones(1)), full_float32(torch.ones(1))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert settings()[0] == "highest"
    second.__exit__(None, None, None)
    assert settings() == rounded
