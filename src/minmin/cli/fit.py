"""minmin fit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from minmin.cli.blocks import BlockSpec, choose_blocks, parse_blocks
from minmin.cli.model import choose_storage, describe_columns, loss_option, target_option
from minmin.cli.output import (
    EXIT_CODES,
    Output,
    align_columns,
    output_options,
    save_option,
    summarise,
    tol_option,
)
from minmin.cli.table import Table, read_table
from minmin.errors import InputError, MinMinError


@click.command()
@click.argument("file", metavar="DATA", type=click.Path(path_type=Path))
@target_option
@click.option(
    "--block",
    "specs",
    callback=parse_blocks,
    metavar="NAME=COLUMNS:ALPHA",
    multiple=True,
    help="A block of columns and its penalty, which adds ALPHA/2 |w|² to the mean loss; 0 is allowed. Repeat the "
    "option for more blocks.",
)
@click.option("--alpha", type=float, metavar="A", help="The penalty of the columns in no --block. [default: 1/rows]")
@click.option("--ignore", metavar="COLUMNS", help="Columns of a CSV or Parquet file to leave out.")
@loss_option(["logistic", "squared", "poisson"])
@click.option("--intercept/--no-intercept", default=True, show_default=True, help="Add an unpenalised intercept.")
@tol_option(type=click.FloatRange(0.0, min_open=True))
@click.option("--max-seconds", type=click.FloatRange(0.0, min_open=True), help="Stop after this time anyway.")
@save_option("skops", "Write the model to this file, for 'minmin predict'.")
@output_options
def fit(
    file: Path,
    target: str | None,
    specs: dict[str, BlockSpec],
    alpha: float | None,
    ignore: str | None,
    loss: str,
    intercept: bool,
    tol: float,
    max_seconds: float | None,
    save: Path | None,
    output: Output,
) -> int:
    """Fit a linear model with a penalty per block of columns to DATA, and save it.

    DATA is a CSV or Parquet file with a header, or a LIBSVM file. The fit minimises the mean loss plus ALPHA/2 |w|² of
    each block. COLUMNS are names and patterns in a CSV or Parquet file, as in 'age,price_*', or numbers in a LIBSVM
    file, counted from 1, as in '1-100,120-'. Columns in no block form a last block, 'rest'. With the logistic loss the
    target may have more than two classes.

    \b
    A strong penalty for many rare words, a weak one for age and price:
      minmin fit clicks.csv --target clicked --block 'words=word_*:1e-3' --block 'numeric=age,price:1e-6' \\
                            --save model.skops
      minmin predict model.skops tomorrow.csv --proba
    A LIBSVM file, with one penalty for the first 100 columns and another for the rest:
      minmin fit a9a.gz --block first=1-100:1e-4 --alpha 1e-2
    Counts, without any penalty:
      minmin fit visits.parquet --target visits --loss poisson --alpha 0 --ignore 'id,date'
    """
    from minmin.cli.saved import dump  # if skops is missing, fail before the work

    table = read_table(file)
    values = table.take_target(target)
    blocks = choose_blocks(table, specs, ignore)
    default = 1.0 / table.rows if alpha is None else alpha
    alphas = {name: specs[name].alpha if name in specs else default for name in blocks}
    options = {"fit_intercept": intercept, "tol": tol, "max_seconds": max_seconds, "verbose": output.shows_progress}
    model = _fit(table, values, blocks, loss, alpha=alphas, **options)
    fitted_blocks = [
        {
            "name": name,
            "columns": [table.names[column] for column in blocks[name]],
            "alpha": model.alpha_[name],
            "norm": float(np.linalg.norm(model.coef_[..., columns])),
        }
        for name, columns in model.blocks_.items()
    ]
    output.print_result(_describe(table, fitted_blocks, loss, model), _summarise_fit(table, fitted_blocks, loss, model))
    if save is not None:
        output.save(save, dump(model))
    return EXIT_CODES.get(model.result_.status, 1)


def _fit(table: Table, values: Any, blocks: dict[Any, Any], loss: str, **parameters: Any) -> Any:
    """The fitted estimator; it stores the names of its columns if the table has names."""
    from sklearn.exceptions import ConvergenceWarning

    from minmin import estimators

    kinds = {
        "logistic": estimators.BlockLogisticRegression,
        "squared": estimators.BlockRidge,
        "poisson": estimators.BlockPoissonRegressor,
    }
    used = sorted(np.concatenate(list(blocks.values())).tolist())
    model = kinds[loss]({name: np.searchsorted(used, columns) for name, columns in blocks.items()}, **parameters)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the printed result says it
            model.fit(choose_storage(table.matrix(used)), values)
    except MinMinError:
        raise
    except ValueError as error:
        raise InputError(f"{table.file}: {' '.join(str(error).split())}") from error
    if table.numbered:
        model.first_index_ = table.first_index  # 'minmin predict' counts columns from the same index
    else:
        model.feature_names_in_ = np.array([table.names[column] for column in used], dtype=object)
    return model


def _summarise_fit(table: Table, blocks: list[dict[str, Any]], loss: str, model: Any) -> dict[str, Any]:
    return {
        "file": str(table.file),
        "rows": table.rows,
        "loss": loss,
        "blocks": [{**block, "columns": len(block["columns"])} for block in blocks],
        "intercept": np.asarray(model.intercept_).tolist() if model.fit_intercept else None,
        **summarise(model.result_),
    }


def _describe(table: Table, blocks: list[dict[str, Any]], loss: str, model: Any) -> str:
    lines = [
        ("block", "columns", "alpha", "|w|"),
        *((b["name"], describe_columns(b["columns"]), f"{b['alpha']:.3g}", f"{b['norm']:.4g}") for b in blocks),
    ]
    if model.fit_intercept:
        lines.append(("intercept", "", "0", f"{np.linalg.norm(model.intercept_):.4g}"))
    return f"{table.file.name}: {table.rows} rows; {loss} loss\n\n{align_columns(lines)}\n\n{model.result_}"
