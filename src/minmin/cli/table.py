"""Reads LIBSVM, CSV and Parquet files as tables: named columns, and a target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.cli.cells import TEXT, Cells, Vector
from minmin.cli.delimited import CsvFile
from minmin.datasets.libsvm import read_libsvm
from minmin.errors import InputError, near_names

_CSV = (".csv", ".tsv")
PARQUET = (".parquet", ".pq")
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_INDEX = "__index_level_"
"""The name of a column in which pandas stores the index of a frame begins with this."""
_MOST_COLUMNS = 100_000_000

Remedy = Callable[[str], str]
"""What a user can do about a wrong value in the column of this name; the end of an error message."""


def _how_to_do_without(name: str) -> str:
    return "leave the column out ('minmin fit' takes text columns)"


class Table(ABC):
    """Named columns; only the columns that are used must contain numbers or text."""

    file: Path
    names: Sequence[str]
    rows: int
    numbered: bool
    """Whether the names of columns are their numbers, counted from 1."""
    first_index: int | None = None
    """The index of the first column in a LIBSVM file: 1 or 0."""
    format: str = ""
    """How the file is written, where its name does not say it."""
    notes: Sequence[str] = ()
    """What a user should know about the file."""

    @abstractmethod
    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        """Remove the target from the table and return it."""

    @abstractmethod
    def matrix(self, columns: Sequence[int]) -> Any:
        """Some columns as a CSR matrix."""


def read_table(file: Path, first_index: int | None = None, delimiter: str | None = None) -> Table:
    """Read a file; one that is neither CSV nor Parquet by its name is LIBSVM, with columns from ``first_index`` on.

    With a delimiter, a file is CSV whatever its name is.
    """
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _SPREADSHEETS:
        raise InputError(f"{file} is a spreadsheet; save its sheet as CSV, and give that file")
    if suffix in PARQUET:
        return Frame(file, ParquetFile(file))
    if suffix in _CSV or delimiter is not None:
        return Frame(file, CsvFile(file, delimiter))
    try:
        return Libsvm(file, *read_libsvm(file, first_index=first_index))
    except InputError as error:
        if ", line 1:" in str(error):  # a header, most likely
            raise InputError(f"{error}; a table with a header must be called .csv, .tsv or .parquet") from error
        raise


class Libsvm(Table):
    numbered = True

    def __init__(self, file: Path, matrix: Any, labels: Vector, first_index: int):
        self.file, self._matrix, self._labels, self.first_index = file, matrix, labels, first_index
        self.rows, count = matrix.shape
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has the index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        if name is not None:
            raise InputError(
                f"--target {name}: {self.file} is read as LIBSVM, where the target is the first number of each line; "
                "leave --target out"
            )
        return self._labels

    def matrix(self, columns: Sequence[int]) -> Any:
        return self._matrix[:, columns]


class Frame(Table):
    """A CSV or Parquet file."""

    numbered = False

    def __init__(self, file: Path, source: CsvFile | ParquetFile):
        self.file, self._source, self._frame = file, source, source.read()
        self.rows = self._frame.num_rows
        if isinstance(source, CsvFile) and source.format != (("\t" if ".tsv" in file.suffixes else ","), "."):
            self.format = str(source.format)
        self.names = [name for name in self._frame.column_names if name]
        self.notes = [
            f"column {number} of {file} has no name, and is left out; to use it, name it in the first line"
            for number, name in enumerate(self._frame.column_names, 1)
            if not name
        ]
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(
                f"{file} has two columns called {twice!r}; rename one, or add a first line with names if there is none"
            )
        if self.rows == 0:
            raise InputError(f"{file} has no rows")

    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        if name is None:
            hint = near_names("", self.names)
            raise InputError(f"{self.file}: name the column to predict with --target; {hint}")
        return read(self.take(name, "--target"))

    def take(self, name: str, option: str) -> Cells:
        """Remove a column from the table and return it; ``option`` names it in errors."""
        if name not in self.names:
            raise InputError(f"{option} {name}: {self.file} has no such column; {near_names(name, self.names)}")
        self.names = [other for other in self.names if other != name]
        return self.cells(name)

    def cells(self, name: str) -> Cells:
        return Cells(self._frame[name], name, self.file)

    def holds(self, column: int) -> str:
        """What a column holds, one of the words of ``cells``."""
        return self.cells(self.names[column]).holds

    def take_as_text(self, names: Sequence[str]) -> None:
        """From now on, some columns are text, as it is written in the file."""
        if not names:
            return
        as_text = self._source.read_text(names)
        for name in names:
            self._frame = self._frame.set_column(self._frame.column_names.index(name), name, as_text[name])

    def matrix(self, columns: Sequence[int], remedy: Remedy = _how_to_do_without) -> Any:
        names = [self.names[column] for column in columns]
        return scipy.sparse.csr_array(np.column_stack([self.cells(name).numbers(remedy(name)) for name in names]))

    def frame(self, columns: Sequence[int], remedy: Remedy) -> Any:
        """Some columns as a pyarrow table of numbers and text."""
        import pyarrow as pa

        chosen = {}
        for name in (self.names[i] for i in columns):
            cells = self.cells(name)
            chosen[name] = cells.column if cells.holds == TEXT else pa.array(cells.numbers(remedy(name)))
        return pa.table(chosen)


class ParquetFile:
    """A Parquet file, of which columns can be read as they are or as text."""

    def __init__(self, file: Path):
        self.file = file

    def read(self) -> Any:
        """The whole table."""
        import pyarrow as pa
        import pyarrow.parquet

        try:
            table = pyarrow.parquet.read_table(self.file)
        except (pa.ArrowException, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise InputError(f"cannot read {self.file}: {reason}") from error
        return table.select([name for name in table.column_names if not name.startswith(_INDEX)])

    def read_text(self, names: Sequence[str]) -> Any:
        """Some columns as text."""
        import pyarrow as pa

        table = self.read().select(list(names))
        return pa.table({name: _to_text(table[name]) for name in names})


def _to_text(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string())
