"""Two penalties in packages that have only one: scale the columns of Y by √(alpha_x/alpha_y)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse


class Scaled:
    """A = [X, Y·s] with s = √(alpha_x/alpha_y), so that A v = Xx + Yy and alpha_x/2 |v|² is the sum of both penalties.

    Scaling each block by 1/√alpha is the same up to one factor. This scaling leaves X unchanged, which suits packages
    whose first step has length 1.
    """

    def __init__(self, X: Any, Y: Any, alpha_x: float, alpha_y: float):
        self.d_x = X.shape[1]
        self.penalty = alpha_x
        self.scale = (alpha_x / alpha_y) ** 0.5
        blocks = [X, scipy.sparse.csr_array(Y * self.scale)]
        self.A = with_int32(scipy.sparse.csr_matrix(scipy.sparse.hstack(blocks, format="csr")))
        self.A.sort_indices()

    def blocks(self, v: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """x and y of a solution v."""
        return v[: self.d_x], v[self.d_x :] * self.scale


def with_int32(A: Any) -> Any:
    """Convert the indices of a sparse matrix to the type that compiled packages need."""
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    return A
