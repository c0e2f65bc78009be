"""The state of reduced-newton between two steps."""

from __future__ import annotations

from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.vectors import Vector
from minmin.methods.base import Candidate
from minmin.methods.y_system import YStep


class NewtonState(NamedTuple):
    """The state between two steps.

    Attributes
    ----------
    x, y : vectors
    cache : tuple of arrays
        The cache of the evaluation at (x, y).
    gradient : vector or None
        ∇F(x): ∇ₓ of the quadratic model after ``y_step``; None before the first step.
    y_step : YStep or None
        The Newton step in y alone from (x, y); the next step contains it.
    roots : tuple of arrays
        Roots of H_yy⁻¹; see :class:`YSystem`.
    scale : float
        |∇F| at the first step, in the preconditioner's norm.
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
    largest_norm : float
        The largest |x| or |dx| since the cache was last computed from x itself.
    cached_steps : int
        The number of steps since then.
    candidate : Candidate
    """

    x: Vector
    y: Vector
    cache: tuple[Array, ...]
    gradient: Vector | None
    y_step: YStep | None
    roots: tuple[Array, ...]
    scale: float
    refined: bool
    noise: float
    near_steps: int
    min_curvature_seen: float
    estimate: float
    stuck: int
    largest_norm: float
    cached_steps: int
    candidate: Candidate
