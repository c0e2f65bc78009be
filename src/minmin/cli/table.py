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
    def take_target(self, name: str | None) -> _Vector:
        """The numbers to predict, which are then no column of the table."""

    @abstractmethod
    def matrix(self, columns: Sequence[int]) -> Any:
        """Some columns as a CSR matrix."""


def read_table(file: Path, first_index: int | None = None) -> Table:
    """The table in a file; whatever is neither CSV nor Parquet by its name is LIBSVM, counted from ``first_index``."""
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    if suffixes and suffixes[-1] in (*_CSV, *PARQUET):
        return _Frame(file, _read_arrow(file, suffixes[-1]))
    return _Libsvm(file, *read_libsvm(file, first_index=first_index))


class _Libsvm(Table):
    numbered = True

    def __init__(self, file: Path, matrix: Any, labels: _Vector, first_index: int):
        self.file, self._matrix, self._labels, self.first_index = file, matrix, labels, first_index
        self.rows, count = matrix.shape
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has an index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def take_target(self, name: str | None) -> _Vector:
        if name is not None:
            raise InputError(f"--target {name}: {self.file} is read as LIBSVM, where the target begins every line")
        return self._labels

    def matrix(self, columns: Sequence[int]) -> Any:
        return self._matrix[:, columns]


class _Frame(Table):
    numbered = False

    def __init__(self, file: Path, frame: Any):
        self.file, self._frame, self.rows = file, frame, frame.num_rows
        self.names = list(frame.column_names)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"{file} has two columns {twice!r}; rename one")
        if frame.num_rows == 0:
            raise InputError(f"{file} has no rows")

    def take_target(self, name: str | None) -> _Vector:
        if name is None:
            hint = near_names("", self.names)
            raise InputError(f"{self.file} is a table: name the column to predict with --target; {hint}")
        if name not in self.names:
            raise InputError(f"--target {name}: {self.file} has no such column; {near_names(name, self.names)}")
        self.names = [other for other in self.names if other != name]
        return self._numbers(name)

    def matrix(self, columns: Sequence[int]) -> Any:
        return scipy.sparse.csr_array(np.column_stack([self._numbers(self.names[i]) for i in columns]))

    def _numbers(self, name: str) -> _Vector:
        import pyarrow as pa
        import pyarrow.compute

        column, which = self._frame[name], f"column {name!r} of {self.file}"
        if column.null_count:
            row = pyarrow.compute.index(column.is_null(), True).as_py()
            raise InputError(f"{which} has no value in row {row + 1}; fill it in, or leave the column out")
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(f"{which} holds {kind}, not numbers; encode it, or leave the column out")
        found: _Vector = column.to_numpy().astype(np.float64)
        wrong = np.flatnonzero(~(np.abs(found) <= _LARGEST))
        if wrong.size:
            value, row = found[wrong[0]], wrong[0] + 1
            raise InputError(f"{which} is {value:g} in row {row}; give finite numbers up to {_LARGEST:g}")
        return found


def _read_arrow(file: Path, kind: str) -> Any:
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
