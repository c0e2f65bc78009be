"""Reads LIBSVM, CSV and Parquet files, and folders of partitions, as tables: named columns of numbers, and a target."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.libsvm import read_libsvm
from minmin.datasets.partitions import is_partitioned, open_partitions
from minmin.errors import InputError, near_names

CSV = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
_MOST_COLUMNS = 100_000_000
_LARGEST = 1e150
"""The square of a number far above this overflows."""

_Vector = np.ndarray[Any, Any]


class Table(ABC):
    """Named columns; only the columns that are used must contain numbers."""

    file: Path
    names: Sequence[str]
    rows: int
    numbered: bool
    """Whether the names of columns are their numbers, counted from 1."""
    first_index: int | None = None
    """The index of the first column in a LIBSVM file: 1 or 0."""

    weight: _Vector | None = None
    offset: _Vector | None = None

    @abstractmethod
    def take_target(self, name: str | None) -> _Vector:
        """Remove the target from the table and return it."""

    @abstractmethod
    def matrix(self, columns: Sequence[int]) -> Any:
        """Some columns as a CSR matrix; those of partitions stay on disk."""

    def count_entries(self) -> _Vector:
        """How many numbers other than zero every column has."""
        count = len(self.names)
        return np.bincount(self.matrix(range(count)).indices, minlength=count)


def read_table(file: Path, first_index: int | None = None) -> Table:
    """Read a file, or open a folder of partitions.

    A file that is neither CSV nor Parquet by its name is LIBSVM, with columns from ``first_index`` on.
    """
    kind = find_kind(file)
    if kind is not None:
        return Frame(file, _read_arrow(file, kind))
    if is_partitioned(file):
        return _OnDisk(file, first_index)
    return _Libsvm(file, *read_libsvm(file, first_index=first_index))


def find_kind(file: Path) -> str | None:
    """The end of the name of a CSV or Parquet file; None for other files."""
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    return suffixes[-1] if suffixes and suffixes[-1] in (*CSV, *PARQUET) else None


def require_no_target(file: Path, name: str | None) -> None:
    """Raise if a user names the target of a LIBSVM file."""
    if name is not None:
        raise InputError(
            f"--target {name}: {file} is read as LIBSVM, where the target is the first number of each line; "
            "leave --target out"
        )


class _OnDisk(Table):
    def __init__(self, folder: Path, first_index: int | None):
        parts = open_partitions(folder)
        self.file, self._parts, self.first_index = folder, parts, parts.first_index
        self.weight, self.offset = parts.weight, parts.offset
        self.rows, count = parts.X.shape
        self.numbered = parts.X.names is None
        self.names = [str(i + 1) for i in range(count)] if parts.X.names is None else parts.X.names
        if first_index is not None and parts.first_index not in (None, first_index):
            raise InputError(
                f"columns of {folder} count from {parts.first_index}, but the model was fitted to columns that count "
                f"from {first_index}; predict from the LIBSVM files themselves"
            )

    def take_target(self, name: str | None) -> _Vector:
        if name is not None:
            raise InputError(f"--target {name}: the target of {self.file} was chosen when it was written; leave it out")
        return self._parts.y

    def matrix(self, columns: Sequence[int]) -> Any:
        is_all = len(columns) == len(self.names) and list(columns) == list(range(len(self.names)))
        return self._parts.X if is_all else self._parts.X[:, np.asarray(columns, dtype=np.intp)]

    def count_entries(self) -> _Vector:
        return self._parts.X.column_counts


class _Libsvm(Table):
    numbered = True

    def __init__(self, file: Path, matrix: Any, labels: _Vector, first_index: int):
        self.file, self._matrix, self._labels, self.first_index = file, matrix, labels, first_index
        self.rows, count = matrix.shape
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has the index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def take_target(self, name: str | None) -> _Vector:
        require_no_target(self.file, name)
        return self._labels

    def matrix(self, columns: Sequence[int]) -> Any:
        return self._matrix[:, columns]


class Frame(Table):
    numbered = False

    def __init__(self, file: Path, frame: Any, first_row: int = 0):
        self.file, self._frame, self.rows, self._first_row = file, frame, frame.num_rows, first_row
        self.names = list(frame.column_names)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"{file} has two columns called {twice!r}; rename one")
        if frame.num_rows == 0:
            raise InputError(f"{file} has no rows")

    def take_target(self, name: str | None) -> _Vector:
        if name is None:
            hint = near_names("", self.names)
            raise InputError(f"{self.file}: name the column to predict with --target; {hint}")
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
            raise InputError(
                f"{which} has no value in row {self._first_row + row + 1}; add a value, or leave the column out"
            )
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(f"{which} has the type {kind}, not numbers; encode it as numbers, or leave the column out")
        numbers: _Vector = column.to_numpy().astype(np.float64)
        wrong = np.flatnonzero(~(np.abs(numbers) <= _LARGEST))
        if wrong.size:
            value, row = numbers[wrong[0]], self._first_row + wrong[0] + 1
            raise InputError(f"{which} is {value:g} in row {row}; give finite numbers up to {_LARGEST:g}")
        return numbers


def _read_arrow(file: Path, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    with explain_unreadable(file):
        if kind in PARQUET:
            return pyarrow.parquet.read_table(file)
        with pa.input_stream(str(file), compression="detect") as stream:
            frame = pyarrow.csv.read_csv(stream, parse_options=pyarrow.csv.ParseOptions(delimiter=CSV[kind]))
            frame.column_names  # noqa: B018 - raises here, not later, if the header is not UTF-8
            return frame


@contextlib.contextmanager
def explain_unreadable(file: Path) -> Iterator[None]:
    """Turn pyarrow's errors into ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"cannot read {file}: {reason}") from error
