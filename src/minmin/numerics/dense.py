"""Small dense systems: a root of the inverse of a symmetric matrix, singular or not."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from minmin.core.arrays import Array, namespace_of, to_like, to_numpy
from minmin.core.rounding import rounding_error
from minmin.errors import NonFiniteError

DENSE_UP_TO = 1000
"""Systems of up to so many variables are factorised, larger ones solved by conjugate gradients. The inverse root of
1000 takes 34 ms on one thread, as long as three products with 10⁷ stored numbers (12 ms each); that of 2000 takes 180
ms."""


def inverse_root(matrix: Array) -> Array:
    """K with KᵀK = H⁻¹ for a symmetric positive semidefinite H; where H is singular, its pseudo-inverse.

    H is scaled to a unit diagonal first, so that blocks of different units do not pass for singular.
    """
    H = to_numpy(matrix).astype(np.float64)
    if not np.isfinite(H).all():
        raise NonFiniteError("a Hessian of f holds NaN or infinity; is f finite around the start?")
    kind = np.finfo(to_numpy(matrix).dtype)
    diagonal = np.diagonal(H)
    # What is nearly too small for a number is no curvature: a step by it would overflow.
    curved = diagonal > float(kind.tiny) / float(kind.eps) ** 2
    scale = np.where(curved, 1.0, 0.0) / np.sqrt(np.where(curved, diagonal, 1.0))
    scaled = H * scale * scale[:, None] + np.diag(np.where(curved, 0.0, 1.0))
    size = H.shape[0]
    tiny = rounding_error(float(kind.eps), size)
    # LAPACK by name: the general functions spend ten times as long on checking their arguments.
    L, failed = lapack.dpotrf(scaled, lower=1, clean=1)
    if failed or not np.diagonal(L).min() ** 2 > tiny:
        eigenvalues, vectors = np.linalg.eigh(scaled)
        kept = eigenvalues > tiny * max(float(eigenvalues[-1]), 1.0)
        root = np.zeros((size, size))
        root[kept] = vectors[:, kept].T / np.sqrt(eigenvalues[kept])[:, None]
    else:
        root, _ = lapack.dtrtri(L, lower=1)
    return to_like(root * scale, matrix)


def positive(diagonal: Array) -> Array:
    """A diagonal with ones for zeros, which belong to variables that nothing depends on."""
    xp = namespace_of(diagonal)
    return xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))


def is_whole(root: Array) -> bool:
    """Whether an inverse root left out no direction, but for variables that nothing depends on."""
    used = to_numpy(root) != 0.0
    return int(used.any(axis=1).sum()) == int(used.any(axis=0).sum())
