"""RowDesign: the matrix of one block, of which every group of rows has its own rows as a design."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from minmin.core.arrays import Array
from minmin.core.rows import Reduction, RowValue, RowVector
from minmin.errors import InputError
from minmin.problems.linear.designs import Design
from minmin.problems.linear.partitioned import PartitionedDesign
from minmin.problems.linear.rows.group import RowCount, digest
from minmin.problems.linear.rows.session import RowSession
from minmin.problems.spectrum import Matrix


class RowDesign(Design):
    """The designs of all groups of rows, one above the other. Products with it are RowVectors, or sums over rows.

    Parameters
    ----------
    value : RowValue
        The design of every group.
    """

    def __init__(self, value: RowValue):
        self.value = value
        self.rows_session: RowSession = value.rows  # type: ignore[assignment]
        columns, dtype, is_dense, stored = zip(*self._ask("list", _describe), strict=True)
        self.shape = self.rows_session.count, columns[0]
        self._dtype, self._is_dense = dtype[0], all(is_dense)
        self._stored: int = sum(stored)

    def _ask(self, combine: Any, function: Any, *args: Any) -> Any:
        return self.rows_session.fetch(Reduction(function, (self.value, *args), combine))

    def _per_row(self, function: Any, *args: Any, tail: tuple[int, ...] = ()) -> RowVector:
        example = np.ones((1, *tail), dtype=self._dtype)
        vector: RowVector = self.rows_session.apply(function, self.value, *args, example=example)
        return vector

    @property
    def prototype(self) -> Array:
        return np.zeros(0, dtype=self._dtype)

    def image(self, v: Array) -> RowVector:
        v = v.copy()  # the caller may change it before it is sent
        image = self._per_row(_image, v, tail=v.shape[1:])
        self.rows_session.note_images(image, {self.value.recipe: v}, {})
        return image

    def zero_image(self, v: Array) -> RowVector:
        return self.rows_session.zeros(v.shape[1:], self._dtype)

    def adjoint(self, r: RowVector) -> Array:
        return self.rows_session.fetch(self.request_adjoint(r))

    def request_adjoint(self, r: RowVector) -> Reduction:
        """Aᵀ·r, to be fetched with others."""
        return Reduction(_adjoint, (self.value, r))

    def gram(self, weights: RowVector, rows: Matrix | None = None) -> Array:
        if rows is not None:
            raise _refuse_rows()
        return self._ask("sum", _gram, weights)

    def column_squares(self, r: RowVector) -> Array:
        return self._ask("sum", _column_squares, r)

    def row_squares(self, v: Array) -> RowVector:
        return self._per_row(_row_squares, v.copy(), tail=v.shape[1:])

    @cached_property
    def row_norms_squared(self) -> RowVector:
        return self._per_row(_row_norms_squared)

    def ones(self) -> RowVector:
        vector: RowVector = self.rows_session.apply(np.ones, RowCount, self._dtype, example=np.ones(1, self._dtype))
        return vector

    def columns(self, chosen: Matrix) -> RowDesign:
        return RowDesign(self.rows_session.apply(_columns, self.value, chosen, example=_NO_EXAMPLE))

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        raise _refuse_rows()

    @property
    def is_dense(self) -> bool:
        return self._is_dense

    @property
    def stored(self) -> int:
        return self._stored

    def to_like(self, prototype: Array, name: str) -> RowDesign:
        if not is_numpy_array(prototype):
            raise InputError(f"{name} is on a cluster, which works only with NumPy vectors; give x0 and y0 as such")
        if prototype.dtype == self._dtype:
            return self
        return RowDesign(self.rows_session.apply(_to_like, self.value, prototype[:0], name, example=_NO_EXAMPLE))

    def to_float64(self) -> Any:
        raise InputError(
            "this method needs constants of the problem, which cannot be computed from rows on a cluster; give "
            "constants=, or use method='reduced-newton'"
        )

    def arrays(self) -> tuple[Array, ...]:
        return self.rows_session.order_by_partition(self._ask("list", _digest_partitions))


def _refuse_rows() -> InputError:
    return InputError("rows on a cluster are not brought to one process; use a part of the rows")


_NO_EXAMPLE = object()
"""A design has no example for one row, since nothing is computed from it here."""


def _describe(design: Design) -> tuple[int, Any, bool, int]:
    return design.shape[1], design.prototype.dtype, design.is_dense, design.stored


def _digest_partitions(design: Design) -> list[Array]:
    """A fingerprint of every partition, wherever it is; one for all if the design is a copy of them."""
    if isinstance(design, PartitionedDesign):
        return [digest(arrays) for arrays in design.arrays_by_partition()]
    return [digest(design.arrays())]


def _image(design: Design, v: Array) -> Array:
    return design.image(v)


def _adjoint(design: Design, r: Array) -> Array:
    return design.adjoint(r)


def _gram(design: Design, weights: Array) -> Array:
    return design.gram(weights)


def _column_squares(design: Design, r: Array) -> Array:
    return design.column_squares(r)


def _row_squares(design: Design, v: Array) -> Array:
    return design.row_squares(v)


def _row_norms_squared(design: Design) -> Array:
    return design.row_norms_squared


def _columns(design: Design, chosen: Matrix) -> Design:
    return design.columns(chosen)


def _to_like(design: Design, prototype: Array, name: str) -> Design:
    return design.to_like(prototype, name)
