"""OnesDesign: the column of an intercept, of which nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from minmin.core.arrays import Array
from minmin.errors import InputError
from minmin.problems.linear.designs import Design, piece_rows
from minmin.problems.spectrum import Matrix


class OnesDesign(Design):
    """One column of ones, float32 or float64."""

    def __init__(self, rows: int, dtype: Any):
        self.shape, self._dtype = (rows, 1), np.dtype(dtype)

    @property
    def prototype(self) -> Array:
        return np.zeros(0, dtype=self._dtype)

    def image(self, v: Array) -> Array:
        return np.full((self.shape[0], *v.shape[1:]), v[0], dtype=v.dtype)

    def adjoint(self, r: Array) -> Array:
        return r.sum(axis=0, keepdims=True)

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        return weights.sum().reshape(1, 1)

    def column_squares(self, r: Array) -> Array:
        return self.adjoint(r)

    def row_squares(self, v: Array) -> Array:
        return self.image(v)

    @property
    def row_norms_squared(self) -> Array:
        return np.broadcast_to(np.ones(1, dtype=self._dtype), self.shape[0])

    def rows(self, chosen: Any) -> OnesDesign:
        """The design with only these rows."""
        return OnesDesign(len(np.broadcast_to(0, self.shape[0])[chosen]), self._dtype)

    def columns(self, chosen: Matrix) -> OnesDesign:
        return self

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        for piece in piece_rows(self.shape[0]):
            yield piece, self.sample(np.arange(piece.start, piece.stop))

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        return np.ones((len(rows), 1), dtype=self._dtype)

    def to_like(self, prototype: Array, name: str) -> OnesDesign:
        if not is_numpy_array(prototype):
            raise InputError(f"{name} works only with NumPy vectors; give x0 and y0 as NumPy arrays")
        return OnesDesign(self.shape[0], prototype.dtype)

    def to_float64(self) -> Matrix:
        return np.ones(self.shape)

    def arrays(self) -> tuple[Array, ...]:
        return (np.ones(1, dtype=self._dtype),)
