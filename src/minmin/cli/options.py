"""Options that describe the data: columns, blocks, roles, and the model of two blocks. Loads nothing else."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from minmin.cli.estimator import ESTIMATORS

LOSSES = (*ESTIMATORS, "cloglog", "negative-binomial", "probit", "squared-hinge")
"""The losses of a linear model with two blocks."""


delimiter_option = click.option(
    "--delimiter",
    metavar="CHARACTER",
    callback=lambda context, option, text: _check_delimiter(text),
    help="What separates the columns of a CSV file; 'tab' for tabs. [default: found by looking at the first rows]",
)


class DataPath(click.Path):
    """The path of data; - is what another program sends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert("/dev/stdin" if value == "-" else value, param, ctx)


form_option = click.option(
    "--format",
    "form",
    type=click.Choice(["arrow", "csv", "libsvm", "parquet"]),
    help="What DATA is, if its name does not say it, as that of a pipe. [default: by its name, or else LIBSVM]",
)
target_option = click.option(
    "--target", metavar="COLUMN", help="The column to predict in a CSV or Parquet file (LIBSVM files have a label)."
)


def loss_option(names: Iterable[str], text: str = "The loss of a row.") -> Callable[..., Any]:
    """The option --loss with these choices."""
    choice = click.Choice(sorted(names))
    return click.option("--loss", type=choice, default="logistic", show_default=True, help=text)


def _check_delimiter(text: str | None) -> str | None:
    if text is None:
        return None
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise click.BadParameter(f"{text!r} is not one character; give one such as ';', or 'tab'")
    return text


_MODEL_OPTIONS = [
    click.argument("file", type=DataPath(path_type=Path)),
    target_option,
    click.option("--x-columns", metavar="COLUMNS", help="The expensive block. [default: all columns not in y]"),
    click.option("--y-columns", metavar="COLUMNS", help="The cheap block. [default: all columns not in x]"),
    loss_option(LOSSES),
    click.option("--alpha-x", type=float, metavar="A", help="The penalty of x: adds A/2 |x|². [default: 1/rows]"),
    click.option("--alpha-y", type=float, metavar="A", help="The penalty of y: adds A/2 |y|². [default: 1/rows]"),
    form_option,
    delimiter_option,
]


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a model to a command, which is then called with a Model instead of them."""

    @functools.wraps(command)
    def with_model(**options: Any) -> Any:
        from minmin.cli.model import read_model

        model_values = {name: options.pop(name) for name in inspect.signature(read_model).parameters}
        return command(model=read_model(**model_values), **options)

    return functools.reduce(lambda decorated, option: option(decorated), reversed(_MODEL_OPTIONS), with_model)


ROLES = ("id", "weight", "offset", "exposure")
EXPOSURE_LOSSES = ("gamma", "poisson", "tweedie")

OFFSET_OPTIONS = {
    "offset": click.option(
        "--offset", metavar="COLUMN", help="A column that is added to the margin, with coefficient 1."
    ),
    "exposure": click.option(
        "--exposure",
        metavar="COLUMN",
        help="A column by which the expected target is multiplied, above 0: the offset is its logarithm. For the "
        f"losses {', '.join(EXPOSURE_LOSSES)}.",
    ),
}
_ROLE_OPTIONS = [
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

    return functools.reduce(lambda decorated, option: option(decorated), reversed(_ROLE_OPTIONS), with_roles)


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
