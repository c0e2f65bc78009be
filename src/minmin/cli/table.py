"""LIBSVM, CSV and Parquet files as one kind of table: numbers, column names, a target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets import load_libsvm
from minmin.errors import InputError, near_names

_CSV = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Table:
    """Columns of numbers (CSR), their names, and the target; whether columns are named by their numbers."""

    file: Path
    matrix: Any
    names: list[str]
    target: np.ndarray[Any, Any]
    numbered: bool


def read(file: Path, target: str | None) -> Table:
    """Read a file by what its name ends with; whatever is neither CSV nor Parquet is LIBSVM."""
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
    if kind in _CSV or kind in _PARQUET:
        return _table(file, _arrow(file, kind), target)
    if target is not None:
        raise InputError(f"--target {target}: {file} is read as LIBSVM, where the target begins every line")
    matrix, labels = load_libsvm(file)
    return Table(file, matrix, [str(i + 1) for i in range(matrix.shape[1])], labels, numbered=True)


def _arrow(file: Path, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if kind in _PARQUET:
            return pyarrow.parquet.read_table(file)
        with pa.input_stream(str(file), compression="detect") as stream:
            return pyarrow.csv.read_csv(stream, parse_options=pyarrow.csv.ParseOptions(delimiter=_CSV[kind]))
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"cannot read {file}: {reason}") from error


def _table(file: Path, arrow: Any, target: str | None) -> Table:
    names = list(arrow.column_names)
    if target is None:
        raise InputError(f"{file} is a table: name the column to predict with --target; {near_names('', names)}")
    if target not in names:
        raise InputError(f"--target {target}: {file} has no such column; {near_names(target, names)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{file} has two columns {twice!r}; rename one")
    if arrow.num_rows == 0:
        raise InputError(f"{file} has no rows")
    features = [name for name in names if name != target]
    columns = [_numbers(file, arrow, name) for name in features]
    matrix = (
        scipy.sparse.csr_array(np.column_stack(columns)) if columns else scipy.sparse.csr_array((arrow.num_rows, 0))
    )
    return Table(file, matrix, features, _numbers(file, arrow, target), numbered=False)


def _numbers(file: Path, arrow: Any, name: str) -> np.ndarray[Any, Any]:
    import pyarrow as pa
    import pyarrow.compute

    column = arrow[name]
    if column.null_count:
        row = pyarrow.compute.index(column.is_null(), True).as_py()
        raise InputError(
            f"column {name!r} of {file} has no value in row {row + 1}; fill it in, or leave the column out"
        )
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"column {name!r} of {file} holds {kind}, not numbers; encode it, or leave the column out")
    values = column.cast(pa.float64()) if not pa.types.is_boolean(kind) else column.cast(pa.int8()).cast(pa.float64())
    found: np.ndarray[Any, Any] = values.to_numpy()
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise InputError(f"column {name!r} of {file} is {found[row]} in row {row + 1}; give finite numbers")
    return found
