"""minmin predict."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from minmin.cli.model import choose_storage
from minmin.cli.output import check_writable, quiet_option
from minmin.cli.table import PARQUET, Table, read_table
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, near_names
from minmin.files import write_atomically

_Vector = np.ndarray[Any, Any]

_SHOWN = 5
"""How many missing columns an error names."""


@click.command()
@click.argument("file", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data", metavar="DATA", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file: Parquet if its name ends in .parquet or .pq, else CSV. [default: print CSV]",
)
@click.option("--proba", is_flag=True, help="Predict the probability of each class instead of the most probable class.")
@quiet_option(help="With --output, do not print how many predictions were written.")
def predict(file: Path, data: Path, output: Path | None, proba: bool, quiet: bool) -> int:
    """Predict the target of each row of DATA with a MODEL that 'minmin fit --save' wrote.

    A CSV or Parquet file must have the model's columns, by name and in any order; other columns are ignored. In a
    LIBSVM file the labels are ignored, missing columns count as zero, and columns that the model does not have are
    ignored. DATA may be a folder that 'minmin partition' wrote, too. Loading a model never runs code from the file; a
    file that could is refused.

    \b
      minmin predict model.skops tomorrow.csv
      minmin predict model.skops tomorrow.parquet --proba --output probabilities.parquet
    """
    from minmin.cli.saved import load

    if output is not None:
        check_writable(output, "--output")
        if output.resolve() in (file.resolve(), data.resolve()):
            raise InputError(f"--output {output} is also an input; give another name")
    model = load(file)
    if proba and not hasattr(model, "predict_proba"):
        raise InputError(f"--proba: {file} holds a {type(model).__name__}, which has no classes; leave --proba out")
    matrix, offset = _take_columns(model, file, data)
    matrix = choose_storage(matrix)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # _take_columns has matched the names
        columns = _predict_proba(model, matrix, offset) if proba else {"prediction": _predict(model, matrix, offset)}
    content = _write(columns, as_parquet=output is not None and output.suffix.lower() in PARQUET)
    if output is None:
        click.echo(content, nl=False)
        return 0
    write_atomically(output, content)
    if not quiet:
        click.echo(f"{matrix.shape[0]} predictions in {output}")
    return 0


def _take_columns(model: Any, file: Path, data: Path) -> tuple[Any, _Vector | None]:
    """The columns of the data that the model needs, in its order, and the offset of a folder that has one."""
    names = getattr(model, "feature_names_in_", None)
    table = read_table(data, getattr(model, "first_index_", None))
    if table.numbered and names is not None:
        raise InputError(
            f"{data} is read as LIBSVM, but {file} was fitted to a CSV or Parquet file; give a file with column names"
        )
    if not table.numbered and names is None:
        raise InputError(f"{data} has column names, but {file} was fitted to a LIBSVM file; give a LIBSVM file")
    matrix = _take_first(table, model.n_features_in_) if names is None else _take_named(table, list(names))
    return matrix, table.offset


def _take_first(table: Table, count: int) -> Any:
    """The first ``count`` columns; those that the LIBSVM file does not have are zero."""
    matrix = table.matrix(list(range(min(count, len(table.names)))))
    if isinstance(matrix, PartitionedMatrix):
        return matrix.with_columns(count)
    matrix.resize(table.rows, count)
    return matrix


def _take_named(table: Table, names: list[str]) -> Any:
    places = {name: i for i, name in enumerate(table.names)}
    missing = [name for name in names if name not in places]
    if missing:
        listed = ", ".join(map(repr, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        count = f"{len(missing)} of the model's {len(names)} columns"
        raise InputError(f"{table.file} lacks {count}: {listed}; {near_names(missing[0], table.names)}")
    return table.matrix([places[name] for name in names])


def _predict_proba(model: Any, matrix: Any, offset: _Vector | None) -> dict[str, _Vector]:
    probabilities = model.predict_proba(matrix, offset)
    return {f"probability_{label}": probabilities[:, i] for i, label in enumerate(_classes(model).tolist())}


def _predict(model: Any, matrix: Any, offset: _Vector | None) -> _Vector:
    predicted: _Vector = model.predict(matrix, offset)
    return predicted.astype(_classes(model).dtype) if hasattr(model, "classes_") else predicted


def _classes(model: Any) -> _Vector:
    """The classes; floats that are all whole numbers become integers, as they were in the file."""
    classes: _Vector = model.classes_
    whole = classes.dtype.kind == "f" and (classes == np.trunc(classes)).all() and (np.abs(classes) < 2**53).all()
    return classes.astype(np.int64) if whole else classes


def _write(columns: dict[str, _Vector], *, as_parquet: bool) -> bytes:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    buffer = io.BytesIO()
    write = pyarrow.parquet.write_table if as_parquet else pyarrow.csv.write_csv
    write(pa.table(columns), buffer)
    return buffer.getvalue()
