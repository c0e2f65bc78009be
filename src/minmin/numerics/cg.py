"""Conjugate gradients with a preconditioner, which is replaced by a better one if that pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.preconditioner import Preconditioner
from minmin.core.vectors import dot, norm, square

_FLAT_FACTOR = 16.0
"""Curvature pᵀAp below this times eps·pᵀMp counts as zero. Measured: docs/benchmarks/tuning.md."""
_LEAST_STEPS, _LEAST_SPENT, _LEAST_LEFT = 2, 0.5, 2.0
"""A better preconditioner is built after ``_LEAST_STEPS`` steps or more, when a system has taken ``_LEAST_SPENT`` times
its price and is expected to take ``_LEAST_LEFT`` times its price more. So a wrong guess costs at most twice what was
spent, and half of the steps that are left must be saved. Measured: docs/benchmarks/tuning.md."""


class CgEnd(NamedTuple):
    """How conjugate gradients ended.

    Attributes
    ----------
    flat : bool
        Whether a search direction without curvature was found.
    residual : float
        The norm of the last residual.
    min_curvature_seen : float
        The least pᵀAp/pᵀp over the search directions p.
    refined : bool
        Whether the preconditioner was replaced by a better one.
    """

    flat: bool
    residual: float
    min_curvature_seen: float
    refined: bool


def conjugate_gradients(
    apply: Callable[[Array], Array],
    move: Callable[[float], None],
    right: Array,
    preconditioner: Preconditioner,
    *,
    eps: float,
    tolerance: float,
    most_steps: int,
    is_enough: Callable[[Array], bool] = lambda residual: False,
) -> CgEnd:
    """Solve Av = ``right`` for a symmetric positive semidefinite A.

    Residuals are measured in the norm of M⁻¹, where M is the preconditioner. The last residual is at most ``tolerance``
    times the first, unless it is enough already, the steps run out, or a direction has no curvature.

    Parameters
    ----------
    apply : callable
        ``apply(p)`` is Ap, in a new array.
    move : callable
        ``move(t)`` adds t·p to the solution, where p is the last argument of ``apply``. The caller holds the solution,
        and whatever else is linear in it.
    right : array
        Overwritten.
    preconditioner : Preconditioner
    eps : float
        The precision of the products.
    is_enough : callable
        Whether a residual is small enough, whatever the tolerance.
    """
    residual = right
    search = preconditioner.solve(residual)
    size = preconditioned_length = dot(residual, search)  # pᵀMp
    first, enough = size, square(tolerance) * size
    min_curvature, refined, price = math.inf, False, preconditioner.price
    if size == 0.0:
        return CgEnd(False, 0.0, min_curvature, refined)
    for step in range(1, most_steps + 1):
        image = apply(search)
        curvature = dot(search, image)
        if not curvature > _FLAT_FACTOR * eps * preconditioned_length:
            return CgEnd(True, norm(residual), min_curvature, refined)
        length = dot(search, search)
        min_curvature = min(min_curvature, curvature / length if length > 0.0 else 0.0)
        t = size / curvature
        move(t)
        # In place: these arrays are long, and nothing else refers to them.
        image *= t
        residual -= image
        scaled = preconditioner.solve(residual)
        size, before = dot(residual, scaled), size
        if not size > enough or is_enough(residual):
            break
        if step >= max(_LEAST_STEPS, _LEAST_SPENT * price):
            left = _expect_steps_left(step, first, size, enough)
            if left >= _LEAST_LEFT * price:
                better, price = preconditioner.refine(), math.inf
                if better is not None:
                    preconditioner, refined = better, True
                    search = preconditioner.solve(residual)
                    size, before = dot(residual, search), size
                    enough *= size / before
                    preconditioned_length = size
                    continue
        search *= size / before
        search += scaled
        preconditioned_length = size + square(size / before) * preconditioned_length
    return CgEnd(False, norm(residual), min_curvature, refined)


def _expect_steps_left(steps: int, first: float, size: float, enough: float) -> float:
    """How many more steps it takes if residuals keep falling at the same rate, from ``first`` through ``size``."""
    if not 0.0 < enough < size < first:
        return math.inf
    return steps * (math.log(enough / first) / math.log(size / first) - 1.0)
