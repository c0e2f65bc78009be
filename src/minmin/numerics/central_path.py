"""The central path of a cutting-plane model on a ball: its points, their weights, and what the cuts enclose.

The model is u ↦ max_i offset_i + <slope_i, u>, on |u - centre| <= radius. The point of the path for a pull τ minimises
τt - Σ log(t - offset_i - <slope_i, u>) - log(radius² - |u - centre|²) over u and t; t falls to the least value of the
model as τ grows. Everything is NumPy in double precision, since a model is small.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

Matrix = np.ndarray[Any, Any]

_MOST_STEPS = 60
"""Of Newton's method at one pull. 13 are usual for two pulls; whatever is proved holds after any number of them."""
_CENTRED = 0.25
"""Newton's method stops at a squared decrement below this. Below 1 the weights are positive. A cutting-plane method
took 919 calls of its gradient with 1e-4, 907 with 0.01, 839 with 0.25, 837 with 0.5 and 1302 with 0.9."""
_BOUNDARY = 0.95
"""The fraction of the way to the boundary that a step, or a start, may go."""
_SUFFICIENT_DECREASE = 0.1
_VISIBLE = 1e-12
"""A start is above the cuts by at least this fraction of them, so that rounding does not hide it."""
_RIDGE = 1e-15
"""Added to the Hessian, which is scaled to a unit diagonal: half of what rounding does to it."""


class Model(NamedTuple):
    """The cuts, one a row, and the ball."""

    slopes: Matrix
    offsets: Matrix
    centre: Matrix
    radius: float

    def bound_below(self, weights: Matrix) -> float:
        """A lower bound on the model on the ball, from weights of the cuts, none of them negative.

        With their sum scaled to 1, a weighted mean of the cuts is below the largest one, and the least value of that
        mean on the ball is its value at the centre less the radius times the length of its slope. So it is proved
        whatever the weights are.
        """
        if not 0.0 < weights.sum() < math.inf:
            return -math.inf
        weights = weights / weights.sum()
        at_centre = float(weights @ (self.offsets + self.slopes @ self.centre))
        return at_centre - self.radius * float(np.linalg.norm(weights @ self.slopes))


class PathPoint(NamedTuple):
    """A point near the central path.

    Attributes
    ----------
    u : array
    level : float
        t, above the model at u.
    slacks : array
        t less each cut, positive.
    hessian : array
        Of the barriers, in (u, t).
    weights : array
        Of the cuts, for :meth:`Model.bound_below`: 1/slack after one more step of Newton's method, linearised. Those
        balance the slopes of the cuts up to rounding, while 1/slack itself does so only at the path.
    """

    u: Matrix
    level: float
    slacks: Matrix
    hessian: Matrix
    weights: Matrix

    def leverages(self, model: Model) -> Matrix:
        """How much each cut adds to the Hessian, relative to all of it: between 0 and 1."""
        rows = np.column_stack([-model.slopes, np.ones(len(self.slacks))]) / self.slacks[:, None]
        scale = 1.0 / np.sqrt(np.diagonal(self.hessian))
        scaled = self.hessian * scale * scale[:, None] + _RIDGE * np.eye(len(scale))
        solved = np.linalg.solve(scaled, (rows * scale).T)
        return np.asarray(np.einsum("ij,ji->i", rows * scale, solved))


def start_path(model: Model, u: Matrix, pull: float) -> tuple[Matrix, float]:
    """A start for :func:`find_path_point` near u: moved into the ball, and above all cuts."""
    offset = u - model.centre
    distance = float(np.linalg.norm(offset))
    if distance > _BOUNDARY * model.radius:
        u = model.centre + (_BOUNDARY * model.radius / distance) * offset
    highest = float((model.offsets + model.slopes @ u).max())
    return u, highest + max(1.0 / pull, _VISIBLE * abs(highest))


def find_path_point(model: Model, pull: float, u: Matrix, level: float) -> PathPoint:
    """The point of the central path for a pull, by Newton's method with a line search from a point inside."""
    size, point = len(u), None
    for _ in range(_MOST_STEPS):
        slacks, offset = level - model.offsets - model.slopes @ u, u - model.centre
        room = model.radius**2 - float(offset @ offset)
        if point is not None and not min(float(slacks.min()), room) > 0.0:  # rounding hides the last step
            return point
        inverse = 1.0 / slacks
        rows = model.slopes * inverse[:, None]
        gradient = np.empty(size + 1)
        gradient[:size] = rows.sum(axis=0) + (2.0 / room) * offset
        gradient[size] = pull - inverse.sum()
        hessian = np.empty((size + 1, size + 1))
        hessian[:size, :size] = rows.T @ rows + (4.0 / room**2) * (offset[:, None] * offset)
        hessian[:size, size] = hessian[size, :size] = -(inverse @ rows)
        hessian[size, size] = inverse @ inverse
        hessian.flat[: size * (size + 2) : size + 2] += 2.0 / room  # the diagonal, but for its last entry
        scale = 1.0 / np.sqrt(np.diagonal(hessian))
        scaled = hessian * scale * scale[:, None]
        scaled.flat[:: size + 2] += _RIDGE
        step = -scale * np.linalg.solve(scaled, scale * gradient)
        decrement = -float(gradient @ step)
        change = step[size] - model.slopes @ step[:size]
        point = PathPoint(u, level, slacks, hessian, inverse * np.maximum(1.0 - change * inverse, 0.0))
        if not _CENTRED < decrement < math.inf:
            return point
        length = 1.0
        if change.min() < 0.0:
            length = min(1.0, _BOUNDARY / float((-change / slacks).max()))
        while length > _RIDGE:
            moved = offset + length * step[:size]
            left = model.radius**2 - float(moved @ moved)
            if left > 0.0:
                barriers = float(np.log1p(length * change / slacks).sum()) + math.log(left / room)
                if length * pull * step[size] - barriers <= -_SUFFICIENT_DECREASE * length * decrement:
                    break
            length *= 0.5
        else:
            return point
        u, level = u + length * step[:size], level + length * float(step[size])
    assert point is not None
    return point


def find_reach(model: Model, u: Matrix) -> float:
    """How far from u a point can be where no cut is above zero; infinite if that is not proved.

    Let s be the slacks of the cuts at u, G their slopes, and v = 1 - (G/s)y with (G/s)ᵀ(G/s)y = (G/s)ᵀ1. Then
    Gᵀ(v/s) = 0, so if v > 0, every such point u' has slacks s' >= 0 with Σ v_i s'_i/s_i = Σ v_i. Hence the sum of
    (1 - s'_i/s_i)², which is |(G/s)(u' - u)|², is largest where a single s'_i is not zero. The ball plays no part.
    """
    slacks = -(model.offsets + model.slopes @ u)
    if not slacks.min() > 0.0 or len(slacks) <= len(u):
        return math.inf
    rows = model.slopes / slacks[:, None]
    curvature = rows.T @ rows
    least = float(np.linalg.eigvalsh(curvature)[0])
    if not least > _RIDGE * len(u) * float(np.trace(curvature)):
        return math.inf
    v = 1.0 - rows @ np.linalg.solve(curvature, rows.sum(axis=0))
    if not v.min() > 0.0:
        return math.inf
    most = float(v.sum()) / float(v.min()) - 1.0
    return math.sqrt((most * most + len(v) - 1) / least)
