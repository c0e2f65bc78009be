"""RowLoss and RowHessian: a loss whose samples are in several groups of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minmin.core.arrays import Array
from minmin.core.rows import Combine, Reduction, RowValue, RowVector, map_rows
from minmin.core.second_order import Gauge
from minmin.problems.linear.designs import Design
from minmin.problems.linear.losses.base import DualPoint, Loss
from minmin.problems.linear.margin_hessian import DiagonalHessian, MarginHessian
from minmin.problems.linear.penalties import Penalty
from minmin.problems.linear.rows.design import RowDesign
from minmin.problems.linear.rows.session import RowSession


class RowLoss(Loss):
    """A loss that is computed where the rows are.

    Parameters
    ----------
    loss : Loss
    rows : RowSession
    """

    def __init__(self, loss: Loss, rows: RowSession):
        self.loss = loss
        self._rows = rows
        self._value: RowValue = rows.apply(_keep, loss, example=loss)
        self.name, self.outputs = loss.name, loss.outputs
        self.max_curvature, self.min_curvature = loss.max_curvature, loss.min_curvature
        self.self_concordance = loss.self_concordance
        self.reaches_infimum, self.unit_dispersion = loss.reaches_infimum, loss.unit_dispersion

    @property
    def for_rows(self) -> RowValue:
        return self._value

    def _map(self, method: str, *args: Any) -> Any:
        return self._rows.apply(call_method, self._value, method, *args)

    def request(self, method: str, *args: Any, combine: Combine) -> Reduction:
        """What a method returns for all samples, to be fetched with other sums."""
        return Reduction(call_method, (self._value, method, *args), combine)

    def _ask(self, combine: Combine, method: str, *args: Any) -> Any:
        return self._rows.fetch(self.request(method, *args, combine=combine))

    def prepare(self, margins: Array, target: Array) -> Array:
        return self._map("prepare", margins, target)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._map("value", margins, target, shared)

    def mean(self, margins: Array, target: Array, shared: Array, weights: Array) -> float:
        return float(self._rows.fetch(self.request_mean(margins, target, shared, weights)))

    def request_mean(self, margins: Array, target: Array, shared: Array, weights: Array) -> Reduction:
        """The weighted mean of ℓ, to be fetched with other sums."""
        return self.request("mean", margins, target, shared, weights, combine="sum")

    def infimum(self, target: Array) -> Array | None:
        return None if self.loss.infimum(target.example) is None else self._map("infimum", target)

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._map("slope", margins, target, shared)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        return self._map("curvature", margins, target, shared)

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        return RowHessian(self._map("hessian", margins, target, shared, weights))

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian | None:
        assert isinstance(near, RowHessian)
        value = self._map("surrogate_hessian", margins, target, slope, weights, near.value)
        return None if value.example is None else RowHessian(value)

    def request_dual_point(self, change: Array, margins: Array, target: Array, near: RowHessian) -> Reduction | None:
        """The dual point, to be fetched with other sums; None if it depends on the ``left`` of find_dual_point."""
        if type(self.loss).find_dual_point is not Loss.find_dual_point:
            return None
        return self.request("find_dual_point", change, margins, target, None, near.value, 0.0, combine="list")

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
        request = self.request_dual_point(change, margins, target, near)
        if request is not None:
            return _add_points(self._rows.fetch(request))
        args = change, margins, target, weights, near.value, left
        point = _add_points(self._ask("list", "find_dual_point", *args))
        if point.scale == 1.0:
            return point
        return _add_points(self._ask("list", "find_dual_point", *args, point.scale))

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        return float(self._ask("max", "distance", change, margins, target))

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(self._ask("any", "rises", change, target, slack))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return bool(self._ask("any", "falls", change, target, slack))

    def identity(self) -> Iterable[Any]:
        return self.loss.identity()

    def gauge(self, penalty: Penalty) -> Gauge | None:
        return self.loss.gauge(penalty)


class RowHessian(MarginHessian):
    """The second derivative with respect to all margins, of which every group of rows has its part."""

    __slots__ = ("value",)

    def __init__(self, value: RowValue):
        self.value = value
        super().__init__(value.rows.apply(getattr, value, "diagonal"))

    @property
    def rows(self) -> RowSession:
        return self.value.rows  # type: ignore[return-value]

    def times(self, change: Array) -> RowVector:
        vector: RowVector = self.rows.apply(call_method, self.value, "times", change)
        return vector

    def gram(self, design: Design) -> Array:
        return self.rows.fetch(self.request_gram(design))

    def request_gram(self, design: Design) -> Reduction:
        """AᵀhA, to be fetched with other sums."""
        assert isinstance(design, RowDesign)
        return Reduction(call_method, (self.value, "gram", design.value))

    def sum_of_rows(self) -> Array | None:
        if self.value.example.sum_of_rows() is None:
            return None
        return self.rows.fetch(Reduction(call_method, (self.value, "sum_of_rows")))


def call_method(target: Any, name: str, *args: Any) -> Any:
    """The result of a method of an object that is where the rows are."""
    return getattr(target, name)(*args)


def make_diagonal_hessian(diagonal: Array) -> MarginHessian:
    """One margin per sample: a diagonal matrix, here or where the rows are."""
    value = map_rows(DiagonalHessian, diagonal)
    return RowHessian(value) if isinstance(value, RowValue) else value


def _keep(loss: Loss) -> Loss:
    return loss


def _add_points(points: list[DualPoint]) -> DualPoint:
    gaps, scales, crosses = zip(*points, strict=True)
    return DualPoint(sum(gaps), min(scales), sum(crosses))
