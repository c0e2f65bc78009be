"""Reads files some rows at a time, and writes them to a folder of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from minmin.cli.cells import Cells
from minmin.cli.columns import drop_ignored
from minmin.cli.delimited import CsvFile
from minmin.cli.model import choose_storage
from minmin.cli.table import Frame, ParquetFile, find_source, require_no_target
from minmin.datasets.libsvm import read_libsvm_chunks
from minmin.datasets.partition_writer import PartitionWriter
from minmin.errors import InputError

_NUMBERS_PER_CHUNK = 4_000_000
"""32 MB as a dense array."""
_CSV_BYTES = 1 << 24
"""How much of a CSV file is parsed at a time."""


def write_chunks(
    files: Sequence[Path], folder: Path, target: str | None, ignore: str | None, form: str | None, delimiter: str | None
) -> PartitionWriter:
    """Write the rows of all files to a folder of partitions."""
    sources = [(file, source) for file in files if (source := find_source(file, form, delimiter)) is not None]
    if 0 < len(sources) < len(files):
        raise InputError("some files are LIBSVM and others are tables (CSV, Parquet, Arrow); give files of one kind")
    with PartitionWriter(folder) as writer:
        if not sources:
            if ignore is not None:
                raise InputError(f"--ignore {ignore}: {files[0]} is read as LIBSVM; --ignore is for CSV and Parquet")
            require_no_target(files[0], target)
            for X, labels in (chunk for file in files for chunk in read_libsvm_chunks(file)):
                writer.add(X, labels)
            names, first_index = None, 0 if writer.least_index == 0 else 1
        else:
            names, first_index = _add_frames(writer, sources, target, ignore), None
        writer.finish(names, first_index=first_index)
    return writer


def _add_frames(
    writer: PartitionWriter, sources: list[tuple[Path, CsvFile | ParquetFile]], target: str | None, ignore: str | None
) -> list[str]:
    """Write the chunks of all files; returns the names of the columns, which must be the same in all files."""
    names: list[str] | None = None
    dense: bool | None = None
    for table in (chunk for file, source in sources for chunk in _read_frame_chunks(file, source)):
        values = table.take_target(target, Cells.labels)
        drop_ignored(table, ignore)
        names = list(table.names) if names is None else names
        if set(table.names) != set(names):
            other = min(set(table.names) ^ set(names))
            raise InputError(f"{table.file} and {sources[0][0]} do not have the same columns: only one has {other!r}")
        places = {name: place for place, name in enumerate(table.names)}
        matrix = table.matrix([places[name] for name in names], _how_to_leave_out)
        if dense is None:  # the first chunk decides for all
            dense = choose_storage(matrix) is not matrix
        writer.add(matrix.toarray() if dense else matrix, values)
    assert names is not None
    return names


def _how_to_leave_out(name: str) -> str:
    return f"leave the column out with --ignore {name!r}, since partitions hold numbers only"


def _read_frame_chunks(file: Path, source: CsvFile | ParquetFile) -> Iterator[Frame]:
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
