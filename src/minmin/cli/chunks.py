"""Reads CSV and Parquet files some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minmin.cli.delimited import CsvFile
from minmin.cli.table import Frame, ParquetFile
from minmin.errors import InputError

_NUMBERS_PER_CHUNK = 4_000_000
"""32 MB as a dense array."""
_CSV_BYTES = 1 << 24
"""How much of a CSV file is parsed at a time."""


def read_frame_chunks(file: Path, source: CsvFile | ParquetFile) -> Iterator[Frame]:
    """The rows of a CSV or Parquet file, as tables of some of them."""
    import pyarrow as pa

    batches: list[Any] = []
    rows = first_row = 0
    at_a_time = _CSV_BYTES if isinstance(source, CsvFile) else _NUMBERS_PER_CHUNK
    for batch in source.read_batches(at_a_time):
        batches.append(batch)
        rows += batch.num_rows
        if rows * batch.num_columns >= _NUMBERS_PER_CHUNK:
            yield Frame(file, source, pa.Table.from_batches(batches), first_row)
            first_row, batches, rows = first_row + rows, [], 0
    if rows:
        yield Frame(file, source, pa.Table.from_batches(batches), first_row)
    elif not first_row:
        raise InputError(f"{file} has no rows")
