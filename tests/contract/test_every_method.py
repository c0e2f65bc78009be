"""What every method promises, whatever the problem, the array library and the dtype."""

import array_api_strict
import numpy as np
import pytest

import minmin
from contract.libraries import assert_converges, in_library, small_problem
from contract.promises import assert_bounds, assert_pure
from minmin.problems import Function, Quadratic
from reference import SPLIT_VARIANTS, VARIANTS, ExactQuadratic, as_function, random_glm, random_quadratic

TOL = {"float64": 1e-8, "float32": 1e-3}


def problem_of(kind):
    rng = np.random.default_rng(5)
    return Quadratic.random(d_x=12, d_y=4, L_x=5.0, L_y=50.0, coupling=1.0) if kind == "quadratic" else random_glm(rng)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["quadratic", "glm"])
@pytest.mark.parametrize("dtype", TOL)
def test_converges_and_keeps_the_dtype(variant, kind, dtype):
    method, options = VARIANTS[variant]
    problem = in_library(problem_of(kind), np, dtype)
    x0, y0 = np.ones(problem.d_x, dtype=dtype), np.ones(problem.d_y, dtype=dtype)
    r = minmin.minimize(problem, x0, y0, method=method, tol=TOL[dtype], **options)
    assert r.status == "converged", r
    assert r.gap_bound <= TOL[dtype]
    for answer, start in ((r.x, x0), (r.y, y0)):
        assert type(answer) is type(start)
        assert answer.dtype == start.dtype
        assert answer.shape == start.shape
        assert np.all(start == 1.0)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["quadratic", "glm"])
@pytest.mark.parametrize("dtype", TOL)
def test_converges_in_array_api_strict(variant, kind, dtype):
    assert_converges(kind, variant, array_api_strict, dtype)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_start_in_another_library_and_dtype_takes_the_problem_along(variant, dtype):
    xp, method, options = array_api_strict, *VARIANTS[variant]
    problem = small_problem("quadratic")
    r = minmin.minimize(problem, xp.zeros(3, dtype=getattr(xp, dtype)), method=method, tol=1e-2, **options)
    assert r.success
    assert r.x.dtype == r.y.dtype == getattr(xp, dtype)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if not v.endswith("newton")])  # callables have no Hessian
def test_calls_equal_a_counter_inside_the_users_callables(variant):
    method, options = VARIANTS[variant]
    rng = np.random.default_rng(2)
    for _ in range(3):
        problem = random_quadratic(rng, 1e3)
        for stop in ({"tol": 1e-9}, {"max_grad_y": 17}, {"max_grad_x": 5}, {"tol": 1e-30}):
            counts = {"grad_x": 0, "grad_y": 0, "value": 0}
            r = minmin.minimize(as_function(problem, counts), method=method, **stop, **options)
            assert r.calls["grad_x"] == counts["grad_x"]
            assert r.calls["grad_y"] == counts["grad_y"]
            assert r.calls["value"] + r.calls["monitor"] == counts["value"]
            assert r.history.grad_x[-1] == counts["grad_x"]
            assert r.history.grad_y[-1] == counts["grad_y"]


def test_a_callables_newton_is_refused_by_name():
    with pytest.raises(minmin.UnsupportedError, match=r"inner='newton' needs a y-Hessian, which a Function"):
        minmin.minimize(as_function(problem_of("quadratic")), method="bam", inner="newton")


@pytest.mark.slow
@pytest.mark.parametrize("variant", [v for v in VARIANTS if "adaptive" not in v])  # whose bound is an estimate
def test_the_certificate_is_never_below_the_true_gap(variant):
    """50 random problems, other ones for every variant; checked at every iteration, not only at the end."""
    method, options = VARIANTS[variant]
    assert_bounds(method, problems=50, draw=list(VARIANTS).index(variant), **options)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_asked_for_too_much_a_run_stalls_with_a_true_bound(variant):
    method, options = VARIANTS[variant]
    rng = np.random.default_rng(3)
    for _ in range(6):
        problem = random_quadratic(rng)
        exact = ExactQuadratic(problem)
        converged = minmin.minimize(problem, method=method, tol=1e-10 * (1 + abs(exact.value)), **options)
        r = minmin.minimize(problem, method=method, tol=1e-300, **options)
        assert converged.success
        assert r.status == "stalled"
        assert not r.success
        assert r.gap_bound >= exact.gap(r.x, r.y)
        assert r.gap_bound <= 1e-9 * (1 + abs(exact.value))
        assert r.calls["grad_y"] <= 20 * converged.calls["grad_y"] + 200


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_method_is_pure(variant):
    method, options = VARIANTS[variant]
    problem = problem_of("quadratic")
    assert_pure(minmin.extend.build(method, problem, options, None)[0], problem)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sum_equals_the_one_problem_it_stands_for(variant):
    """f = Σ w_i f_i with a y of its own in every term, against the same function written out."""
    method, options = VARIANTS[variant]
    terms = [Quadratic.random(d_x=5, d_y=3, coupling=1.0, L_x=5.0, L_y=30.0, seed=s) for s in range(3)]
    weights = (0.5, 0.3, 0.2)
    exact = ExactQuadratic(written_out(terms, weights))
    r = minmin.minimize(minmin.Sum(terms, weights), method=method, tol=1e-9, **options)
    assert r.success
    assert exact.gap(r.x, np.concatenate(list(r.y))) <= r.gap_bound <= 1e-9


def written_out(terms, weights):
    d_x, d_y = terms[0].d_x, terms[0].d_y
    H = np.zeros((d_x + d_y * len(terms),) * 2)
    b = np.zeros(len(H))
    for i, (term, w) in enumerate(zip(terms, weights, strict=True)):
        index = np.r_[0:d_x, d_x + i * d_y : d_x + (i + 1) * d_y]
        H[np.ix_(index, index)] += w * term.H
        b[index] += w * term.b
    return Quadratic(H, b, d_x)


def test_every_name_is_covered_here():
    tested = {method for method, _ in (VARIANTS | SPLIT_VARIANTS).values()}
    assert tested == set(minmin.methods.names()) - {"auto"}


def test_auto_takes_the_reduced_method_and_says_why():
    r = minmin.minimize(problem_of("quadratic"))
    assert r.method == "reduced-lbfgs"
    assert "auto took reduced-lbfgs in x" in r.message
    expensive_y = minmin.minimize(problem_of("quadratic"), cost_ratio=0.01)
    assert "auto took reduced-lbfgs in y, the more expensive block" in expensive_y.message
    assert expensive_y.calls["grad_y"] < r.calls["grad_y"]
    with pytest.raises(minmin.InputError, match="cost_ratio = 0"):
        minmin.minimize(problem_of("quadratic"), cost_ratio=0)


def test_without_constants_bam_says_what_it_needs_and_auto_goes_on():
    f = as_function(problem_of("quadratic"))
    bare = Function(f.value, f.grad_x, f.grad_y, d_x=f.d_x, d_y=f.d_y)
    with pytest.raises(minmin.UnsupportedError, match=r"constants=minmin\.Constants"):
        minmin.minimize(bare, method="bam")
    r = minmin.minimize(bare, tol=1e-8)
    assert r.success
    assert not r.certified
    assert "estimated" in r.message
