"""LIBSVM, CSV and Parquet files as one kind of table: column names and numbers, and a target beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.libsvm import read_libsvm
from minmin.errors import InputError, near_names

_CSV = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


_MOST_COLUMNS = 100_000_000
_LARGEST = 1e150
"""Numbers above this have squares that overflow."""


_Vector = np.ndarray[Any, Any]


class Table(ABC):
    """Named columns, of which only those that are chosen need be numbers."""

    file: Path
    names: Sequence[str]
    rows: int
    numbered: bool
    """Whether columns are named by their numbers, from 1 on."""
    first_index: int | None = None
    """What a LIBSVM file calls its first column: 1, or 0."""

    @abstractmethod
    def entries(self) -> _Vector:
        """How many entries of every column are not zero."""

    @abstractmethod
    def matrix(self, columns: list[int]) -> Any:
        """Some columns as a matrix."""


def read(file: Path, target: str | None) -> tuple[Table, _Vector]:
    """The columns of a file and its target; whatever is neither CSV nor Parquet by its name is LIBSVM."""
    kind = _kind(file)
    if kind is None:
        if target is not None:
            raise InputError(f"--target {target}: {file} is read as LIBSVM, where the target begins every line")
        matrix, labels, first_index = read_libsvm(file)
        return _Libsvm(file, matrix, first_index), labels
    frame = _arrow(file, kind)
    names = list(frame.column_names)
    if target is None:
        raise InputError(f"{file} is a table: name the column to predict with --target; {near_names('', names)}")
    if target not in names:
        raise InputError(f"--target {target}: {file} has no such column; {near_names(target, names)}")
    table = _Frame(file, frame, target)
    return table, _numbers(file, frame, target)


def read_columns(file: Path, first_index: int | None) -> Table:
    """The columns of a file whose target, if it has one, does not matter; ``first_index`` is for LIBSVM files."""
    kind = _kind(file)
    if kind is not None:
        return _Frame(file, _arrow(file, kind))
    matrix, _, first_index = read_libsvm(file, first_index=first_index)
    return _Libsvm(file, matrix, first_index)


def _kind(file: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    return suffixes[-1] if suffixes and suffixes[-1] in (*_CSV, *PARQUET) else None


class _Libsvm(Table):
    numbered = True

    def __init__(self, file: Path, matrix: Any, first_index: int):
        self.file, self._matrix, self.first_index = file, matrix, first_index
        self.rows, count = matrix.shape
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has an index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def entries(self) -> _Vector:
        return np.bincount(self._matrix.indices, minlength=len(self.names))

    def matrix(self, columns: list[int]) -> Any:
        return self._matrix[:, columns]


class _Frame(Table):
    numbered = False

    def __init__(self, file: Path, frame: Any, target: str | None = None):
        names = list(frame.column_names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{file} has two columns {twice!r}; rename one")
        if frame.num_rows == 0:
            raise InputError(f"{file} has no rows")
        self.file, self._frame, self.rows = file, frame, frame.num_rows
        self.names = [name for name in names if name != target]

    def entries(self) -> _Vector:
        return np.array([np.count_nonzero(_numbers(self.file, self._frame, name)) for name in self.names])

    def matrix(self, columns: list[int]) -> Any:
        chosen = [_numbers(self.file, self._frame, self.names[i]) for i in columns]
        return scipy.sparse.csr_array(np.column_stack(chosen))


def _arrow(file: Path, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if kind in PARQUET:
            return pyarrow.parquet.read_table(file)
        with pa.input_stream(str(file), compression="detect") as stream:
            frame = pyarrow.csv.read_csv(stream, parse_options=pyarrow.csv.ParseOptions(delimiter=_CSV[kind]))
            frame.column_names  # noqa: B018 - a header in another encoding shows itself here
            return frame
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"cannot read {file}: {reason}") from error


def _numbers(file: Path, arrow: Any, name: str) -> _Vector:
    import pyarrow as pa
    import pyarrow.compute

    column = arrow[name]
    if column.null_count:
        row = pyarrow.compute.index(column.is_null(), True).as_py()
        raise InputError(
            f"column {name!r} of {file} has no value in row {row + 1}; fill it in, or leave the column out"
        )
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"column {name!r} of {file} holds {kind}, not numbers; encode it, or leave the column out")
    found: _Vector = column.to_numpy().astype(np.float64)
    if not (np.abs(found) <= _LARGEST).all():
        row = int(np.flatnonzero(~(np.abs(found) <= _LARGEST))[0])
        raise InputError(
            f"column {name!r} of {file} is {found[row]:g} in row {row + 1}; give finite numbers up to {_LARGEST:g}"
        )
    return found
