"""What a model needs of a table, and its predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from minmin.cli.cells import Vector
from minmin.cli.data import check_roles, read_offset
from minmin.cli.estimator import read_classes
from minmin.cli.model import choose_storage
from minmin.cli.options import OFFSET_OPTIONS
from minmin.cli.output import Columns
from minmin.cli.table import Frame, Table
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, near_names

_SHOWN = 5
"""How many missing columns an error names."""


def find_offset(model: Any, file: Path, table: Table, given: Mapping[str, str]) -> Vector | None:
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


def take_features(model: Any, file: Path, table: Table) -> Any:
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
        return table.frame(columns, _how_to_mend, text)
    return choose_storage(table.matrix(columns, _how_to_mend))


def find_unknown(table: Frame, categories: Mapping[str, Sequence[str | None]]) -> list[str]:
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


def predict_classes(model: Any, X: Any, offset: Vector | None) -> Columns:
    probabilities = model.predict_proba(X, offset=offset)
    labels = read_classes(model).tolist()
    return [(f"probability_{label}", probabilities[:, i]) for i, label in enumerate(labels)]


def predict_target(model: Any, X: Any, offset: Vector | None) -> Vector:
    predicted: Vector = model.predict(X, offset=offset)
    return predicted.astype(read_classes(model).dtype) if hasattr(model, "classes_") else predicted
