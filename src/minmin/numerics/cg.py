"""Conjugate gradients with a preconditioner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.vectors import dot, norm, square

_FLAT_FACTOR = 16.0
"""Curvature pᵀAp below this times eps·pᵀMp counts as zero. Along directions in the kernel of random Gram matrices of 20
to 1000 columns, rounding errors were at most 1.0 times eps·pᵀMp; the rest is a margin."""


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
    """

    flat: bool
    residual: float
    min_curvature_seen: float


def conjugate_gradients(
    apply: Callable[[Array], Array],
    move: Callable[[float], None],
    right: Array,
    precondition: Callable[[Array], Array],
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
    precondition : callable
        ``precondition(r)`` is M⁻¹r for a positive definite M, in a new array.
    eps : float
        The precision of the products.
    is_enough : callable
        Whether a residual is small enough, whatever the tolerance.
    """
    residual = right
    search = precondition(residual)
    size = preconditioned_length = dot(residual, search)  # pᵀMp
    enough = square(tolerance) * size
    min_curvature = math.inf
    for _ in range(most_steps):
        image = apply(search)
        curvature = dot(search, image)
        if not curvature > _FLAT_FACTOR * eps * preconditioned_length:
            return CgEnd(True, norm(residual), min_curvature)
        length = dot(search, search)
        min_curvature = min(min_curvature, curvature / length if length > 0.0 else 0.0)
        t = size / curvature
        move(t)
        # In place: these arrays are long, and nothing else refers to them.
        image *= t
        residual -= image
        scaled = precondition(residual)
        size, before = dot(residual, scaled), size
        if not size > enough or is_enough(residual):
            break
        search *= size / before
        search += scaled
        preconditioned_length = size + square(size / before) * preconditioned_length
    return CgEnd(False, norm(residual), min_curvature)
