"""Seen: the curvatures of f that a run has seen, by comparing gradients at two points."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot, norm
from minmin.methods.secants import SecantPoint

_PROBE = 1e-3
"""The length of the probing step at the start, as a fraction of max(1, norm of the start). A choice: it only has to be
far above rounding and, where f is not quadratic, short."""
_FORGET, _FORGET_MU = 0.99, 0.9995
"""L falls, and mu rises, by these factors per step until a secant says otherwise. Relative to the calls with known
constants, on 200 quadratics and on 200 GLMs, nag takes 0.54 and 0.50 if L is not forgotten, and 0.48 and 0.47 with
0.99. With 0.998 for mu the calls differ by at most 3 %."""


class Seen(NamedTuple):
    """The largest and the least curvatures that secants have shown."""

    L_x: float
    L_y: float
    mu_x: float
    mu_y: float

    def add(self, found: Seen) -> Seen:
        """With a new secant; older ones are slowly forgotten, since f may be flatter or more curved elsewhere."""
        return Seen(
            max(_FORGET * self.L_x, found.L_x),
            max(_FORGET * self.L_y, found.L_y),
            min(self.mu_x / _FORGET_MU, found.mu_x),
            min(self.mu_y / _FORGET_MU, found.mu_y),
        )

    def join(self) -> Seen:
        """The same curvatures for both blocks."""
        L, mu = max(self.L_x, self.L_y), min(self.mu_x, self.mu_y)
        return Seen(L, L, mu, mu)

    def falls_below(self, fraction: float, other: Seen) -> bool:
        """Whether a least curvature is below this fraction of the other one."""
        return self.mu_x < fraction * other.mu_x or self.mu_y < fraction * other.mu_y


def measure(old: SecantPoint | None, new: SecantPoint, joint: bool) -> Seen | None:
    """What a secant shows; None if rounding may hide it.

    H ⪯ diag(L_x, L_y) gives |d∇ₓf|²/L_x + |d∇ᵧf|²/L_y <= <d∇f, dz>, and H ⪰ diag(μ_x, μ_y) gives
    μ_x|dx|² + μ_y|dy|² <= <d∇f, dz>.
    """
    if old is None:
        return None
    dx, dy = new.x - old.x, new.y - old.y
    change_x, change_y = new.grad_x - old.grad_x, new.grad_y - old.grad_y
    product = dot(change_x, dx) + dot(change_y, dy)
    changes, sizes = (dot(change_x, change_x), dot(change_y, change_y)), (dot(dx, dx), dot(dy, dy))
    if not 0.0 < product < math.inf or math.sqrt(sum(changes)) < math.sqrt(new.eps) * new.largest:
        return None
    if joint:
        changes, sizes = (sum(changes), sum(changes)), (sum(sizes), sum(sizes))
    mu_x, mu_y = (product / size if size > 0.0 else math.inf for size in sizes)
    return Seen(changes[0] / product, changes[1] / product, mu_x, mu_y)


def look_around(problem: Problem, x: Vector, y: Vector) -> tuple[Seen, Evaluation]:
    """The curvature of each block along its gradient, and the evaluation at (x, y).

    The other block stays where it is, since the steeper block would hide the flatter one. So there are two calls of
    each gradient.
    """
    slice_ = problem.fix(x)
    here = slice_.at(y)
    in_x = problem.fix(_probe(x, here.grad_x)).at(y)
    in_y = slice_.at(_probe(y, here.grad_y))
    L_x, mu_x = _measure_block(in_x.x - x, in_x.grad_x - here.grad_x)
    L_y, mu_y = _measure_block(in_y.y - y, in_y.grad_y - here.grad_y)
    return Seen(L_x, L_y, mu_x, mu_y), here


def _probe(v: Vector, gradient: Vector) -> Vector:
    size = norm(gradient)
    return v if size == 0.0 else v - (_PROBE * max(1.0, norm(v)) / size) * gradient


def _measure_block(d: Vector, change: Vector) -> tuple[float, float]:
    """L and mu of one block; 0 and infinity if nothing is seen."""
    product = dot(d, change)
    return (dot(change, change) / product, product / dot(d, d)) if 0.0 < product < math.inf else (0.0, math.inf)
