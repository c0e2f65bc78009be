"""The state of reduced-newton, and its joint step in x and y: y is eliminated, conjugate gradients solve for x."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import Direction
from minmin.core.vectors import Vector
from minmin.methods.base import Candidate
from minmin.methods.y_system import YStep, YSystem
from minmin.numerics.cg import CgEnd, conjugate_gradients


class NewtonState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    candidate : Candidate
        Where the run is.
    largest_norm : float
        The largest |x| or |dx| since the cache was last computed from x itself.
    cached_steps : int
        The number of steps since then.
    gradient : vector or None
        ∇F(x): ∇ₓ of the quadratic model after ``y_step``; None before the first step.
    y_step : YStep or None
        The Newton step in y alone from there; the next step contains it.
    roots : tuple of arrays
        Roots of H_yy⁻¹; see :class:`YSystem`.
    scale : float
        |∇F| at the first step, in the preconditioner's norm; infinite before it.
    refined : bool
        Whether conjugate gradients took long in some system, so that its preconditioner was replaced by a better one.
    noise : float
        The expected size of rounding errors in ∇F.
    near_steps : int
        Steps in a row that stayed near enough for the quadratic model to hold.
    min_curvature_seen : float
        The least curvature of F seen in those steps.
    estimate : float
        The bound estimated from that curvature.
    stuck : int
        Steps in a row that moved nothing.
    """

    candidate: Candidate
    largest_norm: float
    cached_steps: int = 0
    gradient: Vector | None = None
    y_step: YStep | None = None
    roots: tuple[Array, ...] = ()
    scale: float = math.inf
    refined: bool = False
    noise: float = 0.0
    near_steps: int = 0
    min_curvature_seen: float = math.inf
    estimate: float = math.inf
    stuck: int = 0


class NewtonStep(NamedTuple):
    """An approximate minimiser of the quadratic model.

    Attributes
    ----------
    direction : Direction
        The step in x.
    dy : vector
        The step in y.
    end : CgEnd
        How conjugate gradients ended.
    """

    direction: Direction
    dy: Vector
    end: CgEnd


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
    evaluation, eps = y_system.evaluation, y_system.evaluation.rounding.eps
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
        apply, move, -gradient, preconditioner, eps=eps, tolerance=tolerance, most_steps=most_steps, is_enough=is_enough
    )
    return NewtonStep(evaluation.slice.along(0.0 * gradient) if total is None else total, dy, end)
