"""The Newton step of (x, y) jointly, y eliminated: conjugate gradients on the reduced Hessian."""

from __future__ import annotations

from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.second_order import Direction
from minmin.core.vectors import Vector
from minmin.methods.y_system import YSystem
from minmin.numerics.cg import conjugate_gradients


class NewtonStep(NamedTuple):
    """An approximate minimiser of the quadratic model.

    Attributes
    ----------
    direction : Direction
        The step in x.
    dy : vector
        The step in y.
    flat, residual, min_curvature_seen
        See :class:`minmin.numerics.cg.CgEnd`.
    """

    direction: Direction
    dy: Vector
    flat: bool
    residual: float
    min_curvature_seen: float


def solve_newton_system(
    y_system: YSystem, gradient: Array, dy: Vector, diagonal: Array, *, tolerance: float, most_steps: int
) -> NewtonStep:
    """Solve S·dx = -∇F, S = H_xx - H_xy H_yy⁻¹ H_yx, with a diagonal preconditioner.

    The step in y that goes with dx is dy - H_yy⁻¹ H_yx dx, where ``dy`` is the Newton step in y alone.
    """
    evaluation = y_system.evaluation
    total: Direction | None = None
    along, y_part = Direction(gradient, ()), dy

    def apply(search: Array) -> Array:
        nonlocal along, y_part
        along = evaluation.slice.along(search)
        y_part = -y_system.solve(evaluation.hess_yx(along))
        return evaluation.hess_product(along, y_part)

    def move(t: float) -> None:
        nonlocal total, dy
        total = along.times(t) if total is None else total.add(t, along)
        dy = dy + t * y_part

    end = conjugate_gradients(
        apply,
        move,
        -gradient,
        diagonal,
        eps=evaluation.rounding.eps,
        tolerance=tolerance,
        most_steps=most_steps,
    )
    return NewtonStep(along.times(0.0) if total is None else total, dy, *end)
