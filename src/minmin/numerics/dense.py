"""Small dense systems: a root of the inverse of a symmetric matrix, which may be singular."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from minmin.core.arrays import Array, to_like, to_numpy
from minmin.core.bound import rounding_error
from minmin.errors import NonFiniteError

DENSE_UP_TO = 1000
"""Systems with up to this many variables are factorised, larger ones solved by conjugate gradients.
Measured: docs/benchmarks/tuning.md."""


def inverse_root(matrix: Array) -> Array:
    """K with KᵀK = H⁻¹ for a symmetric positive semidefinite H, or its pseudo-inverse if H is singular.

    H is scaled to a unit diagonal first, so that variables in different units do not make it look singular.
    """
    H = to_numpy(matrix).astype(np.float64)
    if not np.isfinite(H).all():
        raise NonFiniteError("a Hessian of f is NaN or infinite; is f finite around the start?")
    info = np.finfo(to_numpy(matrix).dtype)
    diagonal = np.diagonal(H)
    # Entries close to underflow count as zero curvature, since dividing by them would overflow.
    curved = diagonal > float(info.tiny) / float(info.eps) ** 2
    scale = np.where(curved, 1.0, 0.0) / np.sqrt(np.where(curved, diagonal, 1.0))
    scaled = H * scale * scale[:, None] + np.diag(np.where(curved, 0.0, 1.0))
    size = H.shape[0]
    tiny = rounding_error(float(info.eps), size)
    # LAPACK is called directly: the general functions spend ten times as long on checking their arguments.
    L, failed = lapack.dpotrf(scaled, lower=1, clean=1)
    if failed or not np.diagonal(L).min() ** 2 > tiny:
        eigenvalues, vectors = np.linalg.eigh(scaled)
        kept = eigenvalues > tiny * max(float(eigenvalues[-1]), 1.0)
        root = np.zeros((size, size))
        root[kept] = vectors[:, kept].T / np.sqrt(eigenvalues[kept])[:, None]
    else:
        root, _ = lapack.dtrtri(L, lower=1)
    return to_like(root * scale, matrix)


def is_full_rank(root: Array) -> bool:
    """Whether an inverse root has no kernel, except for variables that do not affect f."""
    used = to_numpy(root) != 0.0
    return int(used.any(axis=1).sum()) == int(used.any(axis=0).sum())
