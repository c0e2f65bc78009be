"""Writes folders of partitions: whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.partition_checks import check_partition
from minmin.datasets.partitioned_matrix import Vector
from minmin.errors import InputError

DESCRIPTION = "partitions.json"
FORMAT, VERSION = "minmin partitions", 1
PER_ROW = ("y", "weight", "offset")


class PartitionWriter:
    """Writes one partition after another to a hidden folder, which :meth:`finish` renames.

    Used in a ``with`` statement, it removes the hidden folder where it has not finished.
    """

    def __init__(self, folder: Any):
        self._folder = Path(folder)
        if self._folder.exists():
            raise InputError(f"{self._folder} exists; give the name of a new folder")
        self._draft = self._folder.with_name(f".{self._folder.name}.{secrets.token_hex(4)}.tmp")
        self._head: dict[str, Any] = {}
        self._sizes: list[dict[str, int]] = []
        self._labels = ""  # what y holds
        self.columns = 0
        """The number of columns of the widest partition."""
        self.least_index = np.iinfo(np.int64).max
        """The least column number that any CSR partition has."""

    @property
    def count(self) -> int:
        return len(self._sizes)

    @property
    def rows(self) -> int:
        return sum(size["rows"] for size in self._sizes)

    def __enter__(self) -> PartitionWriter:
        self._draft.mkdir(parents=True)
        return self

    def __exit__(self, *_: Any) -> None:
        shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, X: Any, y: Vector, weight: Vector | None = None, offset: Vector | None = None) -> None:
        """Write a partition. If some have fewer columns than others, the last ones of those are zero."""
        per_row = {"y": y, "weight": weight, "offset": offset}
        storage = "csr" if scipy.sparse.issparse(X) else "dense"
        head = {"storage": storage, "dtype": X.dtype.name, **{name: per_row[name] is not None for name in PER_ROW}}
        self._head = self._head or head
        for name, value in head.items():
            if value != self._head[name]:
                raise InputError(
                    f"chunk {self.count}: {name} is {value}, but {self._head[name]} in the chunks before; "
                    "give the same for all chunks"
                )
        labels = "text" if np.asarray(y).dtype.kind == "U" else "numbers"
        self._labels = self._labels or labels
        if labels != self._labels:
            raise InputError(f"chunk {self.count}: y holds {labels}, but {self._labels} in the chunks before")
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if storage == "csr" else {"X": X}
        if storage == "csr" and len(X.indices):
            self.least_index = min(self.least_index, int(X.indices.min()))
        arrays |= {name: column for name, column in per_row.items() if column is not None}
        size = {"rows": X.shape[0], "stored": len(X.data) if storage == "csr" else X.size}
        check_partition(arrays, size, {**head, "columns": X.shape[1]}, f"chunk {self.count}")
        for name, array in arrays.items():
            with (self._draft / file_name(self.count, name)).open("xb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        self._sizes.append(size)
        self.columns = max(self.columns, X.shape[1])

    def finish(self, names: Sequence[str] | None = None, *, first_index: int | None = None) -> None:
        """Describe the folder and give it its name. Columns are moved so that ``first_index`` becomes the first."""
        if not self.count:
            raise InputError("there are no chunks; give at least one")
        if first_index:
            self._shift_columns(first_index)
        if not self.columns:
            raise InputError("there is no column; give at least one")
        if names is not None:
            names = _check_names(names, self.columns)
        head = {"format": FORMAT, "version": VERSION, **self._head, "columns": self.columns, "names": names}
        text = json.dumps({**head, "first_index": first_index, "partitions": self._sizes}, indent=1)
        with (self._draft / DESCRIPTION).open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            self._draft.rename(self._folder)
        except OSError as error:
            raise InputError(f"{self._folder} cannot be created: {error.strerror}") from error

    def _shift_columns(self, by: int) -> None:
        for number in range(self.count):
            indices = np.load(self._draft / file_name(number, "indices"), mmap_mode="r+", allow_pickle=False)
            indices -= by
            indices.flush()
        self.columns -= by


def _check_names(names: Sequence[str], columns: int) -> list[str]:
    listed = [str(name) for name in names]
    if len(listed) != columns:
        raise InputError(f"there are {len(listed)} names, but X has {columns} columns")
    if len(set(listed)) < len(listed):
        seen: set[str] = set()
        twice = next(name for name in listed if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"two columns are called {twice!r}; rename one")
    return listed


def file_name(number: int, name: str) -> str:
    return f"{number:05d}-{name}.npy"
