"""Where an accelerated method on F(x) = min_y f(x, y) goes next: Nesterov's constant momentum, or FISTA's."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.vectors import Vector, dot


class Extrapolation(NamedTuple):
    """The state of the momentum.

    Attributes
    ----------
    x_under : vector
        Where F is evaluated next.
    v : vector
        The momentum point of Nesterov's method.
    t : float
        The number t of FISTA; 0 where the momentum is constant.
    """

    x_under: Vector
    v: Vector
    t: float

    def go_on(self, m: float, x_bar: Vector, step: Vector) -> Extrapolation:
        """Nesterov's constant momentum for an m-strongly convex F; ``step`` is a gradient step from x_under."""
        alpha = math.sqrt(m)
        v = (1.0 - alpha) * self.v + alpha * self.x_under + (alpha / m) * step
        return Extrapolation((x_bar + alpha * v) * (1.0 / (1.0 + alpha)), v, 0.0)

    def adapt(self, x_before: Vector, x_bar: Vector, gradient: Vector) -> Extrapolation:
        """FISTA's momentum, which starts again where ∇F at x_under shows that F rises along the last move."""
        move = x_bar - x_before
        if dot(gradient, move) > 0.0:
            return begin(x_bar, adapts=True)
        t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.t * self.t))
        return Extrapolation(x_bar + ((self.t - 1.0) / t) * move, x_bar, t)


def begin(x: Vector, *, adapts: bool) -> Extrapolation:
    """No momentum yet, from x."""
    return Extrapolation(x, x, 1.0 if adapts else 0.0)
