"""The blocks of ``minmin fit``: those given as NAME=COLUMNS:ALPHA, and the remaining columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from minmin.cli.columns import find_columns
from minmin.cli.table import Table
from minmin.errors import InputError

_IGNORED = "--ignore"
"""The name of the ignored columns in error messages."""


class BlockSpec(NamedTuple):
    """A block as the user gave it: its columns as text, and its penalty, or several to choose from."""

    columns: str
    alphas: tuple[float, ...]


def parse_blocks(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> dict[str, BlockSpec]:
    """Parse the values of --block; the result is by the name of the block."""
    specs: dict[str, BlockSpec] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        columns, colon, alpha = rest.rpartition(":")
        name = name.strip()
        if not (name and equals and columns.strip() and colon):
            raise click.BadParameter(f"{text!r} is not NAME=COLUMNS:ALPHA, as in 'words=word_*:1e-3'")
        if name in specs:
            raise click.BadParameter(f"block {name!r} is given twice; give all its columns at once, with commas")
        specs[name] = BlockSpec(columns, _parse_numbers(alpha))
    return specs


def parse_alphas(context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    """Parse the value of --alpha."""
    return None if text is None else _parse_numbers(text)


def _parse_numbers(text: str) -> tuple[float, ...]:
    return tuple(click.FLOAT(item.strip()) for item in text.split(","))


def choose_blocks(table: Table, specs: Mapping[str, BlockSpec], ignored: str | None) -> dict[Any, Any]:
    """The columns of each block, in the given order. Columns in no block form a last one, unless they are ignored."""
    from minmin.estimators.blocks import ALL, resolve_blocks  # scikit-learn takes a second to load

    selectors = {name: sorted(find_columns(table, spec.columns, f"--block {name}")) for name, spec in specs.items()}
    if ignored is not None:
        if table.numbered:
            raise InputError(f"--ignore {ignored}: {table.file} is read as LIBSVM; --ignore is for CSV and Parquet")
        selectors[_IGNORED] = sorted(find_columns(table, ignored, "--ignore"))
    blocks = resolve_blocks(selectors or None, None, len(table.names), table.names)
    blocks.pop(_IGNORED, None)
    if not any(map(len, blocks.values())):
        raise InputError(f"no column of {table.file} is left to fit; give fewer columns to --ignore")
    return blocks if specs else dict(zip([ALL], blocks.values(), strict=True))
