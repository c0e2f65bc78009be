"""Random problems with terms: quadratics and logistic regressions, well and badly scaled, in both precisions."""

from __future__ import annotations

import numpy as np

from composite.independent import Case, Piece
from minmin.problems import GLM, Function, Quadratic

KINDS = ("L1", "Box", "GroupL2", "ElasticNet", "Simplex", "L2Ball")
METHODS = ("reduced-lbfgs", "bam", "nag")
SAMPLES = 16


def draw_case(
    rng: np.random.Generator,
    kinds: tuple[str, str] | None = None,
    *,
    logistic: bool = False,
    spread: float = 1.0,
    condition: float = 100.0,
    single: bool = False,
) -> Case:
    """A random problem; every number in it is one of single precision if ``single``.

    Parameters
    ----------
    rng : Generator
    kinds : pair of str
        The terms in x and y; drawn if None.
    logistic : bool
        Whether f is a logistic regression, else it is a quadratic.
    spread : float
        The units of x and y, and of f, differ by up to this power of ten.
    condition : float
        The largest condition number of a block.
    single : bool
    """

    def settle(array):
        return np.asarray(array, np.float32).astype(np.float64) if single else np.asarray(array)

    if kinds is None:
        kinds = tuple(str(kind) for kind in rng.choice(("none", *KINDS), size=2))
        kinds = (str(rng.choice(KINDS)), "none") if kinds == ("none", "none") else kinds
    d_x, d_y = (int(d) for d in rng.integers(2, 9, size=2))
    if logistic:
        A = settle(rng.standard_normal((SAMPLES, d_x + d_y)) * rng.choice([0.3, 1.0, 2.0]))
        alphas = settle(10 ** rng.uniform(-1.5, 0, size=2))
        alpha = np.repeat(alphas, [d_x, d_y])
        X, Y = A[:, :d_x], A[:, d_x:]
        constants = GLM(X, Y, np.ones(SAMPLES), alpha_x=alphas[0], alpha_y=alphas[1]).constants
        first = np.mean(A, axis=0) / 2
        far = np.abs(np.linalg.solve(A.T @ A / (4 * SAMPLES) + np.diag(alpha), first))
        f = {"A": A, "alpha": alpha}
    else:
        mu = 10 ** rng.uniform(-spread, spread, size=2)
        L = mu * 10 ** rng.uniform(0.0, np.log10(condition), size=2)
        coupling = float(rng.choice([0.0, 0.5, 1.0]))
        seed = int(rng.integers(2**31))
        made = Quadratic.random(d_x, d_y, mu[0], L[0], mu[1], L[1], coupling, seed)
        H, b = settle(made.H), settle(made.b * np.repeat(np.sqrt(L), [d_x, d_y]) * 10 ** rng.uniform(-spread, spread))
        constants, first, far = made.constants, b, np.abs(np.linalg.solve(H, b))
        f = {"H": H, "b": b}
    pieces = [
        _draw_piece(rng, kind, slope, size, settle)
        for kind, slope, size in zip(kinds, np.split(first, [d_x]), np.split(far, [d_x]), strict=True)
    ]
    return Case(*pieces, constants, **f)


def _draw_piece(rng, kind, slope, far, settle) -> Piece:
    """A term that matters: ``slope`` is ∇f at zero, and ``far`` is about where the minimum of f is."""
    d = len(slope)
    weight, length = np.abs(slope).max() * rng.uniform(0.05, 0.8), far.max() + 1e-3
    if kind == "L1":
        return Piece(d, kind, l1=settle(weight * rng.uniform(0.0, 2.0, size=d)))
    if kind == "ElasticNet":
        return Piece(d, kind, l1=settle(np.full(d, weight)), l2=settle(weight / length * rng.uniform(0.1, 1.0, size=d)))
    if kind == "GroupL2":
        group = np.sort(rng.integers(0, 3, size=d))
        group = np.unique(group, return_inverse=True)[1]
        return Piece(d, kind, group=group, l1=settle(weight * np.array([1.0, 0.5, 2.0])[group]))
    if kind == "Box":
        lower, upper = -length * rng.uniform(0, 0.5, size=d), length * rng.uniform(0, 0.5, size=d)
        free = rng.uniform(size=(2, d)) < 0.2
        return Piece(
            d, kind, lower=settle(np.where(free[0], -np.inf, lower)), upper=settle(np.where(free[1], np.inf, upper))
        )
    if kind == "Simplex":
        return Piece(d, kind, radius=float(settle(length * rng.uniform(0.2, 2.0))))
    if kind == "L2Ball":
        center = settle(length * rng.choice([0.0, 0.1]) * rng.standard_normal(d))
        return Piece(d, kind, radius=float(settle(length * rng.uniform(0.1, 1.0))), center=center)
    return Piece(d)


def as_function(case, constants=None):
    """The smooth part of a case through callables alone."""
    f = case.f()
    return Function(
        lambda x, y: f.evaluate(x, y).value,
        lambda x, y: f.evaluate(x, y).grad_x,
        lambda x, y: f.evaluate(x, y).grad_y,
        d_x=f.d_x,
        d_y=f.d_y,
        constants=constants,
    )
