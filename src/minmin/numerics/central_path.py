"""The central path of a cutting-plane model on a ball: its points, their weights, and what the cuts enclose.

The model is u ↦ max_i offset_i + <slope_i, u>, on |u - centre| <= radius. The point of the path for a pull τ minimises
τt - Σ log(t - offset_i - <slope_i, u>) - log(radius² - |u - centre|²) over u and t; t falls to the least value of the
model as τ grows. Everything is NumPy in double precision, since a model is small.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

Matrix = np.ndarray[Any, Any]

_MOST_STEPS = 60
"""Of Newton's method at one pull; whatever is proved holds after any number of them.
Measured: docs/benchmarks/tuning.md."""
_CENTRED = 0.25
"""Newton's method stops at a squared decrement below this. Below 1 the weights are positive.
Measured: docs/benchmarks/tuning.md."""
_BOUNDARY = 0.95
"""The fraction of the way to the boundary that a step, or a start, may go."""
_SUFFICIENT_DECREASE = 0.1
_VISIBLE = 1e-12
"""A start is above the cuts by at least this fraction of them, so that rounding does not hide it."""
_TINY = 1e-15
"""The length of a step, or a curvature relative to the others, that may be rounding alone."""


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
    leverages : array
        How much each cut adds to the Hessian of the barriers, relative to all of it: between 0 and 1.
    weights : array
        Of the cuts, for :meth:`Model.bound_below`: 1/slack after one more step of Newton's method, linearised. Those
        balance the slopes of the cuts up to rounding, while 1/slack itself does so only at the path.
    """

    u: Matrix
    level: float
    leverages: Matrix
    weights: Matrix


def start_path(model: Model, u: Matrix, pull: float) -> tuple[Matrix, float]:
    """A start for :func:`find_path_point` near u: moved into the ball, and above all cuts."""
    offset = u - model.centre
    distance = float(np.linalg.norm(offset))
    if distance > _BOUNDARY * model.radius:
        u = model.centre + (_BOUNDARY * model.radius / distance) * offset
    highest = float((model.offsets + model.slopes @ u).max())
    return u, highest + max(1.0 / pull, _VISIBLE * abs(highest))


def find_path_point(model: Model, pull: float, u: Matrix, level: float) -> PathPoint:
    """The point of the central path for a pull, by Newton's method with a line search from a point inside.

    The Hessian is BᵀB: a cut has the row (-slope, 1)/slack in B, and the ball the rows √(2/room)·I and 2·offset/room.
    The gradient is pull·e - Bᵀw, where e picks t, and w is 1 for the cuts, -1 for the last row and 0 for the others.
    With B = QR the step is R⁻¹c, c = Qᵀw - pull/R_tt·e, since R⁻ᵀe = e/R_tt. So the condition number of B is never
    squared, which would spoil steps where the cuts enclose a long, thin region.
    """
    size, count, point = len(u), len(model.offsets), None
    rows = np.zeros((count + size + 1, size + 1))
    ones = np.zeros(len(rows))
    ones[:count], ones[-1] = 1.0, -1.0
    for _ in range(_MOST_STEPS):
        slacks, offset = level - model.offsets - model.slopes @ u, u - model.centre
        room = model.radius**2 - float(offset @ offset)
        if point is not None and not min(float(slacks.min()), room) > 0.0:  # rounding hides the last step
            return point
        inverse = 1.0 / slacks
        rows[:count, :size], rows[:count, size] = -model.slopes * inverse[:, None], inverse
        rows[count:-1, :size].flat[:: size + 1] = math.sqrt(2.0 / room)
        rows[-1, :size] = (2.0 / room) * offset
        Q, R = np.linalg.qr(rows)
        target = ones @ Q
        target[size] -= pull / R[size, size]
        change = Q[:count] @ target  # of every slack, relative to it
        point = PathPoint(u, level, np.square(Q[:count]).sum(axis=1), inverse * np.maximum(1.0 - change, 0.0))
        decrement = float(target @ target)
        if not _CENTRED < decrement < math.inf:
            return point
        step = scipy.linalg.solve_triangular(R, target, check_finite=False)
        length = 1.0
        if change.min() < 0.0:
            length = min(1.0, _BOUNDARY / float(-change.min()))
        while length > _TINY:
            moved = offset + length * step[:size]
            left = model.radius**2 - float(moved @ moved)
            if left > 0.0:
                barriers = float(np.log1p(length * change).sum()) + math.log(left / room)
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
    if not least > _TINY * len(u) * float(np.trace(curvature)):
        return math.inf
    v = 1.0 - rows @ np.linalg.solve(curvature, rows.sum(axis=0))
    if not v.min() > 0.0:
        return math.inf
    most = float(v.sum()) / float(v.min()) - 1.0
    return math.sqrt((most * most + len(v) - 1) / least)
