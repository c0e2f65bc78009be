"""Random convex functions as plain callables, with their true minima: what newcomers bring.

Each is f(z) = g(z) + ridge for z = (x, y): quadratics, logistic, softmax and Poisson regression, log-sum-exp, Huber
regression and Nesterov's chain. The minimum comes from Newton's method with the exact Hessian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, softmax

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Smooth:
    """A smooth convex function of z with gradient and Hessian, and the length of its expensive part x."""

    kind: str
    d_x: int
    d: int
    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]
    hessian: Callable[[Vector], Vector]

    def minimum(self) -> float:
        """The least value, by damped Newton steps to rounding level."""
        z = np.zeros(self.d)
        best = self.value(z)
        for _ in range(200):
            step = -np.linalg.solve(self.hessian(z), self.gradient(z))
            t = 1.0
            while not self.value(z + t * step) <= best and t > 1e-12:
                t *= 0.5
            if t <= 1e-12:
                break
            z, before, best = z + t * step, best, self.value(z + t * step)
            if before - best <= 1e-16 * abs(best) and t == 1.0:
                break
        return best


def _sizes(rng: np.random.Generator, largest: int = 500) -> tuple[int, int]:
    d_x, d_y = np.exp(rng.uniform(np.log(1.0), np.log(largest / 2), 2)).astype(int) + 1
    return int(d_x), int(d_y)


def _margin(kind: str, A: Vector, ridge: Vector, d_x: int, loss: Any) -> Smooth:
    """mean of loss(A z) plus ½ Σ ridge z²; loss gives value, slopes and curvatures of all rows."""
    n = A.shape[0]
    return Smooth(
        kind,
        d_x,
        A.shape[1],
        lambda z: float(loss(A @ z)[0].sum() / n + 0.5 * ridge @ (z * z)),
        lambda z: A.T @ loss(A @ z)[1] / n + ridge * z,
        lambda z: (A.T * loss(A @ z)[2]) @ A / n + np.diag(ridge),
    )


def _features(rng: np.random.Generator, rows: tuple[int, int] = (30, 2000)) -> tuple[Vector, Vector, int]:
    d_x, d_y = _sizes(rng)
    n = int(np.exp(rng.uniform(*np.log(rows))))
    A = rng.standard_normal((n, d_x + d_y))
    if rng.random() < 0.5:
        A[:, d_x:] *= 10 ** rng.uniform(-1.5, 1.5)
    if rng.random() < 0.3:
        A *= 10 ** rng.uniform(-1, 0, A.shape[1])
    ridge = np.repeat(10 ** rng.uniform(-4, 0, 2), [d_x, d_y])
    return A, ridge, d_x


def quadratic(rng: np.random.Generator) -> Smooth:
    d_x, d_y = _sizes(rng)
    top = 10 ** rng.uniform(-1, 3, 2)
    kappa = 10 ** rng.uniform(0, 6, 2)
    if rng.random() < 0.3:
        top = kappa  # so that μ = 1
    spread = rng.random() < 0.5
    root = np.zeros((d_x + d_y, d_x + d_y))
    for (low, high), own in zip(((0, d_x), (d_x, d_x + d_y)), range(2), strict=True):
        size = high - low
        shares = np.linspace(0, 1, size) if size > 1 else np.ones(1)
        values = kappa[own] ** (shares - 1.0) if spread else 1 / kappa[own] + (1 - 1 / kappa[own]) * shares
        basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
        root[low:high, low:high] = basis * np.sqrt(top[own] * values)
    cross = rng.standard_normal((d_x, d_y))
    cross *= rng.uniform(0, 0.95) / np.linalg.norm(cross, 2)
    middle = np.eye(d_x + d_y)
    middle[:d_x, d_x:], middle[d_x:, :d_x] = cross, cross.T
    H = root @ middle @ root.T
    b = root @ rng.standard_normal(d_x + d_y) if rng.random() < 0.5 else rng.standard_normal(d_x + d_y)
    return Smooth(
        "quadratic", d_x, d_x + d_y, lambda z: float(0.5 * z @ H @ z - b @ z), lambda z: H @ z - b, lambda z: H
    )


def logistic(rng: np.random.Generator) -> Smooth:
    A, ridge, d_x = _features(rng)
    labels = np.where(rng.random(len(A)) < expit(A @ rng.standard_normal(A.shape[1]) / np.sqrt(A.shape[1])), 1.0, -1.0)

    def loss(m: Vector) -> tuple[Vector, Vector, Vector]:
        p = expit(-labels * m)
        return np.logaddexp(0, -labels * m), -labels * p, p * (1 - p)

    return _margin("logistic", A, ridge, d_x, loss)


def poisson(rng: np.random.Generator) -> Smooth:
    A, ridge, d_x = _features(rng)
    A /= np.sqrt(A.shape[1]) * rng.uniform(0.5, 3)
    counts = rng.poisson(np.exp(np.clip(A @ rng.standard_normal(A.shape[1]), -5, 4))).astype(float)

    def loss(m: Vector) -> tuple[Vector, Vector, Vector]:
        with np.errstate(over="ignore"):
            e = np.exp(m)
        return e - counts * m, e - counts, e

    return _margin("poisson", A, ridge, d_x, loss)


def huber(rng: np.random.Generator) -> Smooth:
    A, ridge, d_x = _features(rng)
    target = A @ rng.standard_normal(A.shape[1]) + rng.standard_t(1.5, len(A))
    width = 10 ** rng.uniform(-1, 1)

    def loss(m: Vector) -> tuple[Vector, Vector, Vector]:
        r = m - target
        near = np.abs(r) <= width
        value = np.where(near, 0.5 * r * r, width * (np.abs(r) - 0.5 * width))
        return value, np.clip(r, -width, width), near.astype(float)

    return _margin("huber", A, ridge, d_x, loss)


def log_sum_exp(rng: np.random.Generator) -> Smooth:
    A, ridge, d_x = _features(rng, (20, 500))
    A *= 3 / np.sqrt(A.shape[1])
    b = rng.standard_normal(len(A))

    def hessian(z: Vector) -> Vector:
        p = softmax(A @ z + b)
        mean = A.T @ p
        return (A.T * p) @ A - np.outer(mean, mean) + np.diag(ridge)

    return Smooth(
        "log-sum-exp",
        d_x,
        A.shape[1],
        lambda z: float(logsumexp(A @ z + b) + 0.5 * ridge @ (z * z)),
        lambda z: A.T @ softmax(A @ z + b) + ridge * z,
        hessian,
    )


def softmax_regression(rng: np.random.Generator) -> Smooth:
    k, n = int(rng.integers(3, 6)), int(rng.integers(50, 800))
    d_x, d_y = (max(2, size // k) for size in _sizes(rng, 300))
    A = rng.standard_normal((n, d_x + d_y))
    A[:, d_x:] *= 10 ** rng.uniform(-1, 1)
    classes = np.argmax(A @ rng.standard_normal((d_x + d_y, k)) / np.sqrt(d_x + d_y) + rng.gumbel(size=(n, k)), axis=1)
    onehot = np.eye(k)[classes]
    ridge = np.repeat(10 ** rng.uniform(-3, 0, 2), [k * d_x, k * d_y])

    def margins(z: Vector) -> Vector:
        return A @ z.reshape(d_x + d_y, k)

    def hessian(z: Vector) -> Vector:
        p = softmax(margins(z), axis=1)
        H = np.zeros((len(z), len(z)))
        for i in range(k):
            for j in range(k):
                weights = p[:, i] * ((i == j) - p[:, j])
                H[i::k, j::k] = (A.T * weights) @ A / n
        return H + np.diag(ridge)

    return Smooth(
        "softmax",
        k * d_x,
        k * (d_x + d_y),
        lambda z: float(-(onehot * log_softmax(margins(z), axis=1)).sum() / n + 0.5 * ridge @ (z * z)),
        lambda z: (A.T @ (softmax(margins(z), axis=1) - onehot)).ravel() / n + ridge * z,
        hessian,
    )


def chain(rng: np.random.Generator) -> Smooth:
    d_x, d_y = _sizes(rng)
    d, kappa = d_x + d_y, 10 ** rng.uniform(1, 5)
    H = 2 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)
    H = (kappa - 1) / 4 * H + np.eye(d)
    order = rng.permutation(d) if rng.random() < 0.5 else np.arange(d)
    H = H[np.ix_(order, order)]
    b = np.zeros(d)
    b[np.argmin(order)] = kappa / 4
    return Smooth("chain", d_x, d, lambda z: float(0.5 * z @ H @ z - b @ z), lambda z: H @ z - b, lambda z: H)


FAMILIES = {
    "quadratic": quadratic,
    "logistic": logistic,
    "softmax": softmax_regression,
    "poisson": poisson,
    "log-sum-exp": log_sum_exp,
    "huber": huber,
    "chain": chain,
}


def draw(number: int) -> Smooth:
    """A random function, the same for the same number; every second one is a quadratic or a logistic regression."""
    rng = np.random.default_rng([2024, number])
    order = ("quadratic", "logistic", "softmax", "poisson", "quadratic", "log-sum-exp", "huber", "chain")
    return FAMILIES[order[number % len(order)]](rng)
