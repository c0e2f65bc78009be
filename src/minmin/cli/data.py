"""What ``minmin fit`` reads: features, target, weights and offset of every row, and the blocks of the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minmin.cli.cells import DATES, TEXT, Cells, Vector, is_string, name_row
from minmin.cli.columns import choose_blocks, find_columns
from minmin.cli.model import choose_storage
from minmin.cli.options import EXPOSURE_LOSSES, BlockSpec
from minmin.cli.table import Frame, Table
from minmin.errors import InputError, show

LOGISTIC = "logistic"
_LOWEST = {"poisson": "at least 0", "tweedie": "at least 0", "gamma": "above 0"}
_MANY_CLASSES = 20
"""Numbers with more different values than this may well be meant for a regression."""
_MOSTLY_DIFFERENT, _FEW_ROWS = 0.95, 20
"""A text column names the rows if more than this share of its texts are different, unless there are few rows."""


@dataclass(frozen=True)
class Data:
    """Checked rows.

    Attributes
    ----------
    X : array, CSR array, pyarrow.Table or PartitionedMatrix
        A table if some columns are text.
    target, weights, offset : arrays, or None
    names : list of str
        The columns of X.
    blocks : dict
        The columns of each block, by their numbers in X.
    """

    X: Any
    target: Vector
    weights: Vector | None
    offset: Vector | None
    names: list[str]
    blocks: dict[Any, Vector]

    @property
    def rows(self) -> int:
        return len(self.target)

    def select(self, chosen: Vector) -> Data:
        """Some of the rows; ``chosen`` are their numbers."""
        weights, offset = (None if column is None else column[chosen] for column in (self.weights, self.offset))
        X = self.X.take(chosen) if hasattr(self.X, "column_names") else self.X[chosen]
        return replace(self, X=X, target=self.target[chosen], weights=weights, offset=offset)


def read_data(
    table: Table,
    *,
    target: str | None,
    loss: str,
    roles: Mapping[str, str],
    text: str | None,
    numbers: str | None,
    specs: Mapping[str, BlockSpec],
    ignore: str | None,
) -> Data:
    """Take the parts of a table; errors name the columns and rows of the file."""
    check_roles(table, roles, target, loss)
    values = _read_target(table, target, loss)
    weights, offset = read_weights(table, roles), read_offset(table, roles)
    if offset is not None and loss == LOGISTIC and (count := len(np.unique(values))) > 2:
        raise InputError(f"--offset needs a target with two classes, and {target!r} has {count}; leave --offset out")
    if "id" in roles:
        assert isinstance(table, Frame)
        table.take(roles["id"], "--id")
    declared = _declare_types(table, {"--text": text, "--numbers": numbers}, ignore)
    blocks = choose_blocks(table, specs, ignore)
    used = sorted(np.concatenate(list(blocks.values())).tolist())
    X = _read_features(table, used, declared)
    places = {name: np.searchsorted(used, columns) for name, columns in blocks.items()}
    return Data(X, values, weights, offset, [table.names[column] for column in used], places)


def check_roles(table: Table, roles: Mapping[str, str], target: str | None, loss: str) -> None:
    """Check the options before columns are taken."""
    owners: dict[str, str] = {} if target is None else {target: "target"}
    for role, name in roles.items():
        if not isinstance(table, Frame):
            raise InputError(f"--{role} {name}: {table.file} is {table.kind}; --{role} is for CSV and Parquet")
        if name in owners:
            raise InputError(f"column {name!r} is given to --{owners[name]} and to --{role}; give two columns")
        owners[name] = role
    if "exposure" in roles and loss not in EXPOSURE_LOSSES:
        raise InputError(
            f"--exposure is for --loss {', '.join(EXPOSURE_LOSSES)}, whose expected target it multiplies; with --loss "
            f"{loss}, --offset adds a column to the margin"
        )


def read_weights(table: Table, roles: Mapping[str, str]) -> Vector | None:
    """Remove the weights from the table, and return them; those of partitions have no name."""
    if "weight" not in roles:
        return table.weight
    assert isinstance(table, Frame)
    cells = table.take(roles["weight"], "--weight")
    weights = cells.numbers("leave --weight out")
    cells.refuse(weights, weights < 0.0, "weights must be at least 0")
    if not weights.any():
        raise InputError(f"{cells.where} is 0 in every row; some weight must be above 0")
    return weights


def read_offset(table: Table, roles: Mapping[str, str], whose: str = "") -> Vector | None:
    """Remove offset and exposure from the table, and return what is added to the margins.

    ``whose`` begins an error about a missing column.
    """
    parts: list[Vector] = []
    if "offset" in roles:
        assert isinstance(table, Frame)
        parts.append(table.take(roles["offset"], f"{whose}--offset").numbers("give another --offset"))
    if "exposure" in roles:
        assert isinstance(table, Frame)
        cells = table.take(roles["exposure"], f"{whose}--exposure")
        exposure = cells.numbers("give another --exposure")
        cells.refuse(exposure, exposure <= 0.0, "an exposure must be above 0: correct it or remove the row")
        parts.append(np.log(exposure))
    return sum(parts[1:], parts[0]) if parts else table.offset


def _declare_types(table: Table, given: Mapping[str, str | None], ignored: str | None) -> list[str]:
    """Read columns as the options --text and --numbers say; returns those of text."""
    names: dict[str, list[str]] = {option: [] for option in given}
    for option, columns in given.items():
        if columns is None:
            continue
        if not isinstance(table, Frame):
            raise InputError(f"{option} {columns}: {table.file} is {table.kind}, which has no text")
        names[option] = [table.names[column] for column in sorted(find_columns(table, columns, option, ignored))]
    text, numbers = names.values()
    if both := set(text) & set(numbers):
        raise InputError(f"column {min(both)!r} is given to --text and to --numbers; give it to one of them")
    if isinstance(table, Frame):
        table.take_as_text(text)
        table.take_as_numbers(numbers, _how_to_leave_out)
    return text


def _read_features(table: Table, used: list[int], declared: list[str]) -> Any:
    if not isinstance(table, Frame):
        return choose_storage(table.matrix(used))
    for column in used:
        cells = table.cells(table.names[column])
        if cells.holds == DATES:
            raise InputError(cells.describe_dates())
        if cells.holds == TEXT and cells.name not in declared:
            cells.require_categories()
    if text := [table.names[column] for column in used if table.holds(column) == TEXT]:
        return table.frame(used, _how_to_leave_out, text)
    return choose_storage(table.matrix(used, _how_to_leave_out))


def find_row_names(data: Data) -> list[str]:
    """Notes on text columns that seem to name the rows: most of their texts occur once."""
    import pyarrow.compute

    if not hasattr(data.X, "column_names") or data.rows < _FEW_ROWS:
        return []
    texts = {name: data.X[name] for name in data.X.column_names if is_string(data.X[name].type)}
    counts = {name: pyarrow.compute.count_distinct(column).as_py() for name, column in texts.items()}
    return [
        f"column {name!r} has {count} different texts in {data.rows} rows; if it names the rows, give --id {name!r} "
        f"or --ignore {name!r}"
        for name, count in counts.items()
        if count > _MOSTLY_DIFFERENT * data.rows
    ]


def _how_to_leave_out(name: str) -> str:
    return f"leave the column out with --ignore {name!r}"


def _read_target(table: Table, name: str | None, loss: str) -> Vector:
    """Remove the target from the table, and return it in the form that the loss needs."""
    where = f"the label of {table.file}" if name is None else f"column {name!r} of {table.file}"
    if loss == LOGISTIC:
        labels = table.take_target(name, Cells.labels)
        _require_classes(labels, where)
        return labels
    numbers = table.take_target(name, lambda cells: _read_regression_target(cells, loss))
    wrong = numbers <= 0.0 if loss == "gamma" else numbers < 0.0
    if loss in _LOWEST and wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{where} is {numbers[row]:.15g} in {name_row(row)}, but --loss {loss} needs targets {_LOWEST[loss]}; "
            "correct it, or give --loss squared"
        )
    return numbers


def describe_classes(target: Vector, loss: str) -> list[str]:
    """A note if the classes may be meant as numbers, or as names of the rows."""
    if loss != LOGISTIC:
        return []
    count = len(np.unique(target))
    if target.dtype.kind == "f" and count > _MANY_CLASSES:
        return [f"the target has {count} different numbers, and each is a class; for a regression give --loss squared"]
    if count > max(_MANY_CLASSES, len(target) / 2):
        return [f"the target has {count} different texts in {len(target)} rows, and each is a class"]
    return []


def _read_regression_target(cells: Cells, loss: str) -> Vector:
    cells.require_values("fill in a number, or remove the row")
    if cells.holds == TEXT and not cells.looks_like_numbers:
        raise InputError(
            f"{cells.where} holds text, such as {cells.first!r}, and --loss {loss} predicts numbers; for classes give "
            "--loss logistic"
        )
    return cells.numbers("if the target is a class, give --loss logistic")


def _require_classes(labels: Vector, where: str) -> None:
    if labels.dtype.kind == "f" and (fractional := labels != np.trunc(labels)).any():
        row = int(fractional.argmax())
        raise InputError(
            f"{where} is {labels[row]:.15g} in {name_row(row)}, and --loss logistic predicts classes; for a "
            "regression give --loss squared"
        )
    if (labels == labels[0]).all():
        label = f"{labels[0]:.15g}" if labels.dtype.kind == "f" else show(labels[0])
        raise InputError(
            f"{where} is {label} in every row, and --loss logistic needs two classes at least; add rows of another "
            "class, or give another --target"
        )
