"""Tables: named columns and a target, from LIBSVM, CSV and Parquet files."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.cli.cells import Cells, Vector
from minmin.cli.delimited import CsvFile
from minmin.cli.opening import explain_unreadable, is_pipe, open_file
from minmin.errors import InputError, near_names

_CSV = (".csv", ".tsv")
PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
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
    kind: str
    """What the file is, in messages."""
    weight: Vector | None = None
    offset: Vector | None = None
    """Weights and offsets of the rows, if a folder of partitions has them."""

    @abstractmethod
    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        """Remove the target from the table and return it."""

    @abstractmethod
    def matrix(self, columns: Sequence[int]) -> Any:
        """Some columns as a CSR matrix; those of partitions stay on disk."""

    def count_entries(self) -> Vector:
        """How many numbers other than zero every column has."""
        count = len(self.names)
        return np.bincount(self.matrix(range(count)).indices, minlength=count)


def find_source(file: Path, form: str | None = None, delimiter: str | None = None) -> CsvFile | ParquetFile | None:
    """What reads a CSV, Parquet or Arrow file; None for a LIBSVM file. Without a ``form``, its name says what it is."""
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    suffix = f".{form}" if form else suffixes[-1] if suffixes else ""
    if suffix in _SPREADSHEETS:
        raise InputError(f"{file} is a spreadsheet; save its sheet as CSV, and give that file")
    if suffix in (*PARQUET, *_ARROW) and is_pipe(file):
        raise InputError(
            f"cannot read {file}: Parquet and Arrow files are read from their end, which a pipe does not have; write a "
            "file first, or give CSV"
        )
    if suffix in PARQUET:
        return ParquetFile(file)
    if suffix in _ARROW:
        return ArrowFile(file)
    is_csv = suffix in _CSV or (delimiter is not None and form is None)
    return CsvFile(file, delimiter) if is_csv else None


def require_no_target(file: Path, name: str | None) -> None:
    """Raise if a user names the target of a LIBSVM file."""
    if name is not None:
        raise InputError(
            f"--target {name}: {file} is read as LIBSVM, where the target is the first number of each line; "
            "leave --target out"
        )


class Libsvm(Table):
    numbered = True
    kind = "read as LIBSVM"

    def __init__(self, file: Path, matrix: Any, labels: Vector, first_index: int):
        self.file, self._matrix, self._labels, self.first_index = file, matrix, labels, first_index
        self.rows, count = matrix.shape
        if count > _MOST_COLUMNS:
            raise InputError(f"{file} has the index {count}; more than {_MOST_COLUMNS} columns are not supported")
        self.names = [str(i + 1) for i in range(count)]

    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        require_no_target(self.file, name)
        return self._labels

    def matrix(self, columns: Sequence[int]) -> Any:
        return self._matrix[:, columns]


class Frame(Table):
    """A CSV or Parquet file."""

    numbered = False
    kind = "a file with column names"

    def __init__(self, file: Path, source: CsvFile | ParquetFile, some_rows: Any = None, first_row: int = 0):
        self.file, self._source, self._first_row = file, source, first_row
        self._frame = source.read() if some_rows is None else some_rows
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
            remedy = ", or add a first line with names if there is none" if isinstance(source, CsvFile) else ""
            raise InputError(f"{file} has two columns called {twice!r}; rename one{remedy}")
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
        return Cells(self._frame[name], name, self.file, self._first_row, self._source.decimal)

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

    def take_as_numbers(self, names: Sequence[str], remedy: Remedy) -> None:
        """From now on, some columns are numbers; every cell must be one."""
        import pyarrow as pa

        for name in names:
            numbers = pa.chunked_array([self.cells(name).numbers(remedy(name))])
            self._frame = self._frame.set_column(self._frame.column_names.index(name), name, numbers)

    def matrix(self, columns: Sequence[int], remedy: Remedy = _how_to_do_without) -> Any:
        names = [self.names[column] for column in columns]
        return scipy.sparse.csr_array(np.column_stack([self.cells(name).numbers(remedy(name)) for name in names]))

    def frame(self, columns: Sequence[int], remedy: Remedy, text: Collection[str]) -> Any:
        """Some columns as a pyarrow table of numbers and, where ``text`` names them, text."""
        import pyarrow as pa

        chosen = {}
        for name in (self.names[i] for i in columns):
            cells = self.cells(name)
            chosen[name] = cells.column if name in text else pa.array(cells.numbers(remedy(name)))
        return pa.table(chosen)


class ParquetFile:
    """A Parquet file, of which columns can be read as they are or as text."""

    decimal = "."

    def __init__(self, file: Path):
        self.file = file

    def read(self) -> Any:
        """The whole table."""
        import pyarrow.parquet

        with self._explain_errors():
            if self.file.is_dir():
                table = pyarrow.parquet.read_table(self.file)
            else:
                with open_file(self.file) as source:
                    table = pyarrow.parquet.ParquetFile(source).read()
        return table.select(_find_columns(table.column_names))

    def read_batches(self, numbers: int) -> Iterator[Any]:
        """Some rows at a time, with about as many numbers."""
        import pyarrow.parquet

        with self._explain_errors(), open_file(self.file) as source:
            parquet = pyarrow.parquet.ParquetFile(source)
            columns = _find_columns(parquet.schema_arrow.names)
            for batch in parquet.iter_batches(max(numbers // max(len(columns), 1), 1)):
                yield batch.select(columns)

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"cannot read {self.file}: {explain_unreadable(error)}") from error

    def read_text(self, names: Sequence[str]) -> Any:
        """Some columns as text."""
        import pyarrow as pa

        table = self.read().select(list(names))
        return pa.table({name: _to_text(table[name]) for name in names})


class ArrowFile(ParquetFile):
    """A file in the format of Arrow (IPC, also called Feather), mapped and not copied."""

    def read(self) -> Any:
        import pyarrow as pa

        batches = list(self.read_batches(0))
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def read_batches(self, numbers: int) -> Iterator[Any]:
        """The batches of the file, whatever their size."""
        import pyarrow as pa

        with (
            self._explain_errors(),
            pa.memory_map(os.fsencode(self.file)) as source,
            pa.ipc.open_file(source) as reader,
        ):
            columns = _find_columns(reader.schema.names)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(columns)


def _find_columns(names: Sequence[str]) -> list[int]:
    """The columns of a file but for those in which pandas stores the index of a frame."""
    return [place for place, name in enumerate(names) if not name.startswith(_INDEX)]


def _to_text(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string())
