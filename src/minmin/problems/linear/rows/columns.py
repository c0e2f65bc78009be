"""What is known of every row beside the designs: target, weights and offset, kept where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.core.arrays import Array, to_like
from minmin.core.rows import Reduction, RowVector
from minmin.errors import InputError
from minmin.problems.linear.checked_designs import wrap_checked
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.losses.targets import check_offset_shape
from minmin.problems.linear.rows.dask_data import load_rows
from minmin.problems.linear.rows.design import RowDesign
from minmin.problems.linear.rows.group import RowCount, digest
from minmin.problems.linear.rows.loss import RowLoss
from minmin.problems.linear.rows.session import RowSession

_MOST_LABELS, _FIRST = 3, 1000
"""Targets with more values are no labels; mostly the first rows tell."""


def take_row_vectors(
    design: RowDesign, loss: Loss, target: Any, sample_weight: Any, offset: Any
) -> tuple[Loss, Array, Array, Array | None]:
    """The loss, the target in its form, normalised weights and the offset, all where the rows are."""
    session, prototype = design.rows_session, design.prototype
    columns = {"target": target, "sample_weight": sample_weight, "offset": offset}
    for name, column in columns.items():
        if not (isinstance(column, RowVector) and column.rows is session) and (column is not None or name == "target"):
            raise InputError(f"{name} must be a column of the same rows as X: give what was loaded with X")
    if sample_weight is None:
        weight = 1.0 / session.count
        weights = session.apply(np.full, RowCount, weight, prototype.dtype, example=np.full(1, weight, prototype.dtype))
    else:
        weights = _normalize(session, sample_weight, prototype)
    if offset is not None:
        check_offset_shape(offset.shape, session.count, loss.outputs)
    as_given = session.apply(to_like, target, prototype)
    _check_labels(session, loss, as_given)
    checked = session.apply(_check_target, loss, as_given, session.partition_sizes, session.partition_numbers)
    given = None if offset is None else session.apply(to_like, offset, prototype)
    return RowLoss(loss, session), checked, weights, given


def load_blocks(
    X: Any, Y: Any, target: Any, sample_weight: Any, offset: Any
) -> tuple[RowDesign, RowDesign, RowVector, RowVector | None, RowVector | None]:
    """The same five, given as Dask collections, loaded where they are."""
    columns = {"y": target, "weight": sample_weight, "offset": offset}
    session = load_rows({"X": X, "Y": Y}, columns)
    designs = (RowDesign(session.apply(wrap_checked, session.load(name, None), example=object())) for name in "XY")
    vectors = (None if given is None else session.load_column(name) for name, given in columns.items())
    loaded: Any = *designs, *vectors
    return loaded  # type: ignore[no-any-return]


def fingerprint_column(column: Array) -> tuple[Array, ...]:
    """What distinguishes a column from others in checkpoints: itself, or one digest per partition."""
    if not isinstance(column, RowVector):
        return (column,)
    session: RowSession = column.rows  # type: ignore[assignment]
    digests = session.fetch(Reduction(_digest_partitions, (column, session.partition_sizes), "list"))
    return session.order_by_partition(digests)


def _digest_partitions(column: Array, sizes: list[int]) -> list[Array]:
    return [digest([part]) for part in np.split(column, np.cumsum(sizes)[:-1])]


def _normalize(session: RowSession, weights: RowVector, prototype: Array) -> RowVector:
    """Weights that sum to one."""
    most = session.fetch(Reduction(np.max, (weights,), "max"))
    if not most > 0.0:
        raise InputError("sample_weight is zero everywhere; give at least one sample a positive weight")
    scaled = weights / float(most)  # so that the sum of huge weights does not overflow
    total = float(session.fetch(Reduction(np.sum, (scaled,))))
    normalized: RowVector = session.apply(to_like, scaled / total, prototype)
    return normalized


def _check_labels(session: RowSession, loss: Loss, target: RowVector) -> None:
    """Check the values of few labels together: a group may have {0, 1}, and another {-1, 1}."""
    values = session.fetch(Reduction(_list_few_values, (target,), "union"))
    if len(values):
        try:
            loss.check_target(values)
        except InputError as error:
            listed = ", ".join(f"{value:g}" for value in values)
            raise InputError(f"target holds {listed}: {str(error).partition(': ')[2]}") from None


def _list_few_values(target: Array) -> Array:
    """The labels; nothing if there are so many values that they are none."""
    for rows in (target[:_FIRST], target):
        values = np.unique(rows)
        if len(values) > _MOST_LABELS:
            return values[:0]
    return values


def _check_target(loss: Loss, target: Array, sizes: list[int], numbers: list[int]) -> Array:
    """The target in the form of the loss; an error names the partition."""
    try:
        return loss.check_target(target)
    except InputError:
        for number, part in zip(numbers, np.split(target, np.cumsum(sizes)[:-1]), strict=True):
            try:
                loss.check_target(part)
            except InputError as error:
                raise InputError(f"partition {number}: {error}") from None
        raise
