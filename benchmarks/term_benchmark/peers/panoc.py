"""PANOC: L-BFGS on the fixed-point residual of the proximal gradient method.

Stella, Themelis, Sopasakis and Patrinos, "A simple and efficient algorithm for nonlinear model predictive control"
(2017), Algorithm 1, with γ = 0.95/L. Line searches are on the forward-backward envelope.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from term_benchmark.race import Race

Array = np.ndarray[Any, Any]
_ALPHA = 0.95
"""γ·L."""
_MEMORY = 10
_LEAST_TAU = 1e-3
"""Below this a step is the proximal gradient step alone, which always decreases the envelope enough."""

_LEAST_CURVATURE = 1e-12
"""Pairs with less are left out."""


class _Point(NamedTuple):
    x: Array
    x_bar: Array
    """x after a proximal gradient step."""
    envelope: float

    @property
    def residual(self) -> Array:
        return self.x - self.x_bar


def run_panoc(race: Race) -> None:
    gamma = _ALPHA / race.objective.largest_curvature
    sigma = 0.5 * (1.0 - _ALPHA) / (2.0 * gamma)  # of |x - x̄|², half of what a proximal gradient step guarantees
    S: list[Array] = []
    R: list[Array] = []
    point = _visit(race, race.objective.start, gamma)
    while True:
        direction = -_inverse_times(S, R, point.residual)
        most = point.envelope - sigma * float(point.residual @ point.residual)
        tau = 1.0
        while True:
            new = _visit(race, (1.0 - tau) * point.x_bar + tau * (point.x + direction), gamma)
            if tau == 0.0 or new.envelope <= most:
                break
            tau = 0.5 * tau if tau > _LEAST_TAU else 0.0
        s, r = new.x - point.x, new.residual - point.residual
        if s @ r > _LEAST_CURVATURE * float(s @ s):
            S, R = [*S, s][-_MEMORY:], [*R, r][-_MEMORY:]
        point = new


def _visit(race: Race, x: Array, gamma: float) -> _Point:
    gradient = race.gradient(x)
    x_bar = race.term.prox(x - gamma * gradient, gamma)
    race.see(x_bar)
    step = x_bar - x
    model = race.objective.value(x) + float(gradient @ step) + float(step @ step) / (2.0 * gamma)
    return _Point(x, x_bar, model + race.term.value(x_bar))


def _inverse_times(S: list[Array], R: list[Array], g: Array) -> Array:
    """L-BFGS's inverse times g, by the two-loop recursion."""
    weights = []
    for s, r in zip(reversed(S), reversed(R), strict=True):
        weights.append(float(s @ g) / float(s @ r))
        g = g - weights[-1] * r
    if S:
        g = (float(S[-1] @ R[-1]) / float(R[-1] @ R[-1])) * g
    for s, r, weight in zip(S, R, reversed(weights), strict=True):
        g = g + (weight - float(r @ g) / float(s @ r)) * s
    return g
