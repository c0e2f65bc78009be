"""Which columns of a file an option names, and which are in which block: x and y, or those of ``minmin fit``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from minmin.cli.cells import NUMBERS, TEXT
from minmin.cli.options import BlockSpec
from minmin.cli.table import Frame, Table
from minmin.errors import InputError, near_names

_SHARE_OF_Y = 0.1
"""If the user does not choose columns, y has at most this share of all entries."""
_KINDS = {"@text": TEXT, "@numbers": NUMBERS}
"""Names for all columns of a kind."""
_IGNORED = "--ignore"
"""The name of the ignored columns in error messages."""


def split_columns(table: Table, x: str | None, y: str | None) -> tuple[list[int], list[int]]:
    """The columns of both blocks. A block that is not given gets the columns that the other leaves."""
    count = len(table.names)
    if count < 2:
        raise InputError(
            f"{table.file} has {count} column{'s' * (count != 1)} besides the target; two blocks need at least two"
        )
    all_columns = set(range(count))
    if x is not None:
        in_x = find_columns(table, x, "--x-columns")
        in_y = all_columns - in_x if y is None else find_columns(table, y, "--y-columns")
    else:
        in_y = _find_densest(table) if y is None else find_columns(table, y, "--y-columns")
        in_x = all_columns - in_y
    if both := in_x & in_y:
        raise InputError(
            f"column {table.names[min(both)]!r} is in both blocks; --x-columns and --y-columns must not overlap"
        )
    for block, option in ((in_x, "--y-columns"), (in_y, "--x-columns")):
        if not block:
            raise InputError(f"{option} takes all columns of {table.file}; leave at least one for the other block")
    return sorted(in_x), sorted(in_y)


def _find_densest(table: Table) -> set[int]:
    entries = table.count_entries()
    order = np.argsort(-entries, kind="stable")
    kept = np.cumsum(entries[order]) <= _SHARE_OF_Y * entries.sum()
    return {int(i) for i in order[: max(1, int(kept.argmin()) if not kept.all() else 1)]}


def find_columns(table: Table, text: str, option: str, ignored: str | None = None) -> set[int]:
    """The columns that an option names: by names and patterns of a table, by numbers and ranges of a LIBSVM file.

    All columns of a kind are those that are not ignored.
    """
    without = set() if ignored is None or table.numbered else find_columns(table, ignored, _IGNORED)
    columns: set[int] = set()
    for item in filter(None, (item.strip() for item in text.split(","))):
        columns |= (
            _find_by_number(table, item, option) if table.numbered else _find_by_name(table, item, option, without)
        )
    return columns


def _find_by_number(table: Table, item: str, option: str) -> set[int]:
    match = re.fullmatch(r"(\d+)(-?)(\d*)", item)
    count = len(table.names)
    if match is None:
        raise InputError(f"{option} {item}: columns of a LIBSVM file are numbers from 1 on, as in '1-100,120-'")
    first = int(match[1])
    last = int(match[3] or count) if match[2] else first
    if not 1 <= first <= last <= count:
        raise InputError(f"{option} {item}: {table.file} has columns 1 to {count}")
    return set(range(first - 1, last))


def _find_by_name(table: Table, item: str, option: str, without: Collection[int]) -> set[int]:
    if item in _KINDS and isinstance(table, Frame):
        kind = _KINDS[item]
        columns = {i for i in range(len(table.names)) if i not in without and table.holds(i) == kind}
        if not columns:
            raise InputError(f"{option} {item}: {table.file} has no column of {kind}")
        return columns
    columns = {i for i, name in enumerate(table.names) if name == item or fnmatchcase(name, item)}
    if not columns:
        raise InputError(f"{option} {item}: {table.file} has no such column; {near_names(item, table.names)}")
    return columns


def drop_ignored(table: Table, ignored: str | None) -> None:
    """Remove columns from a table with names."""
    if ignored is not None:
        dropped = find_columns(table, ignored, _IGNORED)
        table.names = [name for column, name in enumerate(table.names) if column not in dropped]
    if not table.names:
        raise InputError(f"no column of {table.file} is left; give fewer columns to {_IGNORED}")


def choose_blocks(table: Table, specs: Mapping[str, BlockSpec], ignored: str | None) -> dict[Any, Any]:
    """The columns of each block, in the given order. Columns in no block form a last one, unless they are ignored."""
    from minmin.estimators.blocks import ALL, resolve_blocks  # scikit-learn takes a second to load

    selectors = {
        name: sorted(find_columns(table, spec.columns, f"--block {name}", ignored)) for name, spec in specs.items()
    }
    if ignored is not None:
        if table.numbered:
            raise InputError(f"--ignore {ignored}: {table.file} is {table.kind}; --ignore is for CSV and Parquet")
        selectors[_IGNORED] = sorted(find_columns(table, ignored, "--ignore"))
    blocks = resolve_blocks(selectors or None, None, len(table.names), table.names)
    blocks.pop(_IGNORED, None)
    if not any(map(len, blocks.values())):
        raise InputError(f"no column of {table.file} is left to fit; give fewer columns to --ignore")
    return blocks if specs else dict(zip([ALL], blocks.values(), strict=True))
