"""A linear model with two blocks, read from a file: the options that describe it, and the problem that they give."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from minmin.cli.columns import split_columns
from minmin.cli.delimited import delimiter_option
from minmin.cli.table import read_table
from minmin.problems import GLM
from minmin.problems.linear.losses import LOSSES

target_option = click.option(
    "--target", metavar="COLUMN", help="The column to predict in a CSV or Parquet file (LIBSVM files have a label)."
)


def loss_option(names: Iterable[str], text: str = "The loss of a row.") -> Callable[..., Any]:
    """The option --loss with these choices."""
    choice = click.Choice(sorted(names))
    return click.option("--loss", type=choice, default="logistic", show_default=True, help=text)


_OPTIONS = [
    click.argument("file", type=click.Path(path_type=Path)),
    target_option,
    click.option("--x-columns", metavar="COLUMNS", help="The expensive block. [default: all columns not in y]"),
    click.option("--y-columns", metavar="COLUMNS", help="The cheap block. [default: all columns not in x]"),
    loss_option(LOSSES),
    click.option("--alpha-x", type=float, metavar="A", help="The penalty of x: adds A/2 |x|². [default: 1/rows]"),
    click.option("--alpha-y", type=float, metavar="A", help="The penalty of y: adds A/2 |y|². [default: 1/rows]"),
    delimiter_option,
]


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a model to a command, which is then called with a Model instead of them."""

    @functools.wraps(command)
    def with_model(**options: Any) -> Any:
        model_values = {name: options.pop(name) for name in inspect.signature(_read_model).parameters}
        return command(model=_read_model(**model_values), **options)

    return functools.reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), with_model)


@dataclass(frozen=True)
class Model:
    """A linear model with two blocks: the problem, its file, and the names of its columns.

    ``labels`` are the two classes in the file if the loss is of classes, ``first_index`` is the index of the first
    column in a LIBSVM file, and ``format`` says how a CSV file is written if its name does not.
    """

    file: Path
    problem: GLM
    x_columns: list[str]
    y_columns: list[str]
    rows: int
    labels: Any
    first_index: int | None
    format: str

    def __str__(self) -> str:
        p = self.problem
        return (
            f"{self.file.name}: {self.rows} rows{self.format and ', '}{self.format}; "
            f"x: {describe_columns(self.x_columns)}; y: {describe_columns(self.y_columns)}\n"
            f"{p.loss.name} loss, alpha_x = {p.alpha_x:.3g}, alpha_y = {p.alpha_y:.3g}"
        )

    def summary(self) -> dict[str, Any]:
        p = self.problem
        return {
            "file": str(self.file),
            "rows": self.rows,
            "x_columns": len(self.x_columns),
            "y_columns": len(self.y_columns),
            "loss": p.loss.name,
            "alpha_x": p.alpha_x,
            "alpha_y": p.alpha_y,
        }


def describe_columns(columns: list[str]) -> str:
    shown = ", ".join(columns if len(columns) <= 4 else [*columns[:2], "…", columns[-1]])
    return f"{len(columns)} column{'s' if len(columns) > 1 else ''} ({shown})"


def _read_model(
    file: Path,
    target: str | None,
    x_columns: str | None,
    y_columns: str | None,
    loss: str,
    alpha_x: float | None,
    alpha_y: float | None,
    delimiter: str | None,
) -> Model:
    table = read_table(file, delimiter=delimiter)
    values = table.take_target(target)
    x, y = split_columns(table, x_columns, y_columns)
    rows = table.rows
    problem = GLM(
        choose_storage(table.matrix(x)),
        choose_storage(table.matrix(y)),
        values,
        loss,
        alpha_x=1.0 / rows if alpha_x is None else alpha_x,
        alpha_y=1.0 / rows if alpha_y is None else alpha_y,
    )
    labels = np.array([-1 if (values == -1.0).any() else 0, 1])
    x_names, y_names = ([table.names[i] for i in columns] for columns in (x, y))
    return Model(file, problem, x_names, y_names, rows, labels, table.first_index, table.format)


def choose_storage(matrix: Any) -> Any:
    """The matrix as a dense array if more than 30 % of it is stored, since dense products are then faster."""
    filled = matrix.nnz / max(1, matrix.shape[0] * matrix.shape[1])
    return matrix.toarray() if filled > 0.3 else matrix
