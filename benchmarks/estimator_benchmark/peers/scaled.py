"""A penalty per block in packages that have only one penalty: columns are scaled by √(alpha of the first block/alpha).

Scaling each column by 1/√alpha is the same up to one factor. This scaling leaves the columns of the first block
unchanged, which suits solvers whose first step has length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Objective


class Scaled:
    """A matrix A with A v = matrix·w, where penalty/2 |v|² is the sum of the penalties of w."""

    def __init__(self, objective: Objective, form: str):
        self.penalty = objective.alphas[0]
        self._scale = np.sqrt(self.penalty / objective.penalties)
        self.A = convert(objective.data.matrix, form, self._scale)

    def coefficients(self, v: Vector) -> Vector:
        """The coefficients of the objective, from those of the scaled columns."""
        return v * self._scale


def convert(matrix: Any, form: str, scale: Vector) -> Any:
    """A matrix with scaled columns, as "CSR", with 32-bit indices, or as a dense array in the order "C" or "F"."""
    if form == "CSR":
        A = scipy.sparse.csr_matrix(matrix)
        A = scipy.sparse.csr_matrix((A.data * scale[A.indices], A.indices, A.indptr), shape=A.shape)
        A.sort_indices()
        A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
        return A
    dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    scaled = dense * scale
    return np.asfortranarray(scaled) if form == "F" else np.ascontiguousarray(scaled)
