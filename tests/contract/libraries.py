"""Problems in any array library, and what every run in one has to keep."""

from functools import cache

import numpy as np

import minmin
from minmin.core.arrays import to_numpy
from minmin.problems import GLM, Quadratic, Softmax
from reference import VARIANTS

TOL = {"float64": 1e-4, "float32": 1e-3}
"""Loose, for the small problems: what is tested is that every operation works in the library."""


def in_library(problem, xp, dtype):
    """The problem with its data in one array library and dtype."""

    def convert(a):
        return xp.asarray(a, dtype=getattr(xp, dtype))

    if isinstance(problem, minmin.Sum):
        return minmin.Sum([in_library(term, xp, dtype) for term in problem.terms], problem.weights)
    if isinstance(problem, Quadratic):
        return Quadratic(convert(problem.H), convert(problem.b), problem.d_x, problem.constants)
    data = {"alpha_x": problem.alpha_x, "alpha_y": problem.alpha_y, "sample_weight": convert(problem.weights)}
    X, Y, target = convert(problem.X), convert(problem.Y), convert(problem.target)
    if isinstance(problem, Softmax):
        return Softmax(X, Y, target, problem.classes, **data)
    return GLM(X, Y, target, problem.loss.name, **data)


@cache
def small_problem(kind):
    """Few iterations, and both blocks of one size: JAX compiles every operation again for another shape."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 3)), rng.standard_normal((12, 3))
    if kind == "glm":
        return GLM(X, Y, np.where(rng.uniform(size=12) < 0.5, 1.0, -1.0), "logistic", alpha_x=0.2, alpha_y=0.2)
    if kind == "softmax":
        return Softmax(X, Y, rng.integers(0, 3, size=12), 3, alpha_x=0.1, alpha_y=0.1)
    quadratics = [Quadratic.random(d_x=3, d_y=3, L_x=3.0, L_y=4.0, coupling=0.5, seed=seed) for seed in range(2)]
    return minmin.Sum(quadratics) if kind == "sum" else quadratics[0]


@cache
def minimum(kind):
    return minmin.minimize(small_problem(kind), tol=1e-12).fun


def assert_converges(kind, variant, xp, dtype):
    """The run ends at the minimum, in the library, dtype and device of the start, which stays unchanged."""
    exact, tol = small_problem(kind), TOL[dtype]
    method, options = VARIANTS[variant]
    x0 = xp.ones(exact.d_x, dtype=getattr(xp, dtype))
    sizes = exact.part_sizes or (exact.d_y,)
    starts = [xp.ones(size, dtype=getattr(xp, dtype)) for size in sizes]
    y0 = starts if exact.part_sizes else starts[0]
    r = minmin.minimize(in_library(exact, xp, dtype), x0, y0, method=method, tol=tol, **options)
    assert r.status == "converged", r
    assert r.certified == ("adaptive" not in options)
    assert r.gap_bound <= tol
    parts = list(r.y) if exact.part_sizes else [r.y]
    for end, start in zip((r.x, *parts), (x0, *starts), strict=True):
        assert type(end) is type(start)
        assert (end.dtype, end.shape, end.device) == (start.dtype, start.shape, start.device)
        assert np.all(to_numpy(start) == 1.0)
    x, *ys = (to_numpy(v).astype(np.float64) for v in (r.x, *parts))
    y = minmin.Parts(ys, exact.part_weights) if exact.part_sizes else ys[0]
    assert exact.fix(x).at(y).value - minimum(kind) <= r.gap_bound + 1e-5  # the data are rounded in float32


def assert_resumes(xp, dtype, path):
    """A run that was cut ends at the same bits as one that was not."""
    problem = in_library(small_problem("glm"), xp, dtype)
    whole = minmin.minimize(problem, tol=TOL[dtype])
    cut = minmin.minimize(problem, tol=TOL[dtype], max_iterations=1, checkpoint=path)
    assert cut.status == "budget"
    resumed = minmin.minimize(problem, tol=TOL[dtype], checkpoint=path)
    assert resumed.nit == whole.nit > cut.nit
    assert type(resumed.x) is type(problem.weights)
    assert np.array_equal(to_numpy(resumed.x), to_numpy(whole.x))
    assert np.array_equal(to_numpy(resumed.y), to_numpy(whole.y))


def assert_proximal_maps(terms, vector, xp):
    """Every term gives NumPy's proximal map and value."""
    v = xp.asarray(vector)
    for name, term in terms.items():
        u, expected = term.prox(v, 0.5), term.prox(vector, 0.5)
        assert type(u) is type(v), name
        assert np.allclose(to_numpy(u), expected, atol=1e-12), name
        assert np.isclose(term.value(u), term.value(expected)), name
