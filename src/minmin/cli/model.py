"""A two-block model from a file: the options that describe it, and the problem they make."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from minmin.cli.columns import two_blocks
from minmin.cli.table import read_table
from minmin.problems import GLM
from minmin.problems.linear.losses import LOSSES

target_option = click.option(
    "--target", metavar="COLUMN", help="What to predict (CSV, Parquet; LIBSVM files begin lines with it)."
)
loss_option = click.option("--loss", type=click.Choice(sorted(LOSSES)), default="logistic", show_default=True)
_OPTIONS = [
    click.argument("file", type=click.Path(path_type=Path)),
    target_option,
    click.option("--x-columns", metavar="COLUMNS", help="The expensive block; all that is left where not given."),
    click.option("--y-columns", metavar="COLUMNS", help="The cheap block; all that is left where not given."),
    loss_option,
    click.option(
        "--alpha-x", type=float, metavar="A", help="Penalty alpha_x/2 |x|² beside the mean loss. [default: 1/rows]"
    ),
    click.option("--alpha-y", type=float, metavar="A", help="Penalty alpha_y/2 |y|². [default: 1/rows]"),
]


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what describes a model to a command, which gets a Model in place of all of it."""

    @functools.wraps(command)
    def with_model(**options: Any) -> Any:
        described = {name: options.pop(name) for name in inspect.signature(_read_model).parameters}
        return command(model=_read_model(**described), **options)

    return functools.reduce(lambda made, option: option(made), reversed(_OPTIONS), with_model)


@dataclass(frozen=True)
class Model:
    """A problem and where it came from."""

    file: Path
    problem: GLM
    x_columns: list[str]
    y_columns: list[str]
    rows: int

    def __str__(self) -> str:
        p = self.problem
        return (
            f"{self.file.name}: {self.rows} rows; x: {several(self.x_columns)}; y: {several(self.y_columns)}\n"
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


def several(columns: list[str]) -> str:
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
) -> Model:
    table = read_table(file)
    values = table.take_target(target)
    x, y = two_blocks(table, x_columns, y_columns)
    rows = table.rows
    problem = GLM(
        compact(table.matrix(x)),
        compact(table.matrix(y)),
        values,
        loss,
        alpha_x=1.0 / rows if alpha_x is None else alpha_x,
        alpha_y=1.0 / rows if alpha_y is None else alpha_y,
    )
    return Model(file, problem, [table.names[i] for i in x], [table.names[i] for i in y], rows)


def compact(matrix: Any) -> Any:
    """Dense where most entries are there anyway, since dense products are faster then."""
    filled = matrix.nnz / max(1, matrix.shape[0] * matrix.shape[1])
    return matrix.toarray() if filled > 0.3 else matrix
