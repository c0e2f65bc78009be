"""Columns of a table that are no features: what identifies a row, weighs it, or is added to its margin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click
import numpy as np

from minmin.cli.cells import Vector
from minmin.cli.table import Frame, Table
from minmin.errors import InputError

ROLES = ("id", "weight", "offset", "exposure")
_EXPOSURE_LOSSES = ("gamma", "poisson", "tweedie")

OFFSET_OPTIONS = {
    "offset": click.option(
        "--offset", metavar="COLUMN", help="A column that is added to the margin, with coefficient 1."
    ),
    "exposure": click.option(
        "--exposure",
        metavar="COLUMN",
        help="A column by which the expected target is multiplied, above 0: the offset is its logarithm. For the "
        f"losses {', '.join(_EXPOSURE_LOSSES)}.",
    ),
}
_OPTIONS = [
    click.option(
        "--id", "id_", metavar="COLUMN", help="A column that names the rows: no feature, kept in predictions."
    ),
    click.option("--weight", metavar="COLUMN", help="A column with the weights of the rows, at least 0."),
    *OFFSET_OPTIONS.values(),
]


def role_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option per role to a command, which is then called with ``roles``, the given columns by role."""

    @functools.wraps(command)
    def with_roles(*, id_: str | None, **options: Any) -> Any:
        given = {"id": id_, **{role: options.pop(role) for role in ROLES[1:]}}
        return command(roles={role: name for role, name in given.items() if name is not None}, **options)

    return functools.reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), with_roles)


def check_roles(table: Table, roles: Mapping[str, str], target: str | None, loss: str) -> None:
    """Check the options before columns are taken."""
    owners: dict[str, str] = {} if target is None else {target: "target"}
    for role, name in roles.items():
        if not isinstance(table, Frame):
            raise InputError(f"--{role} {name}: {table.file} is {table.kind}; --{role} is for CSV and Parquet")
        if name in owners:
            raise InputError(f"column {name!r} is given to --{owners[name]} and to --{role}; give two columns")
        owners[name] = role
    if "exposure" in roles and loss not in _EXPOSURE_LOSSES:
        raise InputError(
            f"--exposure is for --loss {', '.join(_EXPOSURE_LOSSES)}, whose expected target it multiplies; with --loss "
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
