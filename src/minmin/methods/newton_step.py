"""The joint Newton step in x and y: y is eliminated, and conjugate gradients solve for x."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.preconditioner import Preconditioner
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
    flat, residual, min_curvature_seen, refined
        See :class:`minmin.numerics.cg.CgEnd`.
    """

    direction: Direction
    dy: Vector
    flat: bool
    residual: float
    min_curvature_seen: float
    refined: bool


def solve_newton_system(
    y_system: YSystem,
    gradient: Array,
    dy: Vector,
    preconditioner: Preconditioner,
    *,
    tolerance: float,
    most_steps: int,
    is_enough: Callable[[Array], bool] = lambda residual: False,
) -> NewtonStep:
    """Solve S·dx = -∇F, S = H_xx - H_xy H_yy⁻¹ H_yx, by conjugate gradients.

    The step in y that belongs to dx is dy - H_yy⁻¹ H_yx dx, where ``dy`` is the Newton step in y alone. For
    ``preconditioner``, ``tolerance`` and ``is_enough`` see :func:`minmin.numerics.cg.conjugate_gradients`.
    """
    evaluation = y_system.evaluation
    total: Direction | None = None
    search_direction, dy_along = Direction(gradient, ()), dy

    def apply(search: Array) -> Array:
        nonlocal search_direction, dy_along
        search_direction = evaluation.slice.along(search)
        dy_along = -y_system.solve(evaluation.hess_yx(search_direction))
        return evaluation.hess_product(search_direction, dy_along)

    def move(t: float) -> None:
        nonlocal total, dy
        total = search_direction.times(t) if total is None else total.add(t, search_direction)
        dy = dy + t * dy_along

    end = conjugate_gradients(
        apply,
        move,
        -gradient,
        preconditioner,
        eps=evaluation.rounding.eps,
        tolerance=tolerance,
        most_steps=most_steps,
        is_enough=is_enough,
    )
    return NewtonStep(evaluation.slice.along(0.0 * gradient) if total is None else total, dy, *end)
