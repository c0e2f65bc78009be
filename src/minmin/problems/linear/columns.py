"""What is known of every row beside the designs: target, weights and offset, checked here or where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.core.arrays import Array, as_real, as_real_numpy, require_finite, to_like, total
from minmin.core.rows import Reduction, RowVector, map_rows, reduce_rows
from minmin.errors import InputError
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.designs import Design, blank_idle_rows
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.rows.dask_data import is_dask, load_rows
from minmin.problems.linear.rows.group import RowCount, digest
from minmin.problems.linear.rows.parts import RowDesign, RowLoss
from minmin.problems.linear.rows.session import RowSession

_MOST_LABELS, _FIRST = 3, 1000
"""Targets with more values are no labels; mostly the first rows tell."""


def check_columns(
    design: Design, loss: Loss, target: Any, sample_weight: Any, offset: Any
) -> tuple[Loss, Array, Array, Array | None]:
    """The loss, the target in its form, normalised weights and the offset; all where the rows of the design are."""
    if isinstance(design, RowDesign):
        return _check_elsewhere(design, loss, target, sample_weight, offset)
    rows, prototype = design.shape[0], design.prototype
    weights = _check_weights(sample_weight, rows, prototype)
    column = _check_column(target, "target", rows, prototype)
    if offset is not None:
        offset = as_real(offset, "offset", prototype)
        _check_offset_shape(tuple(offset.shape), rows, loss.outputs)
        require_finite(offset, "offset")
        offset = to_like(offset, prototype)
    if isinstance(weights, np.ndarray):
        column = blank_idle_rows(column, weights, fill=column[weights.argmax()])
        offset = None if offset is None else blank_idle_rows(offset, weights)
    return loss, loss.check_target(column), weights, offset


def _check_column(values: Any, name: str, rows: int, prototype: Array) -> Array:
    """A user's array with one number per row, checked."""
    column = as_real(values, name, prototype)
    if column.shape != (rows,):
        raise InputError(f"{name} has shape {tuple(column.shape)}; X has {rows} rows, so it must be ({rows},)")
    require_finite(column, name)
    return to_like(column, prototype)


def _check_weights(sample_weight: Any, rows: int, prototype: Array) -> Array:
    if sample_weight is None:
        return to_like(np.full(rows, 1.0 / rows), prototype)
    values = _check_column(as_real_numpy(sample_weight, "sample_weight"), "sample_weight", rows, np.zeros(0))
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"sample_weight[{wrong}] = {values[wrong]:g} is negative; give weights of 0 or above")
    return _normalize(values, prototype)


def _normalize(weights: Array, prototype: Array) -> Array:
    """Weights that sum to one."""
    most = reduce_rows(np.max, weights, combine="max")
    if not most > 0.0:
        raise InputError("sample_weight is zero everywhere; give at least one sample a positive weight")
    scaled = weights / float(most)  # so that the sum of huge weights does not overflow
    return map_rows(to_like, scaled / total(scaled), prototype)


def _check_offset_shape(shape: tuple[int, ...], rows: int, outputs: int) -> None:
    wanted = (rows,) if outputs == 1 else (rows, outputs)
    if shape != wanted:
        what = "one number for each row" if outputs == 1 else "one number for each row and class"
        raise InputError(f"offset has shape {tuple(shape)}; give {what}, so {wanted}")


def _check_elsewhere(
    design: RowDesign, loss: Loss, target: Any, sample_weight: Any, offset: Any
) -> tuple[Loss, Array, Array, Array | None]:
    session, prototype = design.rows_session, design.prototype
    columns = {"target": target, "sample_weight": sample_weight, "offset": offset}
    for name, column in columns.items():
        if not (isinstance(column, RowVector) and column.rows is session) and (column is not None or name == "target"):
            raise InputError(f"{name} must be a column of the same rows as X: give what was loaded with X")
    if sample_weight is None:
        weight = 1.0 / session.count
        weights = session.apply(np.full, RowCount, weight, prototype.dtype, example=np.full(1, weight, prototype.dtype))
    else:
        weights = _normalize(sample_weight, prototype)
    if offset is not None:
        _check_offset_shape(offset.shape, session.count, loss.outputs)
    as_given = session.apply(to_like, target, prototype)
    _check_labels(session, loss, as_given)
    numbers = session.load("numbers", None)  # what the user calls the partitions; empty ones count, too
    checked = session.apply(_check_target, loss, as_given, session.partition_sizes, numbers)
    given = None if offset is None else session.apply(to_like, offset, prototype)
    return RowLoss(loss, session), checked, weights, given


def load_blocks(X: Any, Y: Any, target: Any, sample_weight: Any, offset: Any) -> Any:
    """The same five; Dask collections are loaded where they are."""
    if not (is_dask(X) or is_dask(Y)):
        return X, Y, target, sample_weight, offset
    columns = {"y": target, "weight": sample_weight, "offset": offset}
    session = load_rows({"X": X, "Y": Y}, columns)
    designs = (RowDesign(session.apply(as_design, session.load(name, None), example=object())) for name in "XY")
    vectors = (None if given is None else session.load_column(name) for name, given in columns.items())
    return *designs, *vectors


def fingerprint_column(column: Array) -> tuple[Array, ...]:
    """What distinguishes a column from others in checkpoints: itself, or one digest per partition."""
    if not isinstance(column, RowVector):
        return (column,)
    session: RowSession = column.rows  # type: ignore[assignment]
    digests = session.fetch(Reduction(_digest_partitions, (column, session.partition_sizes), "list"))
    return session.order_by_partition(digests)


def _digest_partitions(column: Array, sizes: list[int]) -> list[Array]:
    return [digest([part]) for part in np.split(column, np.cumsum(sizes)[:-1])]


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
