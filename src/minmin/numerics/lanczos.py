"""Lanczos: approximate eigenvalues of a symmetric operator from its products with a few vectors."""

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
    smallest_rest: Callable[[float], float],
    orthogonalize: bool,
) -> Vector:
    """The Ritz values after at most ``steps`` products, in ascending order.

    Parameters
    ----------
    apply : callable
        The operator, v ↦ Av.
    start : array
    steps : int
    smallest_rest : callable
        ``smallest_rest(scale)`` is the length below which a new direction is rounding alone; ``scale`` is the largest
        Rayleigh quotient so far, in size.
    orthogonalize : bool
        Make every new direction orthogonal to all before it. Without that, memory is three vectors, copies of the
        largest eigenvalues may appear, and nothing may be said of the smallest ones.
    """
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for _ in range(min(steps, start.size)):
        image = apply(basis[-1])
        if off_diagonal and not orthogonalize:
            image = image - off_diagonal[-1] * basis[-2]
        diagonal.append(float(image @ basis[-1]))
        earlier = 2 * basis if orthogonalize else basis[-1:]  # twice: orthogonal to rounding
        for vector in earlier:
            image = image - float(image @ vector) * vector
        rest = float(np.linalg.norm(image))
        if rest <= smallest_rest(max(map(abs, diagonal))):
            break
        off_diagonal.append(rest)
        basis = [*(basis if orthogonalize else basis[-1:]), image / rest]
    return np.asarray(scipy.linalg.eigvalsh_tridiagonal(diagonal, off_diagonal[: len(diagonal) - 1]))
