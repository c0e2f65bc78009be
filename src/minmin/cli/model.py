"""A linear model with two blocks, read from a file: the problem that its options give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minmin.cli.columns import split_columns
from minmin.cli.output import describe_columns
from minmin.cli.reading import read_table
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.problems import GLM


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


def read_model(
    file: Path,
    target: str | None,
    x_columns: str | None,
    y_columns: str | None,
    loss: str,
    alpha_x: float | None,
    alpha_y: float | None,
    form: str | None,
    delimiter: str | None,
) -> Model:
    table = read_table(file, form=form, delimiter=delimiter)
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
        sample_weight=table.weight,
        offset=table.offset,
    )
    labels = np.array([-1 if (values == -1.0).any() else 0, 1])
    x_names, y_names = ([table.names[i] for i in columns] for columns in (x, y))
    return Model(file, problem, x_names, y_names, rows, labels, table.first_index, table.format)


def choose_storage(matrix: Any) -> Any:
    """The matrix as a dense array if more than 30 % of it is stored, since dense products are then faster.

    Partitions stay as they are.
    """
    if isinstance(matrix, PartitionedMatrix):
        return matrix
    filled = matrix.nnz / max(1, matrix.shape[0] * matrix.shape[1])
    return matrix.toarray() if filled > 0.3 else matrix
