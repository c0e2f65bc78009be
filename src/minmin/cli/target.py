"""The target of ``minmin fit``: classes for the logistic loss, numbers for the others."""

from __future__ import annotations

import numpy as np

from minmin.cli.cells import TEXT, Cells, Vector, name_row
from minmin.cli.table import Table
from minmin.errors import InputError, show

LOGISTIC = "logistic"
_LOWEST = {"poisson": "at least 0", "tweedie": "at least 0", "gamma": "above 0"}
_MANY_CLASSES = 20
"""Numbers with more different values than this may well be meant for a regression."""


def read_target(table: Table, name: str | None, loss: str) -> Vector:
    """Remove the target from the table, and return it in the form that the loss needs."""
    where = f"the label of {table.file}" if name is None else f"column {name!r} of {table.file}"
    if loss == LOGISTIC:
        labels = table.take_target(name, Cells.labels)
        _require_classes(labels, where)
        return labels
    numbers = table.take_target(name, lambda cells: _read_numbers(cells, loss))
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


def _read_numbers(cells: Cells, loss: str) -> Vector:
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
