"""Reads CSV and Parquet files some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minmin.cli.table import CSV, PARQUET, Frame, explain_unreadable, find_kind

_NUMBERS_PER_CHUNK = 4_000_000
"""32 MB as a dense array."""
_CSV_BYTES = 1 << 24
"""How much of a CSV file is parsed at a time."""


def read_frame_chunks(file: Path) -> Iterator[Frame]:
    """The rows of a CSV or Parquet file, as tables of some of them."""
    import pyarrow as pa

    batches: list[Any] = []
    rows = first_row = 0
    with explain_unreadable(file):
        for batch in _read_batches(file):
            batches.append(batch)
            rows += batch.num_rows
            if rows * batch.num_columns >= _NUMBERS_PER_CHUNK:
                yield Frame(file, pa.Table.from_batches(batches), first_row)
                first_row, batches, rows = first_row + rows, [], 0
        if rows or not first_row:
            yield Frame(file, pa.Table.from_batches(batches), first_row)


def _read_batches(file: Path) -> Iterator[Any]:
    import pyarrow.parquet

    kind = find_kind(file)
    if kind in PARQUET:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            at_a_time = max(_NUMBERS_PER_CHUNK // max(len(parquet.schema_arrow), 1), 1)
            yield from parquet.iter_batches(at_a_time)
    else:
        yield from _read_csv(file, CSV[str(kind)])


def _read_csv(file: Path, delimiter: str) -> Iterator[Any]:
    """Batches with the types of the first one, but with all numbers as float64: later ones may have fractions."""
    import pyarrow as pa
    import pyarrow.csv

    options = {
        "read_options": pyarrow.csv.ReadOptions(block_size=_CSV_BYTES),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=delimiter),
    }
    with pa.input_stream(str(file), compression="detect") as stream, pyarrow.csv.open_csv(stream, **options) as reader:
        types = {
            field.name: pa.float64()
            for field in reader.schema
            if pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_null(field.type)
        }
    convert = pyarrow.csv.ConvertOptions(column_types=types)
    with (
        pa.input_stream(str(file), compression="detect") as stream,
        pyarrow.csv.open_csv(stream, convert_options=convert, **options) as reader,
    ):
        yield from reader
