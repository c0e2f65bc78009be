"""Reads a file, or opens a folder of partitions, as a table."""

from __future__ import annotations

from pathlib import Path

from minmin.cli.on_disk import OnDisk
from minmin.cli.table import Frame, Libsvm, Table, find_source
from minmin.datasets.libsvm import read_libsvm
from minmin.datasets.partitions import is_partitioned
from minmin.errors import InputError


def read_table(file: Path, first_index: int | None = None, delimiter: str | None = None) -> Table:
    """Read a file, or open a folder of partitions.

    A file that is neither CSV nor Parquet by its name is LIBSVM, with columns from ``first_index`` on. With a
    delimiter, a file is CSV whatever its name is.
    """
    if is_partitioned(file):
        return OnDisk(file, first_index)
    source = find_source(file, delimiter)
    if source is not None:
        return Frame(file, source)
    try:
        return Libsvm(file, *read_libsvm(file, first_index=first_index))
    except InputError as error:
        if ", line 1:" in str(error):  # a header, most likely
            raise InputError(f"{error}; a table with a header must be called .csv, .tsv or .parquet") from error
        raise
