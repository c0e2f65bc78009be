"""OGM-G, which makes a gradient small at the optimal rate, and the inner solver "nag-ogmg".

Algorithm 2 and Section 3 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Mapping
from itertools import pairwise
from typing import ClassVar

from minmin.core.arrays import Array, require_finite
from minmin.errors import as_count, as_positive
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.inner.nag import learn_between
from minmin.methods.needs import KNOWN_CONSTANTS, Feature

_STEPS_PER_ROOT = 2.38
"""√(4√2), rounded up: half of T in units of √(1 + λL_y), as derived in the class below."""


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
    as_positive(L, "L")
    as_count(steps, "steps")


class NagOgmgSolver(InnerSolver):
    """N/2 steps of Nesterov's method from the centre, then N/2 of OGM-G.

    It is that of Section 3 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439.

    Nesterov's method leaves A - A* <= 2 L_A R²/(n+1)² after n steps, R the distance from the centre to the
    minimiser; OGM-G turns that into |∇A|² <= 4 L_A (A - A*)/(n+1)², together |∇A| <= 2√2 L_A R/(n+1)².
    Corollary 3.2 requires R/(2λ), so n + 1 = √(4√2 (1 + λL_y)) and T = 2n <= ⌈4.76 √(1 + λL_y)⌉. The paper does not
    state its constant; if T is not enough, it is doubled.
    """

    name = "nag-ogmg"
    needs = KNOWN_CONSTANTS
    refuses: ClassVar[Mapping[Feature, str]] = {Feature.TERM_Y: "OGM-G is for smooth functions alone"}

    def solve(self, goal: InnerGoal, memory: None) -> tuple[InnerPoint, None]:
        half = math.ceil(_STEPS_PER_ROOT * math.sqrt(goal.smoothness / goal.shift))
        best = run_halves(goal, half)
        limit = goal.rule.most_gradients(goal, best)
        while not best.solved and half <= limit:
            half *= 2
            best = choose_better(best, run_halves(goal, half))
        return best, None


def run_halves(goal: InnerGoal, half: int) -> InnerPoint:
    """Run the two halves once; the first point that is good enough, or the last one."""
    points = nag_ogm_g_points(goal.center, goal.smoothness, half, half)
    point = goal.at(next(points))
    for _ in range(2 * half):
        if point.solved:
            return point
        point, last = goal.at(points.send(point.gradient)), point
        learn_between(goal, last, point)
    return point
