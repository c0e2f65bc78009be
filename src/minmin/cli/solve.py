"""minmin solve."""

from __future__ import annotations

import io
import json
from pathlib import Path

import click
import numpy as np

from minmin.cli.model import Model, model_options
from minmin.cli.output import EXIT_CODES, Output, outcome, output_options, save_option, tol_option
from minmin.methods import names
from minmin.result import Result
from minmin.solve import minimize


@click.command()
@model_options
@click.option("--method", type=click.Choice(names()), default="auto", show_default=True)
@tol_option(type=float)
@save_option("npz", "Write x, y, their columns' names and the outcome to this .npz file.")
@output_options
def solve(model: Model, method: str, tol: float, save: Path | None, output: Output) -> int:
    """Fit a generalised linear model with a penalty per block to FILE: LIBSVM, or CSV or Parquet with a header.

    What is minimised is the mean loss plus alpha_x/2 |x|² + alpha_y/2 |y|², without an intercept. COLUMNS are names
    and patterns of a table, 'age,price_*', or numbers of a LIBSVM file, counted from 1, '1-100,120-'. Without either
    option the densest columns, up to a tenth of all entries, are y.

    \b
    The first 100 columns are expensive, the rest cheap:
      minmin solve a9a.gz --x-columns 1-100 --alpha-x 1e-3 --alpha-y 1e-5
    A table, all columns but the target and those in y are x; keep the answer:
      minmin solve clicks.csv --target clicked --y-columns 'age,price_*' --save model.npz
    For a script:
      minmin solve a9a.gz --json | jq .gap_bound
    """
    output.say(model)
    result = minimize(model.problem, method=method, tol=tol, progress=output.shows_progress)
    output.answer(result, {**model.summary(), **outcome(result)})
    if save is not None:
        output.save(save, _archive(model, result))
    return EXIT_CODES.get(result.status, 1)


def _archive(model: Model, result: Result) -> bytes:
    buffer = io.BytesIO()
    told = json.dumps({**model.summary(), **outcome(result)})
    np.savez(
        buffer,
        allow_pickle=False,
        x=result.x,
        y=result.y,
        x_columns=np.array(model.x_columns),
        y_columns=np.array(model.y_columns),
        outcome=np.array(told),
    )
    return buffer.getvalue()
