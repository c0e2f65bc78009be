"""Writes and opens folders of partitions: rows on disk, for data that are larger than memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.partition_checks import check_partition
from minmin.datasets.partition_writer import DESCRIPTION, FORMAT, PER_ROW, VERSION, PartitionWriter, file_name
from minmin.datasets.partitioned_matrix import PartitionedMatrix, Vector, make_csr
from minmin.datasets.sparse_checks import read_csr
from minmin.errors import InputError, require_values


@dataclass(frozen=True)
class Partitions:
    """What :func:`open_partitions` returns.

    Attributes
    ----------
    folder : Path
    X : PartitionedMatrix
        Mapped files: a page of them is in memory only while there is room.
    y : array of shape (rows,)
    weight, offset : arrays of shape (rows,), or None
    first_index : int or None
        The index of the first column in the LIBSVM files that the rows are from: 0 or 1.
    """

    folder: Path
    X: PartitionedMatrix
    y: Vector
    weight: Vector | None = None
    offset: Vector | None = None
    first_index: int | None = None


def write_partitions(folder: Any, chunks: Iterable[Any], *, names: Sequence[str] | None = None) -> None:
    """Write chunks of rows to a new folder; every chunk becomes a partition.

    The folder appears when all is written. If that fails, nothing is left.

    Parameters
    ----------
    folder : str or path
        It must not exist.
    chunks : iterable of tuples
        (X, y), (X, y, weight) or (X, y, weight, offset); a weight of None stands for none. X is an array or
        scipy.sparse, with the same columns in all chunks, and y has numbers or text. One chunk at a time is in memory.
        Between 10 and 200 MB a chunk are a good size.
    names : sequence of str, optional
        The names of the columns.
    """
    with PartitionWriter(folder) as writer:
        for chunk in chunks:
            writer.add(*_check_chunk(chunk, writer.count, writer.columns))
        writer.finish(names)


def open_partitions(folder: Any) -> Partitions:
    """Open a folder that :func:`write_partitions` or ``minmin partition`` has written.

    All numbers are read once, to check them. Nothing in the folder is run.

    Raises
    ------
    InputError
        If the folder is not complete, or if numbers in it are missing or not finite. It names the partition and row.
    """
    folder = Path(folder)
    head = _read_description(folder)
    present = [name for name in PER_ROW if head[name]]
    of_matrix = ("data", "indices", "indptr") if head["storage"] == "csr" else ("X",)
    partitions, columns = [], dict[str, list[Vector]]()
    for number, expected in enumerate(head["partitions"]):
        where = f"{folder}, partition {number}"
        arrays = {name: _map(folder, number, name, where) for name in (*of_matrix, *present)}
        check_partition(arrays, expected, head, where)
        if head["storage"] == "csr":
            partitions.append(make_csr(arrays["data"], arrays["indices"], arrays["indptr"], head["columns"]))
        else:
            partitions.append(arrays["X"])
        for name in present:
            columns.setdefault(name, []).append(arrays[name])
    per_row = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Partitions(folder, PartitionedMatrix(partitions, head["names"]), **per_row, first_index=head["first_index"])


def is_partitioned(folder: Path) -> bool:
    """Whether this is a finished folder of partitions."""
    return (folder / DESCRIPTION).is_file()


def _check_chunk(chunk: Any, number: int, expected_columns: int) -> tuple[Any, ...]:
    """X in CSR or as an array, and the columns beside it, from what a user gave."""
    if not isinstance(chunk, tuple) or not 2 <= len(chunk) <= 4:
        raise InputError(f"chunk {number} is not a tuple (X, y), (X, y, weight) or (X, y, weight, offset)")
    for name, given in zip(("X", *PER_ROW), chunk, strict=False):
        require_values(given, f"chunk {number}: {name}")
    X, y, *others = chunk
    X = read_csr(X, f"chunk {number}: X") if scipy.sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise InputError(f"chunk {number}: X has shape {X.shape} and dtype {X.dtype}; give a matrix of real numbers")
    if expected_columns not in (0, X.shape[1]):
        raise InputError(f"chunk {number} has {X.shape[1]} columns, and the chunks before have {expected_columns}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    columns = [None if column is None else np.asarray(column, dtype=np.float64) for column in others]
    target = np.asarray(y)
    if target.dtype == object and all(isinstance(label, str) for label in target.tolist()):
        target = target.astype(str)
    return X, target, *columns


def _read_description(folder: Path) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{folder} is not a finished folder of partitions: {DESCRIPTION} cannot be read ({error.strerror})"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / DESCRIPTION} is damaged: {error}") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(f"{folder / DESCRIPTION} does not describe partitions")
    if head.get("version") != VERSION:
        raise InputError(f"{folder} has version {head.get('version')} of the format; this minmin reads {VERSION}")
    keys = {"storage", "dtype", "columns", "names", "first_index", "partitions", *PER_ROW}
    if missing := keys - set(head):
        raise InputError(f"{folder / DESCRIPTION} is damaged: it lacks {min(missing)!r}")
    if wrong := _find_damage(head):
        raise InputError(f"{folder / DESCRIPTION} is damaged: {wrong}")
    return head


def _find_damage(head: dict[str, Any]) -> str:
    """What is wrong with the values of a description; empty if nothing is."""
    columns, names, partitions = head["columns"], head["names"], head["partitions"]
    if not partitions:
        return "it lists no partition"
    if head["storage"] not in ("csr", "dense") or head["dtype"] not in ("float32", "float64"):
        return f"storage is {head['storage']!r} and dtype {head['dtype']!r}"
    if not _is_count(columns) or (names is not None and not _are_names(names, columns)):
        return f"columns is {columns!r}, and names are not as many different texts"
    if not isinstance(partitions, list) or not all(isinstance(one, dict) for one in partitions):
        return "partitions is not a list of objects"
    if not all(_is_count(one.get(key)) for one in partitions for key in ("rows", "stored")):
        return "some partition lacks the number of its rows or of its stored numbers"
    return next((f"{name!r} is neither true nor false" for name in PER_ROW if not isinstance(head[name], bool)), "")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= sys.maxsize


def _are_names(names: Any, columns: int) -> bool:
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return texts and len(names) == columns == len(set(names))


def _map(folder: Path, number: int, name: str, where: str) -> Vector:
    file = folder / file_name(number, name)
    try:
        if name in PER_ROW:
            column: Vector = np.load(file, allow_pickle=False)
            return column
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{where}: {file.name} is missing, truncated or damaged: {reason}") from error
