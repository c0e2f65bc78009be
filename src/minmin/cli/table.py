"""LIBSVM, CSV and Parquet files as one kind of table: numbers, column names, a target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets import load_libsvm
from minmin.errors import InputError, near_names

_CSV = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


_MOST_COLUMNS = 100_000_000
_LARGEST = 1e150
"""Numbers above this have squares that overflow."""


class Table(ABC):
    """Named columns and a target, of which only what is chosen need be numbers."""

    file: Path
    names: Sequence[str]
    target: np.ndarray[Any, Any]
    numbered: bool
    """Whether columns are named by their numbers, from 1 on."""

    @abstractmethod
    def entries(self) -> np.ndarray[Any, Any]:
        """How many entries of every column are not zero."""

    @abstractmethod
    def matrix(self, columns: list[int]) -> Any:
        """Some columns as a matrix."""


def read(file: Path, target: str | None) -> Table:
    """Read a file by what its name ends with; whatever is neither CSV nor Parquet is LIBSVM."""
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
    if kind in _CSV or kind in _PARQUET:
        return _Frame(file, _arrow(file, kind), target)
    if target is not None:
        raise InputError(f"--target {target}: {file} is read as LIBSVM, where the target begins every line")
    return _Libsvm(file)


class _Libsvm(Table):
    numbered = True

    def __init__(self, file: Path):
        self.file = file
        self._matrix, self.target = load_libsvm(file)
        count = self._matrix.shape[1]
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has an index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def entries(self) -> np.ndarray[Any, Any]:
        return np.bincount(self._matrix.indices, minlength=len(self.names))

    def matrix(self, columns: list[int]) -> Any:
        return self._matrix[:, columns]


class _Frame(Table):
    numbered = False

    def __init__(self, file: Path, frame: Any, target: str | None):
        names = list(frame.column_names)
        if target is None:
            raise InputError(f"{file} is a table: name the column to predict with --target; {near_names('', names)}")
        if target not in names:
            raise InputError(f"--target {target}: {file} has no such column; {near_names(target, names)}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{file} has two columns {twice!r}; rename one")
        if frame.num_rows == 0:
            raise InputError(f"{file} has no rows")
        self.file, self._frame = file, frame
        self.names = [name for name in names if name != target]
        self.target = _numbers(file, frame, target)

    def entries(self) -> np.ndarray[Any, Any]:
        return np.array([np.count_nonzero(_numbers(self.file, self._frame, name)) for name in self.names])

    def matrix(self, columns: list[int]) -> Any:
        chosen = [_numbers(self.file, self._frame, self.names[i]) for i in columns]
        return scipy.sparse.csr_array(np.column_stack(chosen))


def _arrow(file: Path, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if kind in _PARQUET:
            return pyarrow.parquet.read_table(file)
        with pa.input_stream(str(file), compression="detect") as stream:
            frame = pyarrow.csv.read_csv(stream, parse_options=pyarrow.csv.ParseOptions(delimiter=_CSV[kind]))
            frame.column_names  # noqa: B018 - a header in another encoding shows itself here
            return frame
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"cannot read {file}: {reason}") from error


def _numbers(file: Path, arrow: Any, name: str) -> np.ndarray[Any, Any]:
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
    found: np.ndarray[Any, Any] = column.to_numpy().astype(np.float64)
    if not (np.abs(found) <= _LARGEST).all():
        row = int(np.flatnonzero(~(np.abs(found) <= _LARGEST))[0])
        raise InputError(
            f"column {name!r} of {file} is {found[row]:g} in row {row + 1}; give finite numbers up to {_LARGEST:g}"
        )
    return found
