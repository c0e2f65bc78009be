"""Lanczos: approximate eigenvalues of a symmetric operator from a few products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

Vector = np.ndarray[Any, Any]


def ritz_values(
    apply: Callable[[Vector], Vector],
    start: Vector,
    steps: int,
    *,
    shortest_direction: Callable[[float], float],
    orthogonalize: bool,
) -> Vector:
    """The Ritz values after at most ``steps`` products, in ascending order.

    Parameters
    ----------
    apply : callable
        The operator, v ↦ Av.
    start : array
    steps : int
    shortest_direction : callable
        ``shortest_direction(scale)`` is the length below which a new direction is only rounding error; ``scale`` is the
        largest absolute Rayleigh quotient so far.
    orthogonalize : bool
        Make every new direction orthogonal to all earlier ones. Without this, memory is three vectors, the largest
        eigenvalues may appear several times, and the smallest Ritz values mean nothing.
    """
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for _ in range(min(steps, start.size)):
        image = apply(basis[-1])
        if off_diagonal and not orthogonalize:
            image = image - off_diagonal[-1] * basis[-2]
        diagonal.append(float(image @ basis[-1]))
        earlier = 2 * basis if orthogonalize else basis[-1:]  # twice, so that only rounding errors are left
        for vector in earlier:
            image = image - float(image @ vector) * vector
        length = float(np.linalg.norm(image))
        if length <= shortest_direction(max(map(abs, diagonal))):
            break
        off_diagonal.append(length)
        basis = [*(basis if orthogonalize else basis[-1:]), image / length]
    return np.asarray(scipy.linalg.eigvalsh_tridiagonal(diagonal, off_diagonal[: len(diagonal) - 1]))
