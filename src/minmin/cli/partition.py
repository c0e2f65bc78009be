"""minmin partition."""

from __future__ import annotations

from pathlib import Path

import click

from minmin.cli.cells import Cells
from minmin.cli.chunks import read_frame_chunks
from minmin.cli.columns import drop_ignored
from minmin.cli.delimited import CsvFile, delimiter_option
from minmin.cli.model import choose_storage, target_option
from minmin.cli.output import quiet_option
from minmin.cli.table import ParquetFile, find_source, require_no_target
from minmin.datasets.libsvm import read_libsvm_chunks
from minmin.datasets.partition_writer import PartitionWriter
from minmin.errors import InputError


@click.command()
@click.argument("files", metavar="DATA...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "folder", metavar="FOLDER", required=True, type=click.Path(path_type=Path), help="A new folder.")
@target_option
@click.option("--ignore", metavar="COLUMNS", help="Columns to leave out; not for LIBSVM files.")
@delimiter_option
@quiet_option(help="Do not print what was written.")
def partition(
    files: tuple[Path, ...], folder: Path, target: str | None, ignore: str | None, delimiter: str | None, quiet: bool
) -> int:
    """Read DATA once, a part of the rows at a time, and write them to a FOLDER of partitions.

    DATA are CSV, Parquet or Arrow files with the same columns, which must be numbers but for the target, or LIBSVM
    files.
    'minmin fit' and 'minmin predict' take the FOLDER in place of a file. Its rows stay on disk, so there may be more of
    them than fit into memory.

    \b
      minmin partition january.csv.gz february.csv.gz --target clicked --ignore 'id,date' --out clicks
      minmin fit clicks --block 'words=word_*:1e-3' --alpha 1e-6 --save model.skops
    """
    sources = [(file, source) for file in files if (source := find_source(file, delimiter)) is not None]
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
    if not quiet:
        count = writer.count
        click.echo(
            f"{writer.rows} rows and {writer.columns} columns in {folder}: {count} partition{'s' * (count != 1)}"
        )
    return 0


def _add_frames(
    writer: PartitionWriter, sources: list[tuple[Path, CsvFile | ParquetFile]], target: str | None, ignore: str | None
) -> list[str]:
    """Write the chunks of all files; returns the names of the columns, which must be the same in all files."""
    names: list[str] | None = None
    dense: bool | None = None
    for table in (chunk for file, source in sources for chunk in read_frame_chunks(file, source)):
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
