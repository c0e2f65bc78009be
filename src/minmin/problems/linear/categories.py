"""Designs of zeros and ones: categories as whole numbers, and the column of an intercept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array
from minmin.errors import InputError, as_count, require_values
from minmin.numerics.row_pieces import Matrix, RowPieces, add_mirrored, count_rows_at_once
from minmin.problems.linear.designs import NumpyDesign, piece_rows

_LARGEST_INT32 = int(np.iinfo(np.int32).max)


class _OfZerosAndOnes(NumpyDesign):
    is_in_memory = True

    def column_squares(self, r: Array) -> Array:
        return self.adjoint(r)

    def row_squares(self, v: Array) -> Array:
        return self.image(v)

    @property
    def column_counts(self) -> Array:
        return self.adjoint(np.ones(self.shape[0]))

    def row_counts(self, wanted: Matrix) -> Array:
        return self.image(wanted.astype(np.float64))


class CategoricalDesign(_OfZerosAndOnes):
    """One column of zeros and ones for every category of every feature, stored as one whole number per row and feature.

    Parameters
    ----------
    codes : array of whole numbers, of shape (n, q)
        The category of every sample in each of q features: 0 to sizes[j] - 1; -1 for none, which contributes zero.
    sizes : sequence of q whole numbers, optional
        How many categories each feature has; by default one more than its largest code.
    dtype : float32 or float64
        The precision of products.

    Attributes
    ----------
    places : array of shape (n, q), int32
        The number of the column that holds the one; the number of columns if there is none.
    """

    is_dense = False
    refusal = "has categories, which work only with NumPy vectors; give x0 and y0 as NumPy arrays"

    def __init__(self, codes: Any, sizes: Sequence[int] | None = None, dtype: Any = np.float64):
        codes = _check_codes(codes)
        counts = _check_sizes(codes, sizes)
        starts = np.concatenate([[0], np.cumsum(counts)])
        index_dtype = np.int32 if starts[-1] < _LARGEST_INT32 else np.int64
        places = np.empty(codes.shape, dtype=index_dtype)
        for feature, start in enumerate(starts[:-1].tolist()):
            places[:, feature] = np.where(codes[:, feature] < 0, starts[-1], codes[:, feature] + start)
        self._set(places, int(starts[-1]), dtype)

    @classmethod
    def from_places(cls, places: Matrix, width: int, dtype: Any) -> Self:
        """A design with ``width`` columns from its attribute ``places``, not checked.

        The numbers in a row must differ, but for those of missing categories.
        """
        design = cls.__new__(cls)
        design._set(places, width, dtype)
        return design

    def _set(self, places: Matrix, width: int, dtype: Any) -> None:
        self.places, self.shape, self.dtype = np.ascontiguousarray(places), (places.shape[0], width), np.dtype(dtype)

    @cached_property
    def stored(self) -> int:
        """How many ones the matrix has."""
        return self.places.size - sum(
            int(np.count_nonzero(self.places[piece] == self.shape[1])) for piece in piece_rows(self.shape[0])
        )

    @property
    def _has_missing(self) -> bool:
        return self.stored < self.places.size

    @property
    def _width(self) -> int:
        """The number of columns, with one more for missing categories if there are any."""
        return self.shape[1] + int(self._has_missing)

    @cached_property
    def _pieces(self) -> RowPieces:
        return RowPieces.of_codes(self.places, self._width, self.dtype)

    def image(self, v: Array) -> Array:
        if self._has_missing:
            v = np.concatenate([v, np.zeros((1, *v.shape[1:]), dtype=v.dtype)])
        return self._pieces.image(v)

    def adjoint(self, r: Array) -> Array:
        return self._pieces.adjoint(r)[: self.shape[1]]

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        """By counting: a pair of categories is a number, and weights of equal numbers are added."""
        if rows is not None:
            return self.rows(rows).gram(weights)
        width, features = self._width, self.places.shape[1]
        ends = np.cumsum(np.arange(features, 0, -1))
        pairs = int(ends[-1]) if features else 0
        pair_dtype: Any = np.int32 if width**2 <= _LARGEST_INT32 else np.int64
        at_once, total = count_rows_at_once(pairs, width**2), np.zeros(width**2, dtype=self.dtype)
        for start in range(0, self.shape[0], at_once):
            places = self.places[start : start + at_once].astype(pair_dtype, copy=False)
            both = np.empty((len(places), pairs), dtype=pair_dtype)
            for first, end in enumerate(ends.tolist()):
                later = both[:, end - features + first : end]
                np.add(places[:, first, None] * pair_dtype(width), places[:, first:], out=later)
            total += RowPieces.of_codes(both, width**2, self.dtype).adjoint(weights[start : start + at_once])
        return add_mirrored(total.reshape(width, width)[: self.shape[1], : self.shape[1]])

    @cached_property
    def row_norms_squared(self) -> Array:
        """One number per row; only one is stored if no category is missing."""
        if not self._has_missing:
            return np.broadcast_to(np.full(1, self.places.shape[1], dtype=self.dtype), self.shape[0])
        return self.image(np.ones(self.shape[1], dtype=self.dtype))

    def rows(self, chosen: Any) -> CategoricalDesign:
        """The design with only these rows."""
        return self.from_places(self.places[chosen], self.shape[1], self.dtype)

    def columns(self, chosen: Matrix) -> CategoricalDesign:
        places = self._find(chosen)[self.places]
        has_some = (places < len(chosen)).any(axis=0)
        return self.from_places(places[:, has_some], len(chosen), self.dtype)

    def _find(self, chosen: Matrix) -> Matrix:
        """For every column its number among the chosen ones; how many those are if it is not one of them."""
        found = np.full(self.shape[1] + 1, len(chosen), dtype=self.places.dtype)
        found[chosen] = np.arange(len(chosen))
        return found

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        places = self.places[rows]
        if columns is None:
            return self._fill_dense(places, self.shape[1])
        return self._fill_dense(self._find(columns)[places], len(columns))

    def _fill_dense(self, places: Matrix, width: int) -> Array:
        dense = np.zeros((len(places), width + 1), dtype=self.dtype)
        dense[np.arange(len(places))[:, None], places] = 1.0
        return dense[:, :width]

    def with_dtype(self, dtype: Any, name: str) -> CategoricalDesign:
        return self.from_places(self.places, self.shape[1], dtype)

    def to_float64(self) -> Any:
        """As a CSR array, which takes three times the memory, and more if categories are missing."""
        rows, features = self.places.shape
        ends = np.arange(0, self.places.size + 1, max(features, 1)) if features else np.zeros(rows + 1, dtype=int)
        whole = scipy.sparse.csr_array(
            (np.ones(self.places.size), self.places.reshape(-1), ends), shape=(rows, self.shape[1] + 1)
        )
        return whole[:, : self.shape[1]]

    def arrays(self) -> tuple[Array, ...]:
        return (self.places,)


class OnesDesign(_OfZerosAndOnes):
    """One column of ones, float32 or float64, of which nothing is stored: that of an intercept."""

    refusal = "works only with NumPy vectors; give x0 and y0 as NumPy arrays"

    def __init__(self, rows: int, dtype: Any):
        self.shape, self.dtype = (rows, 1), np.dtype(dtype)

    def image(self, v: Array) -> Array:
        return np.full((self.shape[0], *v.shape[1:]), v[0], dtype=v.dtype)

    def adjoint(self, r: Array) -> Array:
        return r.sum(axis=0, keepdims=True)

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        return weights.sum().reshape(1, 1)

    @property
    def row_norms_squared(self) -> Array:
        return np.broadcast_to(np.ones(1, dtype=self.dtype), self.shape[0])

    def rows(self, chosen: Any) -> OnesDesign:
        """The design with only these rows."""
        return OnesDesign(len(np.broadcast_to(0, self.shape[0])[chosen]), self.dtype)

    def columns(self, chosen: Matrix) -> OnesDesign:
        return self

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        return np.ones((len(rows), 1), dtype=self.dtype)

    def with_dtype(self, dtype: Any, name: str) -> OnesDesign:
        return OnesDesign(self.shape[0], dtype)

    def to_float64(self) -> Matrix:
        return np.ones(self.shape)

    def arrays(self) -> tuple[Array, ...]:
        return (np.ones(1, dtype=self.dtype),)


def _check_codes(codes: Any) -> Matrix:
    require_values(codes, "codes")
    array = np.asarray(codes)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise InputError(
            f"codes have dtype {array.dtype} and shape {array.shape}; give whole numbers, one row per sample and one "
            "column per feature"
        )
    if 0 in array.shape:
        raise InputError(f"codes have shape {array.shape}; give at least one row and one column")
    if array.min() < -1:
        row, feature = np.argwhere(array < -1)[0].tolist()
        raise InputError(f"codes[{row}, {feature}] = {array[row, feature]}; give 0, 1, 2, ..., or -1 for no category")
    return array


def _check_sizes(codes: Matrix, sizes: Sequence[int] | None) -> list[int]:
    most = codes.max(axis=0)
    if sizes is None:
        return [max(int(largest) + 1, 1) for largest in most]
    counts = [as_count(size, "a size") for size in sizes]
    if len(counts) != codes.shape[1]:
        raise InputError(f"there are {len(counts)} sizes, but codes have {codes.shape[1]} columns; give one for each")
    for feature, (count, largest) in enumerate(zip(counts, most.tolist(), strict=True)):
        if largest >= count:
            row = int(np.argmax(codes[:, feature] == largest))
            raise InputError(
                f"codes[{row}, {feature}] = {largest}, but sizes[{feature}] = {count}; give 0 to {count - 1}"
            )
    return counts
