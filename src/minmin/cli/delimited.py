"""Reads CSV files as they come: finds what separates the columns, and whether decimals have a point or a comma."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minmin.cli.opening import Text, explain_unreadable
from minmin.datasets.libsvm import refuse_utf16
from minmin.datasets.plain_numbers import parse_number
from minmin.errors import InputError

DELIMITERS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
"""What may separate columns, and its name in messages."""

_SAMPLE_BYTES, _SAMPLE_ROWS = 1 << 16, 100
"""How much of a file is read to find the delimiter."""
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_DECLARED = re.compile(r"sep=(.)\r?\n")
"""A first line that says what separates the columns, as spreadsheet programs write it."""
_WRONG_VALUE = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to .*: invalid value '(.*)'")
_WRONG_WIDTH = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class CsvFormat(NamedTuple):
    """What separates the columns of a file, and what is before its decimals."""

    delimiter: str
    decimal: str = "."

    def __str__(self) -> str:
        name = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        return f"columns separated by {name}" + (", decimals by ','" if self.decimal == "," else "")


class CsvFile:
    """A CSV file with a header, of which columns can be read as they are or as text."""

    def __init__(self, file: Path, delimiter: str | None):
        self.file = file
        sample = self._read_sample()
        declared = _DECLARED.match(sample)
        self._skipped_lines = int(declared is not None)
        self.format = CsvFormat(delimiter or (declared[1] if declared else _find_delimiter(sample, file)))

    def _read_sample(self) -> str:
        """The first lines of the file."""
        with self._explain_errors():
            self._text = Text(self.file)
            with self._text.open() as stream:
                sample: bytes = stream.read(_SAMPLE_BYTES)
        refuse_utf16(sample, self.file)
        text = sample.decode("utf-8-sig", errors="replace")
        return text.rpartition("\n")[0] if len(sample) == _SAMPLE_BYTES else text  # the last line is cut

    @property
    def decimal(self) -> str:
        """What is before the decimals of numbers."""
        return self.format.decimal

    def read(self) -> Any:
        """The whole table."""
        return self._find_decimal(self._read)

    def read_batches(self, size: int) -> Iterator[Any]:
        """Some rows at a time, ``size`` bytes of them; types are those of the first, but all numbers are float64."""
        import pyarrow as pa

        names: list[str] = []
        with self._explain_errors(names):
            first = self._find_decimal(lambda: self._read_first(size))
            names += first.column_names
            with self._open(size, {f.name: pa.float64() for f in first.schema if _may_be_numbers(f.type)}) as reader:
                yield from reader

    def _find_decimal(self, read: Callable[[], Any]) -> Any:
        """The checked table, which is read again if its decimals have commas."""
        table = read()
        if self.format.delimiter != "," and any(_has_decimal_commas(column) for column in table.columns):
            self.format = self.format._replace(decimal=",")
            table = read()
        self._check_header(table.column_names)
        self._check_encoding(table)
        return table

    def _read_first(self, size: int) -> Any:
        import pyarrow as pa

        with self._open(size, {}) as reader:
            return pa.Table.from_batches([batch for batch, _ in zip(reader, range(1), strict=False)], reader.schema)

    @contextlib.contextmanager
    def _open(self, size: int, types: Mapping[str, Any]) -> Iterator[Any]:
        import pyarrow.csv

        # with threads, errors do not say in which row a value is wrong
        options = self._options({"use_threads": False, "block_size": size}, column_types=types)
        with self._text.open() as stream, pyarrow.csv.open_csv(stream, *options) as reader:
            yield reader

    def _options(self, reading: Mapping[str, Any], **converting: Any) -> tuple[Any, Any, Any]:
        import pyarrow.csv

        return (
            pyarrow.csv.ReadOptions(skip_rows=self._skipped_lines, **reading),
            pyarrow.csv.ParseOptions(delimiter=self.format.delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(decimal_point=self.format.decimal, strings_can_be_null=True, **converting),
        )

    def read_text(self, names: Sequence[str]) -> Any:
        """Some columns as text, as it is written in the file."""
        return self._read(names)

    def _read(self, as_text: Sequence[str] = ()) -> Any:
        import pyarrow as pa

        with self._explain_errors():
            try:
                return self._parse(as_text, use_threads=True)
            except pa.ArrowInvalid:
                return self._parse(as_text, use_threads=False)  # only then does the error say which line is wrong

    def _parse(self, as_text: Sequence[str], use_threads: bool) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        as_written = {"include_columns": list(as_text), "column_types": dict.fromkeys(as_text, pa.string())}
        options = self._options({"use_threads": use_threads}, **as_written)
        with self._text.open() as stream:
            table = pyarrow.csv.read_csv(stream, *options)
        table.column_names  # noqa: B018 - raises here, not later, if the header is not UTF-8
        return table

    @contextlib.contextmanager
    def _explain_errors(self, names: Sequence[str] = ()) -> Iterator[None]:
        """Errors in words of the file; ``names`` are those of its columns, once they are known."""
        import pyarrow as pa

        try:
            yield
        except UnicodeDecodeError as error:
            raise InputError(self._not_utf8()) from error
        except pa.ArrowInvalid as error:
            reason = self._explain(explain_unreadable(error), names)
            raise InputError(f"cannot read {self.file}: {reason}") from error
        except OSError as error:
            raise InputError(f"cannot read {self.file}: {explain_unreadable(error)}") from error

    def _explain(self, message: str, names: Sequence[str]) -> str:
        match = _WRONG_VALUE.search(message)
        if match and names:
            column, line, value = match.groups()
            row = int(line) - self._skipped_lines - 1  # the header is the first line
            where = f"column {names[int(column)]!r} has {value!r} in row {row} below the header"
            return f"{where}, unlike those above; correct it"
        match = _WRONG_WIDTH.search(message)
        if match is None:
            return "it is empty" if message == "Empty CSV file" else message
        line, expected, found = match.groups()
        mark = self.format.delimiter
        return (
            f"line {line or '?'} has {found} columns, but the header has {expected}; put values that contain {mark!r} "
            'in double quotes ("…"), remove lines above the header, or give another --delimiter'
        )

    def _check_header(self, names: Sequence[str]) -> None:
        if len(names) == 1 and (mark := next((mark for mark in [*DELIMITERS, " "] if mark in names[0]), None)):
            raise InputError(
                f"{self.file} has one column, called {names[0]!r}; if {mark!r} separates its columns, "
                f"give --delimiter {'tab' if mark == chr(9) else repr(mark)}"
            )
        if all(parse_number(name) is not None for name in names) and not all(map(str.isdigit, names)):
            raise InputError(
                f"{self.file} has numbers in its first line ({', '.join(names[:3])}, …); it must have the names of the "
                "columns: add a first line with names"
            )

    def _check_encoding(self, table: Any) -> None:
        import pyarrow as pa

        for name, kind in zip(table.column_names, table.schema.types, strict=True):
            if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
                raise InputError(f"{self._not_utf8()} (column {name!r})")

    def _not_utf8(self) -> str:
        return (
            f"cannot read {self.file}: its text is not UTF-8; save it as 'CSV UTF-8', or convert it, for example with "
            "iconv -f windows-1252 -t utf-8"
        )


def _find_delimiter(sample: str, file: Path) -> str:
    """The delimiter with which the most rows of a sample have as many columns as the header, two at least."""

    def rate(delimiter: str) -> tuple[float, int]:
        try:
            rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
            widths = [len(row) for row, _ in zip(rows, range(_SAMPLE_ROWS), strict=False) if row]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths[1:]) / max(1, len(widths) - 1), widths[0]

    expected = "\t" if ".tsv" in (suffix.lower() for suffix in file.suffixes) else ","
    return max([expected, *DELIMITERS], key=rate)  # the first of equals, so the expected one


def _has_decimal_commas(column: Any) -> bool:
    """Whether the first values of a column are numbers, with a comma before the decimals of some, or of most."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return False
    values = [value for value in column.slice(0, 1000).unique().to_pylist() if value is not None]
    with_comma = sum(_DECIMAL_COMMA.fullmatch(value) is not None for value in values)
    return with_comma > 0 and (
        2 * with_comma > len(values) or all(parse_number(value, ",") is not None for value in values)
    )


def _may_be_numbers(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind))
