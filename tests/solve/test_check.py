"""check() passes what is right and names what is wrong, and by how much."""

import array_api_strict
import numpy as np
import pytest

import minmin
from minmin.core.bound import Constants
from minmin.problems import Quadratic
from reference import as_function, random_glm, random_quadratic


def right_problems():
    rng = np.random.default_rng(0)
    for _ in range(8):
        yield random_quadratic(rng)
    for loss in ("logistic", "squared", "poisson"):
        for sparse in (False, True):
            yield random_glm(rng, loss, sparse=sparse)
    quadratic = Quadratic.random(d_x=7, d_y=3, coupling=1.0)
    yield quadratic
    yield quadratic.swapped()
    yield as_function(quadratic)
    yield as_function(quadratic).swapped()
    yield minmin.Sum([Quadratic.random(d_x=4, d_y=2, coupling=1.0, seed=s) for s in range(3)], [1.0, 2.0, 0.5])
    yield Quadratic(quadratic.H.astype(np.float32), quadratic.b.astype(np.float32), 7, quadratic.constants)
    yield Quadratic(array_api_strict.asarray(quadratic.H), array_api_strict.asarray(quadratic.b), 7)


@pytest.mark.slow
def test_right_problems_pass():
    for i, problem in enumerate(right_problems()):
        for seed in range(3):
            report = minmin.check(problem, seed=seed)
            assert report.ok, f"problem {i}\n{report}"


BASE = Quadratic.random(d_x=7, d_y=3, coupling=1.0)
RNG = np.random.default_rng(0)


def wrong(**replaced):
    f = as_function(BASE)
    for name, function in replaced.items():
        setattr(f, name, function(getattr(f, name)))
    return f


def stated(**constants):
    c = BASE.constants
    values = {"L_x": c.L_x, "L_y": c.L_y, "mu_x": c.mu_x, "mu_y": c.mu_y, **constants}
    return Quadratic(BASE.H, BASE.b, 7, Constants(**values))


def modifying(f):
    def function(x, y):
        x += 1.0
        return f(x - 1.0, y)

    return function


SINE = minmin.problems.Function(
    lambda x, y: float(np.sin(3 * x).sum() + y @ y),
    lambda x, y: 3 * np.cos(3 * x),
    lambda x, y: 2 * y,
    d_x=2,
    d_y=2,
)

SADDLE = minmin.problems.Function(
    lambda x, y: float(x @ x + y @ y - 1.5 * x[0] ** 2),
    lambda x, y: 2 * x - 3 * x[0] * np.eye(6)[0],
    lambda x, y: 2 * y,
    d_x=6,
    d_y=4,
)
_BIG = Quadratic.random(d_x=300, d_y=50, seed=2)
LARGE = Quadratic(_BIG.H, _BIG.b, 300, Constants(50.0, 500.0, 0.1, 1.0))

WRONG = {
    "gradient in x by 1 %": (wrong(grad_x=lambda f: lambda x, y: 1.01 * f(x, y)), "∇ₓf against differences"),
    "gradient in y shifted": (wrong(grad_y=lambda f: lambda x, y: f(x, y) + 1.0), "∇ᵧf against differences"),
    "random value": (wrong(value=lambda f: lambda x, y: f(x, y) + RNG.normal()), "∇ₓf against differences"),
    "random gradient": (
        wrong(grad_x=lambda f: lambda x, y: f(x, y) * (1 + 1e-4 * RNG.normal())),
        "the same gradients twice",
    ),
    "L_x too small": (stated(L_x=0.9 * np.linalg.eigvalsh(BASE.H[:7, :7])[-1]), "L_x"),
    "L_y too small": (stated(L_y=0.9 * np.linalg.eigvalsh(BASE.H[7:, 7:])[-1]), "L_y"),
    "mu_x too large": (stated(mu_x=1.1 * np.linalg.eigvalsh(BASE.H[:7, :7])[0]), "mu_x"),
    "mu_y too large": (stated(mu_y=1.1 * np.linalg.eigvalsh(BASE.H[7:, 7:])[0]), "mu_y"),
    "blocks alone are not enough": (
        stated(L_x=np.linalg.eigvalsh(BASE.H[:7, :7])[-1], L_y=np.linalg.eigvalsh(BASE.H[7:, 7:])[-1]),
        "L_x and L_y together",
    ),
    "not convex": (SINE, "convexity"),
    "not convex in one variable of ten": (SADDLE, "convexity"),
    "mu_y ten times too large among 350 variables": (LARGE, "mu_y"),
    "raises": (wrong(grad_x=lambda f: lambda x, y: 1 / 0), "gradients"),
    "wrong shape": (wrong(grad_y=lambda f: lambda x, y: np.ones(7)), "gradients"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case):
    problem, name = WRONG[case]
    report = minmin.check(problem)
    assert not report.ok
    assert name in [f.name for f in report.findings if not f.ok], str(report)
    assert "WRONG" in str(report)
    assert "checks failed" in str(report)


def test_callables_that_modify_their_arguments_do_no_harm():
    f = wrong(value=modifying, grad_x=modifying)
    assert minmin.check(f).ok
    assert np.allclose(minmin.minimize(f).x, minmin.minimize(BASE).x, rtol=1e-3)


def test_a_wrong_hessian_is_seen(monkeypatch):
    problem = Quadratic.random(d_x=3, d_y=3)
    kind = type(problem.fix(np.zeros(3)).at(np.zeros(3)))
    monkeypatch.setattr(kind, "hess_yy", lambda self: np.eye(3))
    assert "y-Hessian against differences" in [f.name for f in minmin.check(problem).findings if not f.ok]


def test_only_problems_can_be_checked():
    with pytest.raises(minmin.InputError, match="must be a minmin problem"):
        minmin.check(lambda x: x)


def test_points_at_the_edge_of_the_domain_are_named():
    """Not an error of SciPy about what it was given."""

    def grad_x(x, y):
        return np.where(x > 0, 2 * x - 1 / x, np.nan)

    problem = minmin.problems.Function(
        lambda x, y: x @ x - np.log(np.abs(x)).sum() + y @ y, grad_x, lambda x, y: 2 * y, d_x=2, d_y=1
    )
    report = str(minmin.check(problem, np.full(2, 1e-4), np.zeros(1)))
    assert "give x0 and y0 well inside the domain of f" in report
