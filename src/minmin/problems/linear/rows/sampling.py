"""Samples of rows, drawn where the rows are: only running sums and one small matrix travel."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.core.arrays import namespace_of, to_numpy
from minmin.core.rows import Reduction
from minmin.problems.linear.designs import DenseDesign, Design
from minmin.problems.linear.margin_hessian import MarginHessian
from minmin.problems.linear.rows.design import RowDesign
from minmin.problems.linear.rows.group import PerGroup
from minmin.problems.linear.rows.loss import RowHessian

_Vector = np.ndarray[Any, Any]


def sample_elsewhere(
    h: RowHessian, y_design: Design, x_design: Design, count: int, columns: _Vector | None
) -> _Vector | None:
    """What :func:`minmin.problems.linear.sampling.sample_gram` returns, from the same rows."""
    assert isinstance(x_design, RowDesign)
    assert isinstance(y_design, RowDesign)
    session = x_design.rows_session
    args = h.value, y_design.value, x_design.value, columns
    if count >= session.count:
        return _add(session.fetch(Reduction(_gram_of_all, args, "list")))
    per_group = session.fetch(Reduction(_sum_by_partition, (h.value, session.partition_sizes), "list"))
    sums = np.empty(len(session.order))
    sums[session.order] = np.concatenate(per_group)
    ends = np.cumsum(sums)
    if not 0.0 < ends[-1] < np.inf:
        return None
    places = (np.arange(count) + 0.5) / count * ends[-1]
    owners = np.searchsorted(ends, places)
    of_partition = [places[owners == number] - (ends[number] - sums[number]) for number in session.order]
    numbers = iter(of_partition)
    local_places = PerGroup([[next(numbers) for _ in sizes] for sizes in session.sizes])
    step = ends[-1] / count
    return _add(session.fetch(Reduction(_gram_at, (*args, session.partition_sizes, local_places, step), "list")))


def sum_curvature(h: MarginHessian) -> _Vector:
    """The second derivative of every row; summed over its margins if it has several."""
    weights = to_numpy(h.diagonal).astype(np.float64)
    return np.asarray(weights.sum(axis=1) if weights.ndim > 1 else weights)


def joint_gram(h: MarginHessian, y_design: Design, x_design: Design, rows: _Vector, columns: _Vector | None) -> _Vector:
    """The Hessian of some rows for the columns of Y and some of X; ``h`` is that of these rows."""
    in_y, in_x = y_design.sample(rows), x_design.sample(rows, columns)
    joint = DenseDesign(namespace_of(in_x).concat([in_y, in_x], axis=1))
    return to_numpy(h.gram(joint)).astype(np.float64)


def _sum_by_partition(h: MarginHessian, sizes: list[int]) -> _Vector:
    return np.array([part.sum() for part in np.split(sum_curvature(h), np.cumsum(sizes)[:-1])])


def _gram_of_all(h: MarginHessian, y_design: Design, x_design: Design, columns: _Vector | None) -> _Vector:
    return joint_gram(h, y_design, x_design, np.arange(x_design.shape[0]), columns)


def _gram_at(
    h: MarginHessian,
    y_design: Design,
    x_design: Design,
    columns: _Vector | None,
    sizes: list[int],
    places: list[_Vector],
    step: float,
) -> _Vector | None:
    """The Hessian of the rows at these places in the running sum of every partition."""
    weights, start, drawn = sum_curvature(h), 0, []
    for size, of_partition in zip(sizes, places, strict=True):
        running = np.cumsum(weights[start : start + size])
        # The last place may lie behind the end, by rounding.
        drawn.append(start + np.minimum(np.searchsorted(running, of_partition), size - 1))
        start += size
    rows = np.concatenate(drawn)
    of_rows = h.of_rows(rows, step / weights[rows])
    return None if of_rows is None else joint_gram(of_rows, y_design, x_design, rows, columns)


def _add(matrices: list[_Vector | None]) -> _Vector | None:
    return None if matrices[0] is None else np.asarray(sum(matrices))  # type: ignore[arg-type]
