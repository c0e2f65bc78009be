"""OGM-G: makes a gradient small, at the optimal rate. Algorithm 2 of Kovalev, Gasnikov and Malinovsky,
arXiv:2212.14439.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator
from itertools import pairwise

from minmin.core.arrays import Array, require_finite
from minmin.errors import InputError, as_count, as_number, show


@functools.lru_cache(maxsize=16)
def ogm_g_weights(steps: int) -> tuple[float, ...]:
    """θ̃_0, …, θ̃_N: θ̃_N = 1, θ̃_i = (1 + √(1 + 4θ̃_{i+1}²))/2, with 8 instead of 4 for i = 0."""
    theta = [1.0]
    for i in reversed(range(steps)):
        theta.append(0.5 * (1.0 + math.sqrt(1.0 + (8.0 if i == 0 else 4.0) * theta[-1] ** 2)))
    return tuple(reversed(theta))


def ogm_g_points(x: Array, L: float, steps: int) -> Generator[Array, Array, None]:
    """The points x_0, …, x_N; send the gradient at each to get the next."""
    before = x
    for now, then in pairwise(ogm_g_weights(steps)):
        gradient = yield x
        after = x - gradient * (1.0 / L)
        correction = (2.0 * then - 1.0) / (2.0 * now - 1.0)
        momentum = (now - 1.0) / now * correction
        x = after + momentum * (after - before) + correction * (after - x)
        before = after
    yield x


def nag_ogm_g_points(x: Array, L: float, nag_steps: int, ogm_g_steps: int) -> Generator[Array, Array, None]:
    """The points of Nesterov's method and then of OGM-G; send the gradient at each to get the next."""
    before = x
    t = 1.0
    for i in range(nag_steps):
        after = x - (yield x) * (1.0 / L)
        weight, t = nag_momentum(t)
        x = after + weight * (after - before) if i < nag_steps - 1 else after  # OGM-G starts without momentum
        before = after
    yield from ogm_g_points(x, L, ogm_g_steps)


def ogm_g(gradient: Callable[[Array], Array], x0: Array, L: float, steps: int) -> Array:
    """Make the gradient of a convex, L-smooth function small.

    Problem: find x with a small |∇f(x)|.

    Algorithm: OGM-G, N steps, N gradients.

    Guarantee: |∇f(x_N)|² <= 2L(f(x_0) - f*)/θ̃_0², the best possible; θ̃_0² >= (N + 1)²/2.

    Reference: Kim and Fessler, "Optimizing the efficiency of first-order methods for decreasing the gradient of
    smooth convex functions" (2021).

    Parameters
    ----------
    gradient : callable
        ``gradient(x)`` returns ∇f(x).
    x0 : array
    L : float
        Lipschitz constant of the gradient.
    steps : int
        N.

    Returns
    -------
    array
        x_N.
    """
    _check(x0, L, steps)
    return _last_of(ogm_g_points(x0, L, steps), gradient, steps)


def nag_ogm_g(gradient: Callable[[Array], Array], x0: Array, L: float, steps: int) -> Array:
    """Make the gradient of a convex, L-smooth function small, from a start near a minimiser.

    Problem: find x with a small |∇f(x)|, given |x_0 - x*| <= R.

    Algorithm: Nesterov's method for the first half of the steps, then OGM-G.

    Guarantee: |∇f(x_N)| <= 2√2·LR/((n + 1)(m + 1)) with n and m the steps of the halves, n + m = N: the optimal
    O(1/N²).

    Reference: Section 3 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.

    Parameters and return value are those of :func:`ogm_g`; ``steps`` counts the gradients of both halves.
    """
    _check(x0, L, steps)
    return _last_of(nag_ogm_g_points(x0, L, steps // 2, steps - steps // 2), gradient, steps)


def _last_of(points: Generator[Array, Array, None], gradient: Callable[[Array], Array], steps: int) -> Array:
    x = next(points)
    for _ in range(steps):
        x = points.send(gradient(x))
    return x


def nag_momentum(t: float) -> tuple[float, float]:
    """Nesterov's momentum for convex functions, (t - 1)/t⁺ with t⁺ = (1 + √(1 + 4t²))/2, and t⁺."""
    t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
    return (t - 1.0) / t_next, t_next


def _check(x0: Array, L: float, steps: int) -> None:
    require_finite(x0, "x0")
    if not 0.0 < as_number(L, "L") < math.inf:
        raise InputError(f"L = {show(L)} must be positive and finite")
    as_count(steps, "steps")
