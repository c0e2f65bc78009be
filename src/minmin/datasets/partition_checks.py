"""What is checked of every partition, when it is written and when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minmin.errors import InputError

Vector = np.ndarray[Any, Any]

_AT_A_TIME = 1 << 20


def check_partition(arrays: Mapping[str, Vector], size: Mapping[str, int], head: Mapping[str, Any], where: str) -> None:
    """Raise if a partition is not what its description says, or if SciPy could read outside of its arrays.

    ``size`` has the numbers of rows and of stored numbers; ``where`` begins every message.
    """
    rows, columns = size["rows"], head["columns"]
    if head["storage"] == "csr":
        _require_shape(arrays["indptr"], "indptr", (rows + 1,), where)
        for name in ("data", "indices"):
            _require_shape(arrays[name], name, (size["stored"],), where)
        _require_dtype(arrays["data"], "data", head["dtype"], where)
        if arrays["indices"].dtype != arrays["indptr"].dtype or arrays["indices"].dtype not in (np.int32, np.int64):
            kinds = f"{arrays['indices'].dtype} and {arrays['indptr'].dtype}"
            raise InputError(f"{where}: indices and indptr are {kinds}; both must be int32, or both int64")
        check_sparse(arrays["data"], arrays["indices"], arrays["indptr"], columns, where)
    else:
        _require_shape(arrays["X"], "X", (rows, columns), where)
        _require_dtype(arrays["X"], "X", head["dtype"], where)
        check_dense(arrays["X"], where)
    for name in ("y", "weight", "offset"):
        if name in arrays:
            _require_shape(arrays[name], name, (rows,), where)
            check_column(arrays[name], name, where)


def _require_shape(array: Vector, name: str, shape: tuple[int, ...], where: str) -> None:
    if array.shape != shape:
        raise InputError(f"{where}: {name} has shape {array.shape}; it must be {shape}")


def _require_dtype(array: Vector, name: str, dtype: str, where: str) -> None:
    if array.dtype.name != dtype:
        raise InputError(f"{where}: {name} is {array.dtype}; it must be {dtype}")


def check_sparse(data: Vector, indices: Vector, ends: Vector, columns: int, where: str) -> None:
    if ends[0] != 0 or ends[-1] != len(data) or (ends[1:] < ends[:-1]).any():
        raise InputError(f"{where}: indptr must ascend from 0 to the number of stored numbers, {len(data)}")
    for start in range(0, len(data), _AT_A_TIME):
        stop = min(start + _AT_A_TIME, len(data))
        wrong = np.flatnonzero(~np.isfinite(data[start:stop]))
        if len(wrong):
            place = start + int(wrong[0])
            raise InputError(
                f"{where}, row {_row_of(place, ends)}: column {indices[place]} is {data[place]}; give finite numbers"
            )
        some = indices[start:stop]
        outside = np.flatnonzero((some < 0) | (some >= columns))
        if len(outside):
            place = start + int(outside[0])
            raise InputError(f"{where}, row {_row_of(place, ends)}: column {indices[place]} of {columns} columns")
        first = max(start - 1, 0)
        falls = first + 1 + np.flatnonzero(indices[first + 1 : stop] <= indices[first : stop - 1])
        falls = falls.astype(ends.dtype)  # of another dtype, all ends are converted
        falls = falls[ends[np.searchsorted(ends, falls)] != falls]  # where a row starts, columns may fall
        if len(falls):
            raise InputError(f"{where}, row {_row_of(int(falls[0]), ends)}: column numbers must ascend in a row")


def _row_of(place: int, ends: Vector) -> int:
    return int(np.searchsorted(ends, place, side="right")) - 1


def check_dense(X: Vector, where: str) -> None:
    at_a_time = max(_AT_A_TIME // X.shape[1], 1)
    for start in range(0, X.shape[0], at_a_time):
        some = X[start : start + at_a_time]
        if not np.isfinite(some).all():
            row, column = np.argwhere(~np.isfinite(some))[0].tolist()
            raise InputError(f"{where}, row {start + row}: column {column} is {some[row, column]}; give finite numbers")


def check_column(column: Vector, name: str, where: str) -> None:
    if column.dtype.kind == "U" and name == "y":
        return
    if column.dtype.kind not in "biuf":
        raise InputError(f"{where}: {name} has dtype {column.dtype}; give numbers{' or text' * (name == 'y')}")
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        raise InputError(f"{where}, row {wrong[0]}: {name} is {column[wrong[0]]}; give finite numbers")
    if name == "weight" and (column < 0).any():
        row = int(np.flatnonzero(column < 0)[0])
        raise InputError(f"{where}, row {row}: weight is {column[row]:g}; give weights of 0 or above")
