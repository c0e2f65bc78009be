"""Conjugate gradients on the reduced Hessian: a step in x, with its image and the step in y that goes with it."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.methods.y_system import YSystem
from minmin.oracle import Direction, Evaluation
from minmin.space import Array, Vector, dot, norm, square

_FLAT = 16.0
"""Curvature below so many times eps of what the diagonal promises is none."""


class NewtonStep(NamedTuple):
    """An approximate minimiser of the quadratic model.

    Attributes
    ----------
    direction : Direction
        The step in x.
    dy : vector
        The step in y.
    flat : bool
        A direction without curvature was met.
    left : float
        The norm of the last residual.
    softest : float
        The least curvature seen, pᵀSp/pᵀp.
    """

    direction: Direction
    dy: Vector
    flat: bool
    left: float
    softest: float


def reduced_cg(
    evaluation: Evaluation,
    y_system: YSystem,
    gradient: Array,
    dy: Vector,
    diagonal: Array,
    *,
    tolerance: float,
    most_steps: int,
) -> NewtonStep:
    """Solve S·dx = -∇F by conjugate gradients with a diagonal preconditioner, S = H_xx - H_xy H_yy⁻¹ H_yx.

    The step in y that goes with dx is dy - H_yy⁻¹ H_yx dx, where ``dy`` is the Newton step in y alone. Residuals are
    measured in the preconditioner's norm, and the last is at most ``tolerance`` times the first.
    """
    residual = -gradient
    search = residual / diagonal
    size = promised = dot(residual, search)  # promised is pᵀMp, M the preconditioner
    enough = square(tolerance) * size
    total: Direction | None = None
    softest = math.inf
    for _ in range(most_steps):
        along = evaluation.slice.along(search)
        y_part = -y_system.solve(evaluation.hess_yx(along))
        image = evaluation.hess_product(along, y_part)
        curvature = dot(search, image)
        if not curvature > _FLAT * evaluation.eps * promised:
            return NewtonStep(along.times(0.0) if total is None else total, dy, True, norm(residual), softest)
        length = dot(search, search)
        softest = min(softest, curvature / length if length > 0.0 else 0.0)
        t = size / curvature
        total = along.times(t) if total is None else total.add(t, along)
        dy = dy + t * y_part
        # In place, since these arrays are long and nobody else holds them.
        image *= t
        residual -= image
        scaled = residual / diagonal
        size, before = dot(residual, scaled), size
        if not size > enough:
            break
        search *= size / before
        search += scaled
        promised = size + square(size / before) * promised
    assert total is not None
    return NewtonStep(total, dy, False, norm(residual), softest)
