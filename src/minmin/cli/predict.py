"""minmin predict."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from minmin.cli.cells import Vector
from minmin.cli.delimited import delimiter_option
from minmin.cli.estimator import read_classes
from minmin.cli.model import choose_storage
from minmin.cli.output import Columns, check_writable, encode_table, quiet_option
from minmin.cli.reading import read_table
from minmin.cli.roles import OFFSET_OPTIONS, check_roles, read_offset
from minmin.cli.table import PARQUET, Frame, Table
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, name_type, near_names
from minmin.files import write_atomically

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
@OFFSET_OPTIONS["offset"]
@OFFSET_OPTIONS["exposure"]
@delimiter_option
@quiet_option(help="Print no notes, and with --output nothing at all.")
def predict(
    file: Path,
    data: Path,
    output: Path | None,
    proba: bool,
    offset: str | None,
    exposure: str | None,
    delimiter: str | None,
    quiet: bool,
) -> int:
    """Predict the target of each row of DATA with a MODEL that 'minmin fit --save' or 'minmin solve --save' wrote.

    A CSV or Parquet file must have the model's columns, by name and in any order; other columns are ignored. If the
    model was fitted with --offset or --exposure, DATA must have that column, too; these options name another. If it has
    an --id, that column is printed beside the predictions. A category that the model does not know has the coefficient
    0. In a LIBSVM file the labels are ignored, missing columns count as zero, and columns that the model does not have
    are ignored. DATA may also be a folder that 'minmin partition' wrote. Loading a model never runs code from the file;
    a file that could is refused.

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
        raise InputError(f"--proba: {file} holds {name_type(model)}, which has no classes; leave --proba out")
    table = read_table(data, getattr(model, "first_index_", None), delimiter)
    notes = [f"{data}: {table.format}"] if table.format else []
    roles = getattr(model, "row_columns_", {})
    columns: Columns = []
    if "id" in roles and isinstance(table, Frame):
        if roles["id"] in table.names:
            columns.append((roles["id"], table.take(roles["id"], "--id").column))
        else:
            notes.append(f"{data} has no column {roles['id']!r}; predictions are in the order of its rows")
    X = _take_features(model, file, table)
    given = {role: name for role, name in (("offset", offset), ("exposure", exposure)) if name is not None}
    shift = _find_offset(model, file, table, given)
    if isinstance(table, Frame):
        notes += _find_unknown(table, getattr(model, "categories_", {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # _take_features has matched the names
        columns += _predict_proba(model, X, shift) if proba else [("prediction", _predict(model, X, shift))]
    content = encode_table(columns, as_parquet=output is not None and output.suffix.lower() in PARQUET)
    if not quiet:
        for note in notes:
            click.echo(f"note: {note}", err=True)
    if output is None:
        click.echo(content, nl=False)
        return 0
    write_atomically(output, content)
    if not quiet:
        click.echo(f"{table.rows} predictions in {output}")
    return 0


def _find_offset(model: Any, file: Path, table: Table, given: Mapping[str, str]) -> Vector | None:
    """What is added to the margins: from the given columns, else from those that the model was fitted with."""
    check_roles(table, given, None, model._loss.name)
    roles = {role: name for role, name in getattr(model, "row_columns_", {}).items() if role in OFFSET_OPTIONS}
    needed = bool(roles) or getattr(model, "has_offset_", False)
    if isinstance(table, Frame):
        offset = read_offset(table, given or roles, whose="" if given else "the model's ")
        remedy = "name its column by --offset, or by --exposure if the offset is its logarithm"
    else:
        offset, remedy = table.offset, "give a CSV or Parquet file"
    if needed and offset is None:
        raise InputError(f"{file} was fitted with an offset or exposure, and for {table.file} none is known; {remedy}")
    return offset


def _take_features(model: Any, file: Path, table: Table) -> Any:
    """The columns of the table that the model needs, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if not table.numbered:
        if names is None:
            raise InputError(
                f"{table.file} has column names, but {file} was fitted to a LIBSVM file; give a LIBSVM file"
            )
        return _take_named(table, list(names), getattr(model, "categories_", {}))
    if names is not None:
        raise InputError(
            f"{table.file} is {table.kind}, but {file} was fitted to a CSV or Parquet file; give a file with column "
            "names"
        )
    return choose_storage(_take_first(table, model.n_features_in_))


def _take_first(table: Table, count: int) -> Any:
    """The first ``count`` columns; those that the file does not have are zero."""
    matrix = table.matrix(list(range(min(count, len(table.names)))))
    if isinstance(matrix, PartitionedMatrix):
        return matrix.with_columns(count)
    matrix.resize(table.rows, count)
    return matrix


def _take_named(table: Table, names: list[str], text: Collection[str]) -> Any:
    places = {name: i for i, name in enumerate(table.names)}
    missing = [name for name in names if name not in places]
    if missing:
        listed = ", ".join(map(repr, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        count = f"{len(missing)} of the model's {len(names)} columns"
        raise InputError(f"{table.file} lacks {count}: {listed}; {near_names(missing[0], table.names)}")
    columns = [places[name] for name in names]
    if not isinstance(table, Frame):
        return table.matrix(columns)
    table.take_as_text([name for name in names if name in text])
    if text:
        return table.frame(columns, _how_to_mend)
    return choose_storage(table.matrix(columns, _how_to_mend))


def _find_unknown(table: Frame, categories: Mapping[str, Sequence[str | None]]) -> list[str]:
    """A note on each text column with categories that the model does not know."""
    notes = []
    for name, known in categories.items():
        counts = table.cells(name).column.value_counts()
        values, rows = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
        unknown = [(value, count) for value, count in zip(values, rows, strict=True) if value not in known]
        if unknown:
            what = "an empty cell" if unknown[0][0] is None else repr(unknown[0][0])
            count = sum(count for _, count in unknown)
            notes.append(
                f"column {name!r} of {table.file} has categories that the model does not know in {count} of "
                f"{table.rows} rows, such as {what}; their coefficient is 0"
            )
    return notes


def _how_to_mend(name: str) -> str:
    return "remove the row"


def _predict_proba(model: Any, X: Any, offset: Vector | None) -> Columns:
    probabilities = model.predict_proba(X, offset=offset)
    labels = read_classes(model).tolist()
    return [(f"probability_{label}", probabilities[:, i]) for i, label in enumerate(labels)]


def _predict(model: Any, X: Any, offset: Vector | None) -> Vector:
    predicted: Vector = model.predict(X, offset=offset)
    return predicted.astype(read_classes(model).dtype) if hasattr(model, "classes_") else predicted
