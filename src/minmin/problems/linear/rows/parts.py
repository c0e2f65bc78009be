"""What a linear model is made of, with its rows in several groups: matrices, designs, the loss and its Hessian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from minmin.core.arrays import Array
from minmin.core.rows import Reduction, RowValue, RowVector, map_rows, reduce_rows, request
from minmin.core.second_order import Gauge
from minmin.errors import InputError
from minmin.numerics.row_pieces import Matrix
from minmin.problems.linear.designs import Design, NumpyDesign
from minmin.problems.linear.losses.base import DiagonalHessian, DualPoint, Loss, MarginHessian
from minmin.problems.linear.partitioned import PartitionedDesign
from minmin.problems.linear.penalties import Penalty
from minmin.problems.linear.rows.group import RowCount, digest
from minmin.problems.linear.rows.session import RowMetrics, RowSession, keep

_DESCRIBE = attrgetter("shape", "prototype.dtype", "is_dense", "stored")


class RowDesign(NumpyDesign):
    """The designs of all groups of rows, one above the other. Products with it are RowVectors, or sums over rows.

    Parameters
    ----------
    value : RowValue
        The design of every group.
    """

    refusal = "is on a cluster, which works only with NumPy vectors; give x0 and y0 as such"
    stored: int = 0
    proves_constants = False

    def __init__(self, value: RowValue):
        self.value = value
        self.rows_session: RowSession = value.rows  # type: ignore[assignment]
        shapes, dtypes, is_dense, stored = zip(*reduce_rows(_DESCRIBE, value, combine="list"), strict=True)
        self.shape = self.rows_session.count, shapes[0][1]
        self.dtype, self.is_dense = dtypes[0], all(is_dense)
        self.stored = sum(stored)

    @property
    def for_rows(self) -> RowValue:
        return self.value

    def _example(self, tail: tuple[int, ...] = ()) -> Array:
        """One row of a vector with these further dimensions."""
        return np.ones((1, *tail), dtype=self.dtype)

    def image(self, v: Array) -> RowVector:
        v = v.copy()  # the caller may change it before it is sent
        image: RowVector = self.value.call("image", v, example=self._example(v.shape[1:]))
        self.rows_session.note_images(image, {self.value.recipe: v}, {})
        return image

    def zero_image(self, v: Array) -> Array:
        return self.rows_session.zeros(v.shape[1:], self.dtype)

    def adjoint(self, r: RowVector) -> Array:
        return request(self.value, "adjoint", r).compute()

    def gram(self, weights: RowVector, rows: Matrix | None = None) -> Array:
        if rows is not None:
            raise _refuse_rows()
        return request(self.value, "gram", weights).compute()

    def column_squares(self, r: RowVector) -> Array:
        return request(self.value, "column_squares", r).compute()

    def row_squares(self, v: Array) -> Array:
        return self.value.call("row_squares", v.copy(), example=self._example(v.shape[1:]))

    @cached_property
    def row_norms_squared(self) -> Array:
        return self.rows_session.apply(getattr, self.value, "row_norms_squared", example=self._example())

    def ones(self) -> Array:
        return self.rows_session.apply(np.ones, RowCount, self.dtype, example=self._example())

    def columns(self, chosen: Matrix) -> RowDesign:
        return RowDesign(self.value.call("columns", chosen, example=_NO_EXAMPLE))

    @property
    def column_counts(self) -> Array:
        return np.asarray(reduce_rows(getattr, self.value, "column_counts"))

    def count_pairs(self, wanted: Matrix, more: int = 0) -> float:
        return float(request(self.value, "count_pairs", wanted, more).compute())

    def with_ones(self, ones: int, pairs: float | None) -> RowDesign:
        return RowDesign(self.rows_session.apply(_add_ones, self.value, ones, pairs is None, example=_NO_EXAMPLE))

    def zero_column(self) -> RowDesign:
        return RowDesign(self.value.call("zero_column", example=_NO_EXAMPLE))

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        raise _refuse_rows()

    def with_dtype(self, dtype: Any, name: str) -> RowDesign:
        return RowDesign(self.value.call("to_like", np.zeros(0, dtype), name, example=_NO_EXAMPLE))

    def to_float64(self) -> Any:
        raise _refuse_rows()

    def arrays(self) -> tuple[Array, ...]:
        return self.rows_session.order_by_partition(reduce_rows(_digest_partitions, self.value, combine="list"))

    def place_rows(self, vector: Array) -> Array:
        return self.rows_session.scatter(vector)

    def make_metrics(self) -> RowMetrics:
        return RowMetrics(self.rows_session)


def _refuse_rows() -> InputError:
    return InputError("rows on a cluster are not brought to one process; use a part of the rows")


_NO_EXAMPLE = object()
"""A matrix has no example for one row, since nothing is computed from it here."""


def _add_ones(design: Design, ones: int, as_dense: bool) -> Design:
    """The design of a group of rows; whether it is treated as dense was decided for all groups."""
    pairs = None if as_dense else design.count_pairs(np.ones(design.shape[1], dtype=bool), ones)
    return design.with_ones(ones, pairs)


def _digest_partitions(design: Design) -> list[Array]:
    """A fingerprint of every partition, wherever it is; one for all if the design is a copy of them."""
    if isinstance(design, PartitionedDesign):
        return [digest(arrays) for arrays in design.arrays_by_partition()]
    return [digest(design.arrays())]


class RowLoss(Loss):
    """A loss that is computed where the rows are.

    Parameters
    ----------
    loss : Loss
    rows : RowSession
    """

    def __init__(self, loss: Loss, rows: RowSession):
        self.loss = loss
        self._value: RowValue = rows.apply(keep, loss, example=loss)
        self.name, self.outputs = loss.name, loss.outputs
        self.max_curvature, self.min_curvature = loss.max_curvature, loss.min_curvature
        self.self_concordance = loss.self_concordance
        self.reaches_infimum, self.unit_dispersion = loss.reaches_infimum, loss.unit_dispersion

    @property
    def for_rows(self) -> RowValue:
        return self._value

    def prepare(self, margins: Array, target: Array) -> Array:
        return self._value.call("prepare", margins, target)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._value.call("value", margins, target, shared)

    def mean(self, margins: Array, target: Array, shared: Array, weights: Array) -> float:
        return float(request(self._value, "mean", margins, target, shared, weights).compute())

    def infimum(self, target: Array) -> Array | None:
        return None if self.loss.infimum(target.example) is None else self._value.call("infimum", target)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._value.call("slope", margins, target, shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._value.call("curvature", margins, target, shared)

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        return RowHessian(self._value.call("hessian", margins, target, shared, weights))

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian | None:
        assert isinstance(near, RowHessian)
        value = self._value.call("surrogate_hessian", margins, target, slope, weights, near.value)
        return None if value.example is None else RowHessian(value)

    def request_dual_point(self, change: Array, margins: Array, target: Array, near: RowHessian) -> Reduction | None:
        """The dual point, to be fetched with other sums; None if it depends on the ``left`` of find_dual_point."""
        if type(self.loss).find_dual_point is not Loss.find_dual_point:
            return None
        return request(self._value, "find_dual_point", change, margins, target, None, near.value, 0.0, combine="list")

    def find_dual_point(
        self,
        change: Array,
        margins: Array,
        target: Array,
        weights: Array,
        near: MarginHessian,
        left: float,
        most_scale: float = 1.0,
    ) -> DualPoint:
        assert isinstance(near, RowHessian)
        requested = self.request_dual_point(change, margins, target, near)
        if requested is not None:
            return _add_points(requested.compute())
        args = change, margins, target, weights, near.value, left
        point = _add_points(request(self._value, "find_dual_point", *args, combine="list").compute())
        if point.scale == 1.0:
            return point
        return _add_points(request(self._value, "find_dual_point", *args, point.scale, combine="list").compute())

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        return float(request(self._value, "distance", change, margins, target, combine="max").compute())

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(request(self._value, "rises", change, target, slack, combine="any").compute())

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(request(self._value, "falls", change, target, slack, combine="any").compute())

    def identity(self) -> Iterable[Any]:
        return self.loss.identity()

    def gauge(self, penalty: Penalty) -> Gauge | None:
        return self.loss.gauge(penalty)


class RowHessian(MarginHessian):
    """The second derivative with respect to all margins, of which every group of rows has its part."""

    __slots__ = ("value",)

    def __init__(self, value: RowValue):
        self.value = value
        super().__init__(map_rows(getattr, value, "diagonal"))

    @property
    def for_rows(self) -> RowValue:
        return self.value

    def times(self, change: Array) -> Array:
        return self.value.call("times", change)

    def gram(self, design: Design) -> Array:
        return request(self.value, "gram", design.for_rows).compute()

    def sum_of_rows(self) -> Array | None:
        return None if self.value.example.sum_of_rows() is None else request(self.value, "sum_of_rows").compute()


def make_diagonal_hessian(diagonal: Array) -> MarginHessian:
    """One margin per sample: a diagonal matrix, here or where the rows are."""
    value = map_rows(DiagonalHessian, diagonal)
    return RowHessian(value) if isinstance(value, RowValue) else value


def _add_points(points: list[DualPoint]) -> DualPoint:
    gaps, scales, crosses = zip(*points, strict=True)
    return DualPoint(sum(gaps), min(scales), sum(crosses))
