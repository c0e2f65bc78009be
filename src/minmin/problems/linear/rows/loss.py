"""RowLoss and RowHessian: a loss whose samples are in several groups of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minmin.core.arrays import Array
from minmin.core.rows import Reduction, RowValue, RowVector, map_rows, request
from minmin.core.second_order import Gauge
from minmin.problems.linear.designs import Design
from minmin.problems.linear.losses.base import DiagonalHessian, DualPoint, Loss, MarginHessian
from minmin.problems.linear.penalties import Penalty
from minmin.problems.linear.rows.session import RowSession, keep


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

    def times(self, change: Array) -> RowVector:
        vector: RowVector = self.value.call("times", change)
        return vector

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
