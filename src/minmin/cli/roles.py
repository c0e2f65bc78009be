"""Columns of a table that are no features: what identifies a row, weighs it, or is added to its margin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minmin.cli.cells import Vector
from minmin.cli.options import EXPOSURE_LOSSES
from minmin.cli.table import Frame, Table
from minmin.errors import InputError


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
