"""Small dense systems: a root of the inverse of a symmetric matrix, singular or not."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from minmin.space import Array, like, to_numpy


def inverse_root(matrix: Array) -> Array:
    """K with KᵀK = H⁻¹ for a symmetric positive semidefinite H; where H is singular, its pseudo-inverse.

    H is scaled to a unit diagonal first, so that blocks of different units do not pass for singular.
    """
    H = to_numpy(matrix).astype(np.float64)
    diagonal = np.diagonal(H)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = H * scale * scale[:, None]
    size = H.shape[0]
    tiny = 4.0 * size * float(np.finfo(to_numpy(matrix).dtype).eps)
    try:
        L = scipy.linalg.cholesky(scaled, lower=True, check_finite=False)
        singular = not np.diagonal(L).min() ** 2 > tiny
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        eigenvalues, vectors = scipy.linalg.eigh(scaled)
        kept = eigenvalues > tiny * max(float(eigenvalues[-1]), 1.0)
        root = np.zeros((size, size))
        root[kept] = vectors[:, kept].T / np.sqrt(eigenvalues[kept])[:, None]
    else:
        root = scipy.linalg.solve_triangular(L, np.eye(size), lower=True, check_finite=False)
    return like(root * scale, matrix)
