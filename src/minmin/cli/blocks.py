"""The blocks of ``minmin fit``: NAME=COLUMNS:ALPHA, and what is left over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import click

from minmin.cli.columns import described
from minmin.cli.table import Table
from minmin.errors import InputError

ALL, REST = "all", "rest"
"""What the block of columns in no --block is called, without any --block and beside some."""


@dataclass(frozen=True)
class BlockSpec:
    """What a user wrote: a name, which columns, and their penalty."""

    name: str
    columns: str
    alpha: float


@dataclass(frozen=True)
class Block:
    """A block of a table: column numbers from 0 on."""

    name: str
    columns: list[int]
    alpha: float


def parsed_blocks(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> list[BlockSpec]:
    """The values of --block."""
    return [_parsed_block(text) for text in texts]


def parsed_alpha(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """The value of --alpha: a finite number, not negative."""
    return None if text is None else _alpha(text)


def _parsed_block(text: str) -> BlockSpec:
    name, equals, rest = text.partition("=")
    columns, colon, alpha = rest.rpartition(":")
    if not (name.strip() and equals and columns.strip() and colon):
        raise click.BadParameter(f"{text!r} is not NAME=COLUMNS:ALPHA, as in 'words=word_*:1e-3'")
    return BlockSpec(name.strip(), columns, _alpha(alpha))


def _alpha(text: str) -> float:
    try:
        alpha = float(text)
    except ValueError:
        raise click.BadParameter(f"alpha = {text!r} is not a number") from None
    if not 0.0 <= alpha < math.inf:
        raise click.BadParameter(f"alpha = {text} must be finite and not negative")
    return alpha


def chosen_blocks(table: Table, specs: Sequence[BlockSpec], ignored: str | None, alpha: float) -> list[Block]:
    """The blocks in the order given; the columns in none of them, unless ignored, form a last one under `alpha`."""
    owner: dict[int, str] = {}
    if ignored is not None:
        if table.numbered:
            raise InputError(f"--ignore {ignored}: columns of a LIBSVM file keep their numbers; leave none out")
        owner = dict.fromkeys(described(table, ignored, "--ignore"), "--ignore")
    blocks: list[Block] = []
    for spec in specs:
        option = f"--block {spec.name}"
        if spec.name in (block.name for block in blocks):
            raise InputError(f"{option} is given twice; put its columns into one, separated by commas")
        columns = sorted(described(table, spec.columns, option))
        if taken := [column for column in columns if column in owner]:
            column, other = table.names[taken[0]], owner[taken[0]]
            raise InputError(f"{option}: column {column!r} is in {other}, too; every column belongs to one block")
        owner |= dict.fromkeys(columns, option)
        blocks.append(Block(spec.name, columns, spec.alpha))
    left = [column for column in range(len(table.names)) if column not in owner]
    if left:
        name = REST if specs else ALL
        if name in (block.name for block in blocks):
            raise InputError(f"--block {name}: that is the name of the columns in no block; give this one another")
        blocks.append(Block(name, left, alpha))
    if not blocks:
        raise InputError(f"no column of {table.file} is left to fit")
    return blocks
