"""Exact minima and random problems that the tests compare with."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.special

import minmin
from minmin.problems import GLM, Function, Quadratic, Softmax

VARIANTS = {
    "reduced-newton": ("reduced-newton", {}),
    "reduced-lbfgs": ("reduced-lbfgs", {}),
    "reduced-lbfgs-newton": ("reduced-lbfgs", {"inner": "newton"}),
    "reduced-lbfgs-nag": ("reduced-lbfgs", {"inner": "nag"}),
    "bam": ("bam", {}),
    "bam-nag": ("bam", {"inner": "nag"}),
    "bam-nag-ogmg": ("bam", {"inner": "nag-ogmg"}),
    "bam-newton": ("bam", {"inner": "newton"}),
    "bam-outer-y": ("bam", {"outer": "y"}),
    "bam-outer-auto": ("bam", {"outer": "auto"}),
    "bam-adaptive": ("bam", {"adaptive": True}),
    "bam-triple-momentum": ("bam", {"scheme": "triple-momentum"}),
    "nag": ("nag", {}),
    "nag-rescaled": ("nag", {"rescale": True}),
    "nag-adaptive": ("nag", {"adaptive": True}),
    "acdm": ("acdm", {}),
    "acdm-rescaled": ("acdm", {"rescale": True}),
    "lincoupling": ("lincoupling", {}),
    "lincoupling-rescaled": ("lincoupling", {"rescale": True}),
    "inexact-outer": ("inexact-outer", {}),
    "alternating": ("alternating", {}),
    "alternating-plain": ("alternating", {"accelerated": False}),
    "cutting-plane": ("cutting-plane", {}),
}
"""Every method with the options that change what it does."""
SPLIT_VARIANTS = {
    "sliding": ("sliding", {}),
    "sliding-nag": ("sliding", {"inner": "nag"}),
    "sliding-nag-ogmg": ("sliding", {"inner": "nag-ogmg"}),
}
"""The same for methods that minimise a Split alone; tests/contract/test_split_methods.py asks of them what the others
promise."""


class ExactQuadratic:
    """A quadratic with its minimum, and gaps free of cancellation."""

    def __init__(self, problem: Quadratic):
        self.H, self.b = np.asarray(problem.H, np.float64), np.asarray(problem.b, np.float64)
        self.z = np.linalg.solve(self.H, -self.b)
        self.z -= np.linalg.solve(self.H, self.H @ self.z + self.b)
        self.value = 0.5 * float(self.b @ self.z)

    def gap(self, x, y) -> float:
        d = np.concatenate([np.asarray(x, np.float64), np.asarray(y, np.float64)]) - self.z
        return 0.5 * float(d @ self.H @ d)


def random_quadratic(rng: np.random.Generator, max_condition: float = 1e4) -> Quadratic:
    """Small, coupled or not, with condition numbers drawn log-uniformly."""
    kappa_x, kappa_y = 10 ** rng.uniform(0, np.log10(max_condition), size=2)
    mu_x, mu_y = 10 ** rng.uniform(-2, 2, size=2)
    return Quadratic.random(
        d_x=int(rng.integers(1, 9)),
        d_y=int(rng.integers(1, 6)),
        mu_x=mu_x,
        L_x=mu_x * kappa_x,
        mu_y=mu_y,
        L_y=mu_y * kappa_y,
        coupling=float(rng.choice([0.0, 0.5, 1.0])),
        seed=int(rng.integers(2**31)),
    )


def tight_quadratic(kappa_x: float, kappa_y: float, seed: int, d: int = 10) -> Quadratic:
    """Coupled, with d variables in each block and spectra of H_xx and H_yy that fill what the constants allow.

    Pairs of eigenvectors of H_xx and H_yy are coupled by half of what keeps H positive definite. So H lies between half
    of diag(H_xx, H_yy) and 3/2 of it.
    """
    rng = np.random.default_rng(seed)
    spectra, bases = [], []
    for kappa in (kappa_x, kappa_y):
        spectra.append((kappa / 3) ** (rng.permutation(np.r_[0.0, 1.0, rng.uniform(size=d - 2)]) - 1.0))
        bases.append(np.linalg.qr(rng.standard_normal((d, d)))[0])
    (a, b), (U, V) = spectra, bases
    coupling = (U * (0.5 * np.sqrt(a * b))) @ V.T
    H = np.block([[(U * a) @ U.T, coupling], [coupling.T, (V * b) @ V.T]])
    margin = 1e-9  # for rounding
    L, mu = 1.5 * (1 + margin), 1.5 * (1 - margin)
    constants = minmin.Constants(L_x=L, L_y=L, mu_x=mu / kappa_x, mu_y=mu / kappa_y, source="proved")
    return Quadratic((H + H.T) / 2, rng.standard_normal(2 * d), d, constants)


def random_glm(rng: np.random.Generator, loss: str = "logistic", n: int = 60, sparse: bool = False) -> GLM:
    d_x, d_y = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    X, Y = rng.standard_normal((n, d_x)), 0.3 * rng.standard_normal((n, d_y))
    margins = X @ rng.standard_normal(d_x) + Y @ rng.standard_normal(d_y)
    target = random_target(rng, loss, margins)
    alpha_x, alpha_y = 10 ** rng.uniform(-3, 0, size=2)
    if sparse:
        X = scipy.sparse.csr_array(X * (rng.uniform(size=X.shape) < 0.4))
    weight = rng.uniform(0.1, 2.0, size=n) if rng.uniform() < 0.5 else None
    return GLM(X, Y, target, loss, alpha_x=alpha_x, alpha_y=alpha_y, sample_weight=weight)


def random_target(rng: np.random.Generator, loss: str, margins: np.ndarray) -> np.ndarray:
    """Targets that a model with this loss and these margins might have."""
    n, mean = len(margins), np.exp(np.clip(margins, -3, 3))
    labels = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-margins)), 1.0, -1.0)
    noise, counts = rng.standard_normal(n), rng.poisson(mean).astype(float)
    if loss in ("logistic", "probit", "cloglog", "squared-hinge"):
        return labels
    if loss in ("squared", "huber"):
        return margins + noise * (rng.exponential(2.0, size=n) if loss == "huber" else 1.0)
    if loss == "gamma":
        return mean * rng.exponential(size=n)
    return counts * rng.gamma(2.0, size=n) if loss == "tweedie" else counts


def with_penalties(problem: GLM, alpha_x, alpha_y) -> GLM:
    """The same data under other penalties."""
    return GLM(
        problem.X,
        problem.Y,
        problem.target,
        problem.loss,
        alpha_x=alpha_x,
        alpha_y=alpha_y,
        sample_weight=problem.weights,
        offset=problem.offset,
    )


def random_columns_glm(
    rng: np.random.Generator, loss: str = "logistic", sparse: bool = False, free_x: bool = False, free_y: bool = True
) -> GLM:
    """A penalty a column, of 1e-7 to 1e-1, and some columns of a free block without one."""
    problem = random_glm(rng, loss, sparse=sparse)
    alphas = []
    for columns, free in ((problem.d_x, free_x), (problem.d_y, free_y)):
        penalised = rng.uniform(size=columns) < 0.5 if free else True
        alphas.append(np.where(penalised, 10 ** rng.uniform(-7, -1, size=columns), 0.0))
    return with_penalties(problem, *alphas)


def random_softmax(rng: np.random.Generator, sparse: bool = False, free_y: bool = False) -> Softmax:
    """Two to four classes and a penalty a column, of 1e-4 to 1e-1; with ``free_y`` an unpenalised intercept too."""
    n, d_x, d_y, classes = 60, int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X, Y = rng.standard_normal((n, d_x)), 0.3 * rng.standard_normal((n, d_y))
    margins = X @ rng.standard_normal((d_x, classes)) + Y @ rng.standard_normal((d_y, classes))
    target = np.argmax(margins + rng.gumbel(size=(n, classes)), axis=1)
    alpha_x, alpha_y = (10 ** rng.uniform(-4, -1, size=d) for d in (d_x, d_y))
    if free_y:
        Y, alpha_y = np.c_[Y, np.ones(n)], np.r_[alpha_y, 0.0]
    if sparse:
        X = scipy.sparse.csr_array(X * (rng.uniform(size=X.shape) < 0.4))
    weight = rng.uniform(0.1, 2.0, size=n) if rng.uniform() < 0.5 else None
    return Softmax(X, Y, target, classes, alpha_x=alpha_x, alpha_y=alpha_y, sample_weight=weight)


def glm_minimum(problem: GLM) -> tuple[np.ndarray, float]:
    """The minimiser and minimum of a GLM, by Newton's method in plain NumPy."""
    X = problem.X.toarray() if scipy.sparse.issparse(problem.X) else problem.X
    Y = problem.Y.toarray() if scipy.sparse.issparse(problem.Y) else problem.Y
    A, w, t = np.hstack([X, Y]), problem.weights, problem.target
    alpha = np.concatenate(
        [np.broadcast_to(problem.alpha_x, problem.d_x), np.broadcast_to(problem.alpha_y, problem.d_y)]
    )
    z = np.zeros(A.shape[1])
    for _ in range(60):
        m = A @ z
        if problem.loss.name == "logistic":
            p = scipy.special.expit(-t * m)
            slope, curvature = -t * p, p * (1 - p)
        elif problem.loss.name == "poisson":
            slope, curvature = np.exp(m) - t, np.exp(m)
        else:
            slope, curvature = m - t, np.ones_like(m)
        z = z - np.linalg.solve((A.T * (w * curvature)) @ A + np.diag(alpha), A.T @ (w * slope) + alpha * z)
    return z, problem.fix(z[: problem.d_x]).at(z[problem.d_x :]).value


def as_function(problem: minmin.problems.Quadratic, counts: dict[str, int] | None = None) -> Function:
    """The same problem through a user's own callables, which count their calls themselves."""
    counts = {} if counts is None else counts

    def counting(kind, answer):
        def function(x, y):
            counts[kind] = counts.get(kind, 0) + 1
            return answer(problem.fix(x).at(y))

        return function

    return Function(
        counting("value", lambda e: e.value),
        counting("grad_x", lambda e: e.grad_x),
        counting("grad_y", lambda e: e.grad_y),
        d_x=problem.d_x,
        d_y=problem.d_y,
        constants=problem.constants,
    )
