"""sliding: calls of ∇f grow like √L_f and calls of ∇g like √L_g; the Lyapunov function falls as proved."""

import numpy as np
import pytest

import minmin
from minmin.core.start import make_start
from minmin.methods import Sliding
from minmin.methods.sliding import sliding_parameters
from minmin.problems import Function, Quadratic, Split
from reference import ExactQuadratic, as_function, random_quadratic


def orthogonal(L_f, L_g, seed=0, d=20, mu_f=0.5):
    """f is hard in one half of the directions and g in the other, and both together have μ = 1."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    parts = []
    for L, mu, half in ((L_f, mu_f, slice(None, d // 2)), (L_g, 1.0 - mu_f, slice(d // 2, None))):
        spectrum = np.full(d, mu)
        spectrum[half] += np.geomspace(1.0, L, d // 2) - 1.0
        H = (Q * spectrum) @ Q.T
        L = (1 + 1e-9) * spectrum.max()
        parts.append(Quadratic((H + H.T) / 2, rng.standard_normal(d), d // 2, minmin.Constants(L, L, mu, mu)))
    return Split(*parts)


def random_split(rng):
    """Two coupled quadratics with other constants in every block; in half of the cases one of them has no μ."""
    f = random_quadratic(rng, 1e3)
    kappa, mu = 10 ** rng.uniform(0, 4, size=2), 10 ** rng.uniform(-2, 2, size=2)
    g = Quadratic.random(
        d_x=f.d_x,
        d_y=f.d_y,
        mu_x=mu[0],
        L_x=mu[0] * kappa[0],
        mu_y=mu[1],
        L_y=mu[1] * kappa[1],
        coupling=1.0,
        seed=int(rng.integers(2**31)),
    )
    if rng.uniform() < 0.5:
        c = g.constants
        g = Quadratic(g.H, g.b, g.d_x, minmin.Constants(c.L_x, c.L_y, 0.0, 0.0))
    return Split(*((f, g) if rng.uniform() < 0.5 else (g, f)))


def written_out(split):
    return Quadratic(split.f.H + split.g.H, split.f.b + split.g.b, split.d_x)


def count(L_f, L_g, **options):
    calls = minmin.minimize(orthogonal(L_f, L_g, d=60), method="sliding", tol=1e-4, **options).calls
    return np.array([calls["grad_f"], calls["grad_g"]])


def slope(sizes, calls):
    return np.polyfit(np.log(sizes), np.log(calls), 1)[0]


def test_calls_of_f_grow_like_the_root_of_its_smoothness():
    sizes = np.array([10.0, 100.0, 1000.0])
    assert slope(sizes, [count(L, 10 * L)[0] for L in sizes]) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("inner", ["lbfgs", "nag", "nag-ogmg"])
def test_calls_of_g_grow_like_the_root_of_its_smoothness_and_those_of_f_do_not_grow(inner):
    sizes = np.array([1e2, 1e3, 1e4, 1e5])
    of_f, of_g = np.transpose([count(10.0, L, inner=inner) for L in sizes])
    assert slope(sizes, of_g) == pytest.approx(0.5, abs=0.12)
    assert max(of_f) <= 1.1 * min(of_f)


def test_lbfgs_takes_fewer_calls_of_g():
    for L_g in (1e2, 1e4):
        with_lbfgs, with_nag = count(10.0, L_g), count(10.0, L_g, inner="nag")
        assert abs(with_lbfgs[0] - with_nag[0]) <= 0.1 * with_nag[0]
        assert with_lbfgs[1] < 0.8 * with_nag[1]


@pytest.mark.parametrize("inner", ["lbfgs", "nag", "nag-ogmg"])
def test_the_lyapunov_function_falls_as_proved(inner):
    """Ψ⁺ <= (1 - α)Ψ with Ψ = F(z̄) - F* + |z - z*|²/2, at every step."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        split, method = random_split(rng), Sliding(inner)
        exact = ExactQuadratic(written_out(split))
        p = sliding_parameters(*split.constants_of_both)
        z_star = p.join(exact.z[: split.d_x], exact.z[split.d_x :])

        def psi(state, exact=exact, z_star=z_star):
            away = state.z.y - z_star
            return exact.gap(*state.z.y_bar) + 0.5 * (away @ away)

        state = method.init(split, *make_start(split))
        first = now = psi(state)
        for _ in range(40):
            state = method.step(split, state)
            before, now = now, psi(state)
            assert now <= (1.0 - p.alpha) * before * (1 + 1e-9) + 1e-13 * first


def test_the_promised_number_of_calls_is_enough():
    """Ψ falls to ε in ln(Ψ⁰/ε)/-ln(1 - α) iterations, each with one ∇f."""
    split = orthogonal(100.0, 1e4)
    exact = ExactQuadratic(written_out(split))
    p = sliding_parameters(*split.constants_of_both)
    start = exact.gap(np.zeros(10), np.zeros(10)) + 0.5 * float(exact.z @ exact.z)
    promised = int(np.ceil(np.log(start / 1e-6) / -np.log1p(-p.alpha)))
    r = minmin.minimize(split, method="sliding", tol=0, max_iterations=promised)
    assert r.calls["grad_f"] == r.nit == promised
    assert exact.gap(r.x, r.y) <= 1e-6


def test_no_bound_is_below_the_true_gap():
    rng = np.random.default_rng(7)
    for _ in range(20):
        split = random_split(rng)
        exact = ExactQuadratic(written_out(split))

        def compare(record, exact=exact):
            assert record.gap_bound >= exact.gap(record.x, record.y)

        start = rng.standard_normal(split.d_x), rng.standard_normal(split.d_y)
        tol = 10 ** rng.uniform(-9, -1)
        inner = str(rng.choice(["lbfgs", "nag"]))
        r = minmin.minimize(split, *start, "sliding", tol=tol, inner=inner, max_grad_x=100, callback=compare)
        assert r.certified == np.isfinite(r.gap_bound)
        assert r.status in ("converged", "budget")


def test_it_agrees_with_nag():
    rng = np.random.default_rng(8)
    for _ in range(2):
        split = random_split(rng)
        r, other = (minmin.minimize(split, method=m, tol=1e-6) for m in ("sliding", "nag"))
        assert r.success
        assert abs(r.fun - other.fun) <= r.gap_bound + other.gap_bound + 1e-12 * abs(r.fun)


def test_an_f_that_is_a_multiple_of_the_squared_norm_is_no_exception():
    """Then f is linear once its strong convexity is moved to g."""
    split = Split(Quadratic(2.0 * np.eye(6), np.ones(6), 3), Quadratic.random(d_x=3, d_y=3, L_x=90.0, L_y=90.0))
    assert minmin.minimize(split, method="sliding", tol=1e-9).certified


def test_auto_takes_it_where_g_is_clearly_less_smooth_and_the_constants_are_known():
    r = minmin.minimize(orthogonal(10.0, 1e3), tol=1e-6)
    assert r.method == "sliding"
    assert "auto took sliding, since L_g is 111 times L_f" in r.message
    assert minmin.minimize(orthogonal(100.0, 300.0), tol=1e-6).method == "reduced-lbfgs"
    assert minmin.minimize(orthogonal(10.0, 1e3), tol=1e-6, cost_ratio=5.0).method == "reduced-lbfgs"
    split = orthogonal(10.0, 1e3)
    callables = as_function(split.g)
    bare = Function(callables.value, callables.grad_x, callables.grad_y, d_x=10, d_y=10)
    assert minmin.minimize(Split(split.f, bare), tol=1e-6).method == "reduced-lbfgs"


def test_what_it_cannot_minimise_is_refused():
    split = orthogonal(10.0, 1e3)
    with pytest.raises(
        minmin.UnsupportedError, match=r"not a Quadratic: give minmin.problems.Split\(f, g\), with f the"
    ):
        minmin.minimize(split.f, method="sliding")
    with pytest.raises(minmin.InputError, match="unknown inner 'newton'"):
        minmin.minimize(split, method="sliding", inner="newton")
    f, g = split.f, as_function(split.g)
    bare = Function(None, g.grad_x, g.grad_y, d_x=10, d_y=10)
    for method in ("sliding", "nag"):
        with pytest.raises(
            minmin.UnsupportedError, match="needs the constants of f and of g; there are none of g: give"
        ):
            minmin.minimize(Split(f, bare), method=method)
    for constants, message in (
        (minmin.Constants(1e4, 1e4, 0.0, 0.0), "needs mu_x > 0"),
        (minmin.Constants(np.inf, 1e4, 0.5, 0.5), "needs a finite L_x"),
    ):
        flat = [Quadratic(part.H, part.b, 10, constants) for part in (f, split.g)]
        with pytest.raises(minmin.UnsupportedError, match=message):
            minmin.minimize(Split(*flat), method="sliding")


@pytest.mark.parametrize("part", ["f", "g"])
def test_a_gradient_that_is_not_finite_is_an_error_that_says_whose(part):
    split = orthogonal(10.0, 1e3)
    right = getattr(split, part)

    def grad_x(x, y):
        return right.fix(x).at(y).grad_x * (np.nan if x @ x > 1e-4 else 1.0)

    broken = Function(None, grad_x, lambda x, y: right.fix(x).at(y).grad_y, d_x=10, d_y=10, constants=right.constants)
    parts = (broken, split.g) if part == "f" else (split.f, broken)
    with pytest.raises(minmin.NonFiniteError, match=rf"in {part}, grad_x\(x, y\) returned nan"):
        minmin.minimize(Split(*parts), method="sliding", tol=1e-9)
