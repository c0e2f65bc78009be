"""minmin fit."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from minmin.cli.blocks import Block, BlockSpec, chosen_blocks, parsed_alpha, parsed_blocks
from minmin.cli.model import compact, several
from minmin.cli.output import EXIT_CODES, as_json, columns_of_text, outcome, print_json, quiet, save_option
from minmin.cli.table import Table, read
from minmin.errors import InputError, MinMinError
from minmin.files import write_atomically
from minmin.problems.linear.losses import LOSSES


@click.command()
@click.argument("file", metavar="DATA", type=click.Path(path_type=Path))
@click.option("--target", metavar="COLUMN", help="What to predict (CSV, Parquet; LIBSVM files begin lines with it).")
@click.option(
    "--block",
    "specs",
    callback=parsed_blocks,
    metavar="NAME=COLUMNS:ALPHA",
    multiple=True,
    help="Columns under a penalty of their own, ALPHA/2 |w|² beside the mean loss; 0 is allowed. Any number of times.",
)
@click.option(
    "--alpha",
    callback=parsed_alpha,
    metavar="A",
    help="The penalty of all columns in no --block. [default: 1/rows]",
)
@click.option("--ignore", metavar="COLUMNS", help="Columns of a table to leave out.")
@click.option("--loss", type=click.Choice(sorted(LOSSES)), default="logistic", show_default=True)
@click.option("--intercept/--no-intercept", default=True, show_default=True, help="Its penalty is 0.")
@click.option(
    "--tol",
    type=click.FloatRange(0.0, min_open=True),
    default=1e-6,
    show_default=True,
    help="Stop when f - f* is proved to be at most this.",
)
@save_option("skops", "Write the model to this file, for 'minmin predict'.")
@as_json
@quiet
def fit(
    file: Path,
    target: str | None,
    specs: list[BlockSpec],
    alpha: float | None,
    ignore: str | None,
    loss: str,
    intercept: bool,
    tol: float,
    save: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Fit a model with a penalty per block to DATA and keep it: LIBSVM, or CSV or Parquet with a header.

    What is minimised is the mean loss plus ALPHA/2 |w|² for every block. COLUMNS are names and patterns of a table,
    'age,price_*', or numbers of a LIBSVM file, counted from 1, '1-100,120-'. Columns in no block form a last one,
    'rest'. A logistic loss takes any number of classes.

    \b
    Strong penalties for many rare words, a weak one for age and price:
      minmin fit clicks.csv --target clicked --block 'words=word_*:1e-3' --block 'numeric=age,price:1e-6' \\
                            --save model.skops
      minmin predict model.skops tomorrow.csv --proba
    A LIBSVM file; all columns but the first 100 under --alpha:
      minmin fit a9a.gz --block first=1-100:1e-4 --alpha 1e-2
    Counts, without penalties at all:
      minmin fit visits.parquet --target visits --loss poisson --alpha 0 --ignore 'id,date'
    """
    table, values = read(file, target)
    blocks = chosen_blocks(table, specs, ignore, 1.0 / table.rows if alpha is None else alpha)
    verbose = not quiet and not as_json and sys.stderr.isatty()
    model = _fitted(table, values, blocks, loss, fit_intercept=intercept, tol=tol, verbose=verbose)
    if as_json:
        print_json({**_summary(table, blocks, loss, model), **outcome(model.result_)})
    elif not quiet:
        click.echo(_text(table, blocks, loss, model))
    if save is not None:
        from minmin.cli.saved import dumped

        write_atomically(save, dumped(model))
        if not quiet and not as_json:
            click.echo(f"saved to {save}")
    return EXIT_CODES.get(model.result_.status, 1)


def _fitted(table: Table, values: Any, blocks: list[Block], loss: str, **parameters: Any) -> Any:
    """The estimator, which knows columns by name where the table has names."""
    import skops.io  # noqa: F401 - what --save needs, said to be missing before the work
    from sklearn.exceptions import ConvergenceWarning

    from minmin import estimators

    kinds = {
        "logistic": estimators.BlockLogisticRegression,
        "squared": estimators.BlockRidge,
        "poisson": estimators.BlockPoissonRegressor,
    }
    used = sorted(column for block in blocks for column in block.columns)
    places = {block.name: np.searchsorted(used, block.columns) for block in blocks}
    model = kinds[loss](places, alpha={block.name: block.alpha for block in blocks}, **parameters)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the outcome says so
            model.fit(compact(table.matrix(used)), values)
    except MinMinError:
        raise
    except ValueError as error:
        raise InputError(f"{table.file}: {' '.join(str(error).split())}") from error
    if table.numbered:
        model.first_index_ = table.first_index  # so that another file's columns are counted alike
    else:
        model.feature_names_in_ = np.array([table.names[column] for column in used], dtype=object)
    return model


def _norm(model: Any, block: Block) -> float:
    return float(np.linalg.norm(model.coef_[..., model.blocks_[block.name]]))


def _summary(table: Table, blocks: list[Block], loss: str, model: Any) -> dict[str, Any]:
    return {
        "file": str(table.file),
        "rows": table.rows,
        "loss": loss,
        "blocks": [
            {"name": block.name, "columns": len(block.columns), "alpha": block.alpha, "norm": _norm(model, block)}
            for block in blocks
        ],
        "intercept": np.asarray(model.intercept_).tolist() if model.fit_intercept else None,
    }


def _text(table: Table, blocks: list[Block], loss: str, model: Any) -> str:
    lines = [("block", "columns", "alpha", "|w|")]
    for block in blocks:
        names = several([table.names[column] for column in block.columns])
        lines.append((block.name, names, f"{block.alpha:.3g}", f"{_norm(model, block):.4g}"))
    if model.fit_intercept:
        lines.append(("intercept", "", "0", f"{np.linalg.norm(model.intercept_):.4g}"))
    return f"{table.file.name}: {table.rows} rows; {loss} loss\n\n{columns_of_text(lines)}\n\n{model.result_}"
