"""minmin fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from minmin.cli.estimator import ESTIMATORS, fit_estimator, make_estimator, remember_columns
from minmin.cli.options import (
    BlockSpec,
    DataPath,
    delimiter_option,
    form_option,
    loss_option,
    parse_alphas,
    parse_blocks,
    role_options,
    target_option,
)
from minmin.cli.output import (
    EXIT_CODES,
    Output,
    align_columns,
    describe_columns,
    output_options,
    save_option,
    show_progress,
    summarise,
)
from minmin.errors import InputError

if TYPE_CHECKING:
    from minmin.cli.data import Data
    from minmin.cli.table import Table

_POSITIVE = click.FloatRange(0.0, min_open=True)


@click.command()
@click.argument("file", metavar="DATA", type=DataPath(path_type=Path))
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
@click.option(
    "--alpha", callback=parse_alphas, metavar="A", help="The penalty of the columns in no --block. [default: 1/rows]"
)
@click.option("--ignore", metavar="COLUMNS", help="Columns of a CSV or Parquet file to leave out.")
@click.option("--text", metavar="COLUMNS", help="Columns of numbers or dates to take as text, such as postcodes.")
@click.option("--numbers", metavar="COLUMNS", help="Columns of text to take as numbers; every cell must be one.")
@role_options
@loss_option(
    ESTIMATORS,
    "What the target is: logistic for classes; squared, or huber with outliers, for numbers; poisson for counts; gamma "
    "for amounts above 0; tweedie for amounts of which many are 0.",
)
@click.option("--power", type=float, metavar="P", help="Tweedie's power, above 1 and below 2. [default: 1.5]")
@click.option("--delta", type=_POSITIVE, metavar="D", help="Huber: errors beyond it count linearly. [default: 1]")
@click.option("--intercept/--no-intercept", default=True, show_default=True, help="Add an unpenalised intercept.")
@click.option(
    "--tol",
    type=_POSITIVE,
    default=1e-6,
    show_default=True,
    help="Stop when f - f* is proved to be at most this times the gain over a model of the intercept alone.",
)
@click.option("--max-seconds", type=_POSITIVE, help="Stop a fit after this time anyway.")
@click.option(
    "--cv",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Print scores by cross-validation, too: mean ± standard deviation over the folds. The model is fitted to all "
    "rows. If some penalty is a list, as in 1e-2,1e-4, choose the combination with the lowest loss; otherwise choose "
    "nothing.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="SHARE",
    help="Fit the model without this share of the rows, drawn at random, and print its scores on them.",
)
@click.option("--seed", default=0, show_default=True, help="The seed that draws folds and held-out rows.")
@form_option
@delimiter_option
@save_option("skops", "Write the model to this file, for 'minmin predict' and 'minmin coefficients'.")
@output_options
def fit(
    file: Path,
    target: str | None,
    specs: dict[str, BlockSpec],
    alpha: tuple[float, ...] | None,
    ignore: str | None,
    text: str | None,
    numbers: str | None,
    roles: dict[str, str],
    loss: str,
    power: float | None,
    delta: float | None,
    intercept: bool,
    tol: float,
    max_seconds: float | None,
    cv: int | None,
    held_out: float | None,
    seed: int,
    form: str | None,
    delimiter: str | None,
    save: Path | None,
    output: Output,
) -> int:
    """Fit a linear model with a penalty per block of columns to DATA, and save it.

    DATA is a CSV or Parquet file with a header, a LIBSVM file, or a folder that 'minmin partition' wrote. The fit
    minimises the mean loss plus ALPHA/2 |w|² of each block. COLUMNS are names and patterns in a CSV or Parquet file, as
    in 'age,price_*', with @text and @numbers for all columns of a kind; or numbers in a LIBSVM file, counted from 1, as
    in '1-100,120-'. Columns in no block form a last block, 'rest'.

    A text column has a coefficient per category; an empty cell is a category of its own. Columns of numbers must have
    no empty cells. Text that looks like numbers or dates is an error, unless --text or --numbers says what it is. With
    --loss logistic the target may be text or numbers, of two classes or more.

    \b
    A strong penalty for categories, a weak one for numbers; the target is yes or no:
      minmin fit clients.csv --target bought --block 'text=@text:1e-3' --alpha 1e-6 --id client --save model.skops
      minmin predict model.skops tomorrow.csv --proba
      minmin coefficients model.skops
    Numbers of claims per year of insurance:
      minmin fit claims.csv --target claims --loss poisson --exposure years --ignore 'amount,date' --cv 5
    Penalties chosen by cross-validation, and the model tested on other rows:
      minmin fit clients.csv --target bought --block 'text=@text:1e-2,1e-3,1e-4' --alpha 1e-6 --cv 5 --held-out 0.2
    A LIBSVM file, with one penalty for the first 100 columns and another for the rest:
      minmin fit a9a.gz --block first=1-100:1e-4 --alpha 1e-2
    """
    from minmin.cli.data import describe_classes, find_row_names, read_data
    from minmin.cli.reading import OnDisk, read_table
    from minmin.cli.saved import dump  # if skops is missing, fail before the work
    from minmin.cli.scoring import choose_alphas, count_combinations, hold_out, score

    table = read_table(file, form=form, delimiter=delimiter)
    if isinstance(table, OnDisk) and (cv is not None or held_out is not None):
        raise InputError(f"--cv and --held-out need all rows in memory, and {file} is {table.kind}; leave them out")
    data = read_data(
        table, target=target, loss=loss, roles=roles, text=text, numbers=numbers, specs=specs, ignore=ignore
    )
    for note in [*table.notes, *describe_classes(data.target, loss), *find_row_names(data)]:
        output.print_note(note)
    default = (1.0 / table.rows,) if alpha is None else alpha
    grid = {name: specs[name].alphas if name in specs else default for name in data.blocks}
    combinations = count_combinations(grid)
    if cv is not None and held_out is not None and combinations == 1:
        raise InputError("--cv and --held-out both score; give one, or several penalties for --cv to choose from")
    fitted, tested = (data, None) if held_out is None else hold_out(data, held_out, loss, seed)
    options: dict[str, Any] = {"fit_intercept": intercept, "tol": tol, "max_seconds": max_seconds}
    options |= {"power": power, "delta": delta}
    alphas = choose_alphas(fitted, table, grid, loss, cv, seed, **options)
    untrained = make_estimator(loss, data.blocks, alpha=alphas, **options)
    model = fit_estimator(untrained, fitted, table, verbose=output.shows_progress)
    scores: dict[str, Any] = {}
    if tested is not None:
        scores = {"held_out": {"rows": tested.rows, "seed": seed, **score(model, tested, loss)}}
    elif cv is not None:
        scores = {"cv": _cross_validate(untrained, data, table, cv, loss, seed, output)}
    blocks = _describe_blocks(data, model)
    output.print_result(
        _describe(table, blocks, loss, model, scores, combinations),
        {**_summarise_fit(table, fitted, blocks, loss, model), "combinations": combinations, **scores},
    )
    if save is not None:
        remember_columns(model, data, table, target, roles)
        output.save(save, dump(model))
    return EXIT_CODES.get(model.result_.status, 1)


def _cross_validate(
    untrained: Any, data: Data, table: Table, folds: int, loss: str, seed: int, output: Output
) -> dict[str, Any]:
    """The mean and the standard deviation of each score."""
    from minmin.cli.scoring import cross_validate

    found, reached = [], 0
    with show_progress("folds", shown=output.shows_progress) as on_progress:
        on_progress(0, folds)
        runs = cross_validate(lambda part: fit_estimator(untrained, part, table), data, folds, loss, seed)
        for number, (scores, success) in enumerate(runs, 1):
            found.append(scores)
            reached += success
            on_progress(number, folds)
    spread = {
        name: {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1))}
        for name in found[0]
        for values in [[scores[name] for scores in found]]
    }
    return {"folds": folds, "seed": seed, "reached_tol": reached, **spread}


def _describe_blocks(data: Data, model: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "columns": [data.names[column] for column in data.blocks[name]],
            "coefficients": len(features),
            "alpha": model.alpha_[name],
            "norm": float(np.linalg.norm(model.coef_[..., features])),
        }
        for name, features in model.blocks_.items()
    ]


def _summarise_fit(table: Table, fitted: Data, blocks: list[dict[str, Any]], loss: str, model: Any) -> dict[str, Any]:
    return {
        "file": str(table.file),
        "format": table.format or None,
        "rows": fitted.rows,
        "loss": loss,
        "blocks": [{**block, "columns": len(block["columns"])} for block in blocks],
        "intercept": np.asarray(model.intercept_).tolist() if model.fit_intercept else None,
        **summarise(model.result_),
    }


def _describe(
    table: Table, blocks: list[dict[str, Any]], loss: str, model: Any, scores: dict[str, Any], combinations: int
) -> str:
    lines = [
        ("block", "columns", "coefficients", "alpha", "|w|"),
        *(
            (b["name"], describe_columns(b["columns"]), str(b["coefficients"]), f"{b['alpha']:.3g}", f"{b['norm']:.4g}")
            for b in blocks
        ),
    ]
    if model.fit_intercept:
        lines.append(("intercept", "", "1", "0", f"{np.linalg.norm(model.intercept_):.4g}"))
    rows = f"{table.rows} rows{table.format and ', '}{table.format}"
    parts = [f"{table.file.name}: {rows}; {loss} loss", align_columns(lines), str(model.result_)]
    if combinations > 1:
        parts.append(f"penalties: chosen by cross-validation, the best of {combinations} combinations")
    return "\n\n".join([*parts, *map(_describe_scores, scores, scores.values())])


def _describe_scores(kind: str, scores: dict[str, Any]) -> str:
    if kind == "held_out":
        shown = ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if name not in ("rows", "seed"))
        return f"held out: {shown} ({scores['rows']} rows, seed {scores['seed']}; the model does not know them)"
    shown = ", ".join(
        f"{name} {value['mean']:.4g} ± {value['std']:.2g}" for name, value in scores.items() if isinstance(value, dict)
    )
    missed = scores["folds"] - scores["reached_tol"]
    unproved = f"; {missed} of the fits did not reach --tol" if missed else ""
    return f"cross-validation: {shown} ({scores['folds']} folds, seed {scores['seed']}{unproved})"
