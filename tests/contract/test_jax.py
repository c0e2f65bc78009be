"""JAX: every method, dtypes, checkpoints, products in full precision, and float64 switched off."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import minmin
from contract.libraries import assert_converges, assert_proximal_maps, assert_resumes, in_library, small_problem
from minmin.core import precision
from minmin.core.arrays import to_numpy
from minmin.problems import GLM, Function, Quadratic, Softmax
from minmin.problems.linear.checked_designs import make_design
from minmin.problems.linear.softmax import PairedHessian
from reference import VARIANTS
from terms.cases import SIZE, TERMS

SWITCHED_OFF = r'switched off; call jax\.config\.update\("jax_enable_x64", True\) before the first array is made'


@pytest.fixture(autouse=True, scope="module")
def float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture
def no_float64():
    """As JAX is by default."""
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["quadratic", "glm"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_method_converges(variant, kind, dtype):
    assert_converges(kind, variant, jnp, dtype)


@pytest.mark.parametrize("kind", ["softmax", "sum"])
def test_classes_and_sums_converge(kind):
    assert_converges(kind, "bam-newton", jnp, "float32")


def test_a_cut_run_resumes(tmp_path):
    assert_resumes(jnp, "float64", tmp_path / "run")


def test_terms_give_the_values_of_numpy():
    terms = {name: TERMS[name] for name in ("GroupL2", "Box with a free side", "Simplex")}
    assert_proximal_maps(terms, np.random.default_rng(1).standard_normal(SIZE), jnp)


def test_the_surrogate_hessian_of_softmax_is_that_of_numpy():
    rng = np.random.default_rng(2)
    A, margins = rng.standard_normal((12, 3)), rng.standard_normal((12, 3))
    p, w = rng.dirichlet(np.ones(3), 12), rng.uniform(size=12)
    A, margins, p, w = (a.astype(np.float32) for a in (A, margins, p, w))
    ours = PairedHessian(margins, p, w).gram(make_design(A, "X"))
    theirs = PairedHessian(*map(jnp.asarray, (margins, p, w))).gram(make_design(jnp.asarray(A), "X"))
    assert np.allclose(to_numpy(theirs), ours, atol=1e-5)


def test_float32_is_multiplied_in_full_precision_where_jax_may_round():
    seen = []

    def gradient(v, w):
        seen.append(jax.config.jax_default_matmul_precision)
        return v + 0.5 * w

    f = Function(None, gradient, lambda x, y: gradient(y, x), d_x=3, d_y=3, constants=minmin.Constants(2, 2, 0.5, 0.5))
    start = jnp.ones(3, dtype="float32")
    with jax.default_matmul_precision("bfloat16"):
        minmin.minimize(f, start, start, method="nag", max_iterations=2)
        assert jax.config.jax_default_matmul_precision == "bfloat16"
    assert set(seen) == {"highest"}


@pytest.mark.parametrize(("told", "dtype"), [(None, "float32"), ("bfloat16", "float64")])
def test_the_precision_stays_where_nothing_is_rounded(told, dtype):
    """On a CPU that was not told to round, and in double precision: another precision would compile all again."""
    with jax.default_matmul_precision(told), precision.full_float32(jnp.ones(3, dtype=dtype)):
        assert jax.config.jax_default_matmul_precision == told


def test_jax_may_round_on_accelerators():
    for platform, may_round in (("cpu", False), ("gpu", True), ("tpu", True)):
        place = SimpleNamespace(platform=platform)
        assert precision.jax_may_round(SimpleNamespace(devices=lambda place=place: [place])) == may_round


X, Y, LABELS = np.eye(4, 2), np.ones((4, 1)), np.array([0, 1, 1, 0])


@pytest.mark.parametrize(
    ("what", "run"),
    {
        "X holds int32 values": lambda: Softmax(
            jnp.asarray(X, dtype=jnp.int32), jnp.asarray(Y), LABELS, alpha_x=0.1, alpha_y=0.1
        ),
        "b holds int32 values": lambda: Quadratic(jnp.eye(2), jnp.ones(2, dtype=jnp.int32), 1),
        "x0 holds int32 values": lambda: minmin.minimize(small_problem("quadratic"), jnp.asarray([1, 2, 3])),
    }.items(),
)
def test_whole_numbers_do_not_silently_become_float32(what, run, no_float64):
    with pytest.raises(minmin.InputError, match=f"{what}, which become float64, which JAX has {SWITCHED_OFF}"):
        run()


def test_float64_arrays_are_refused_while_float64_is_switched_off(request):
    problem = in_library(small_problem("quadratic"), jnp, "float64")
    x0 = jnp.ones(3, dtype="float64")
    request.getfixturevalue("no_float64")
    with pytest.raises(minmin.InputError, match=f"the problem is in float64, which JAX has {SWITCHED_OFF}"):
        minmin.minimize(problem)
    with pytest.raises(minmin.InputError, match=f"x0 is float64, which JAX has {SWITCHED_OFF}"):
        minmin.minimize(small_problem("quadratic"), x0)


def test_without_float64_the_start_still_decides(no_float64):
    exact = small_problem("quadratic")
    single, once = in_library(exact, jnp, "float32"), {"method": "nag", "max_iterations": 1}
    assert minmin.minimize(exact, jnp.ones(3), **once).x.dtype == jnp.float32
    assert minmin.minimize(single, np.ones(3), **once).x.dtype == np.float64
    assert minmin.minimize(single, [1, 1, 1], **once).x.dtype == jnp.float32


def test_without_float64_labels_and_weights_may_be_whole_numbers(no_float64):
    weights = jnp.ones(4, dtype=jnp.int32)
    for make in (Softmax, GLM):
        problem = make(
            jnp.asarray(X), jnp.asarray(Y), jnp.asarray(LABELS), alpha_x=0.1, alpha_y=0.1, sample_weight=weights
        )
        assert problem.weights.dtype == problem.target.dtype == jnp.float32
        here = problem.fix(jnp.zeros(problem.d_x)).at(jnp.zeros(problem.d_y))
        assert here.value == pytest.approx(np.log(2.0))
