"""Writes and opens folders of partitions: rows on disk, for data that are larger than memory."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.partition_checks import check_partition
from minmin.datasets.partitioned_matrix import PartitionedMatrix, Vector, make_csr
from minmin.errors import InputError

DESCRIPTION = "partitions.json"
_FORMAT, _VERSION = "minmin partitions", 1
_PER_ROW = ("y", "weight", "offset")


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
    present = [name for name in _PER_ROW if head[name]]
    partitions, columns = [], dict[str, list[Vector]]()
    for number, expected in enumerate(head["partitions"]):
        where = f"{folder}, partition {number}"
        arrays = {name: _map(folder, number, name, where) for name in (*_matrix_names(head["storage"]), *present)}
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


class PartitionWriter:
    """Writes one partition after another to a hidden folder, which :meth:`finish` renames.

    Used in a ``with`` statement, it removes the hidden folder where it has not finished.
    """

    def __init__(self, folder: Any):
        self._folder = Path(folder)
        if self._folder.exists():
            raise InputError(f"{self._folder} exists; give the name of a new folder")
        self._draft = self._folder.with_name(f".{self._folder.name}.{secrets.token_hex(4)}.tmp")
        self._head: dict[str, Any] = {}
        self._sizes: list[dict[str, int]] = []
        self.columns = 0
        """The number of columns of the widest partition."""
        self.least_index = np.iinfo(np.int64).max
        """The least column number that any CSR partition has."""

    @property
    def count(self) -> int:
        return len(self._sizes)

    def __enter__(self) -> PartitionWriter:
        self._draft.mkdir(parents=True)
        return self

    def __exit__(self, *_: Any) -> None:
        shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, X: Any, y: Vector, weight: Vector | None = None, offset: Vector | None = None) -> None:
        """Write a partition. If some have fewer columns than others, the last ones of those are zero."""
        per_row = {"y": y, "weight": weight, "offset": offset}
        storage = "csr" if scipy.sparse.issparse(X) else "dense"
        head = {"storage": storage, "dtype": X.dtype.name, **{name: per_row[name] is not None for name in _PER_ROW}}
        self._head = self._head or head
        for name, value in head.items():
            if value != self._head[name]:
                raise InputError(
                    f"chunk {self.count}: {name} is {value}, but {self._head[name]} in the chunks before; "
                    "give the same for all chunks"
                )
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if storage == "csr" else {"X": X}
        if storage == "csr" and len(X.indices):
            self.least_index = min(self.least_index, int(X.indices.min()))
        arrays |= {name: column for name, column in per_row.items() if column is not None}
        size = {"rows": X.shape[0], "stored": len(X.data) if storage == "csr" else X.size}
        check_partition(arrays, size, {**head, "columns": X.shape[1]}, f"chunk {self.count}")
        for name, array in arrays.items():
            with (self._draft / _file_name(self.count, name)).open("xb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        self._sizes.append(size)
        self.columns = max(self.columns, X.shape[1])

    def finish(self, names: Sequence[str] | None = None, *, first_index: int | None = None) -> None:
        """Describe the folder and give it its name. Columns are moved so that ``first_index`` becomes the first."""
        if not self.count:
            raise InputError("there are no chunks; give at least one")
        if first_index:
            self._shift_columns(first_index)
        if names is not None:
            names = _check_names(names, self.columns)
        head = {"format": _FORMAT, "version": _VERSION, **self._head, "columns": self.columns, "names": names}
        text = json.dumps({**head, "first_index": first_index, "partitions": self._sizes}, indent=1)
        with (self._draft / DESCRIPTION).open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            self._draft.rename(self._folder)
        except OSError as error:
            raise InputError(f"{self._folder} cannot be created: {error.strerror}") from error

    def _shift_columns(self, by: int) -> None:
        for number in range(self.count):
            indices = np.load(self._draft / _file_name(number, "indices"), mmap_mode="r+", allow_pickle=False)
            indices -= by
            indices.flush()
        self.columns -= by


def _check_chunk(chunk: Any, number: int, expected_columns: int) -> tuple[Any, ...]:
    """X in CSR or as an array, and the columns beside it, from what a user gave."""
    if not isinstance(chunk, tuple) or not 2 <= len(chunk) <= 4:
        raise InputError(f"chunk {number} is not a tuple (X, y), (X, y, weight) or (X, y, weight, offset)")
    X, y, *others = chunk
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        index_dtype = np.int32 if max(X.nnz, X.shape[1]) <= np.iinfo(np.int32).max else np.int64
        X.indices, X.indptr = X.indices.astype(index_dtype, copy=False), X.indptr.astype(index_dtype, copy=False)
    else:
        X = np.asarray(X)
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


def _check_names(names: Sequence[str], columns: int) -> list[str]:
    listed = [str(name) for name in names]
    if len(listed) != columns:
        raise InputError(f"there are {len(listed)} names, but X has {columns} columns")
    if len(set(listed)) < len(listed):
        seen: set[str] = set()
        twice = next(name for name in listed if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"two columns are called {twice!r}; rename one")
    return listed


def _read_description(folder: Path) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{folder} is not a finished folder of partitions: {DESCRIPTION} cannot be read ({error.strerror})"
        ) from error
    except ValueError as error:
        raise InputError(f"{folder / DESCRIPTION} is damaged: {error}") from error
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InputError(f"{folder / DESCRIPTION} does not describe partitions")
    if head.get("version") != _VERSION:
        raise InputError(f"{folder} has version {head.get('version')} of the format; this minmin reads {_VERSION}")
    keys = {"storage", "dtype", "columns", "names", "first_index", "partitions", *_PER_ROW}
    if missing := keys - set(head):
        raise InputError(f"{folder / DESCRIPTION} is damaged: it lacks {min(missing)!r}")
    if not head["partitions"]:
        raise InputError(f"{folder / DESCRIPTION} is damaged: it lists no partition")
    return head


def _matrix_names(storage: str) -> tuple[str, ...]:
    return ("data", "indices", "indptr") if storage == "csr" else ("X",)


def _file_name(number: int, name: str) -> str:
    return f"{number:05d}-{name}.npy"


def _map(folder: Path, number: int, name: str, where: str) -> Vector:
    file = folder / _file_name(number, name)
    try:
        if name in _PER_ROW:
            column: Vector = np.load(file, allow_pickle=False)
            return column
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{where}: {file.name} is missing, truncated or damaged: {reason}") from error
