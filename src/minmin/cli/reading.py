"""Reads a file, or opens a folder of partitions, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from minmin.cli.cells import Cells, Vector
from minmin.cli.table import Frame, Libsvm, Table, find_source
from minmin.datasets.libsvm import read_libsvm
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.datasets.partitions import is_partitioned, open_partitions
from minmin.errors import InputError, show


def read_table(
    file: Path, first_index: int | None = None, *, form: str | None = None, delimiter: str | None = None
) -> Table:
    """Read a file, or open a folder of partitions.

    A file that is neither CSV nor Parquet by its name or its form is LIBSVM, with columns from ``first_index`` on. With
    a delimiter, a file is CSV whatever its name is.
    """
    if is_partitioned(file):
        return OnDisk(file, first_index)
    source = find_source(file, form, delimiter)
    if source is not None:
        return Frame(file, source)
    try:
        return Libsvm(file, *read_libsvm(file, first_index=first_index))
    except InputError as error:
        if ", line 1:" in str(error):  # a header, most likely
            raise InputError(
                f"{error}; a table with a header must be called .csv, .tsv or .parquet, or needs --format csv"
            ) from error
        raise


class OnDisk(Table):
    """A folder of partitions; ``first_index`` is that of the model to predict with, if it counts columns."""

    kind = "a folder of partitions"

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

    def take_target(self, name: str | None, read: Callable[[Cells], Vector] = Cells.numbers) -> Vector:
        if name is not None:
            raise InputError(f"--target {name}: the target of {self.file} was chosen when it was written; leave it out")
        y = self._parts.y
        if read is not Cells.labels and y.dtype.kind not in "biuf":
            raise InputError(
                f"the target of {self.file} is text, such as {show(y[0])}, and must be numbers here; for classes use "
                "'minmin fit' with --loss logistic"
            )
        return y

    def matrix(self, columns: Sequence[int]) -> PartitionedMatrix:
        is_all = list(columns) == list(range(len(self.names)))
        return self._parts.X if is_all else self._parts.X[:, np.asarray(columns, dtype=np.intp)]

    def count_entries(self) -> Vector:
        return self._parts.X.column_counts
