"""minmin solve; and minmin check, which looks at the same model without fitting it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minmin.cli.options import model_options
from minmin.cli.output import EXIT_CODES, Output, output_options, save_option, summarise, tol_option

if TYPE_CHECKING:
    from minmin.cli.model import Model


def _methods() -> click.Choice[str]:
    from minmin.methods import names

    return click.Choice(names())


def _check_method(context: click.Context, option: click.Parameter, name: str) -> str:
    return _methods().convert(name, option, context)


@click.command()
@model_options
@click.option(
    "--method",
    metavar="METHOD",
    callback=_check_method,
    shell_complete=lambda context, option, start: [name for name in _methods().choices if name.startswith(start)],
    default="auto",
    show_default=True,
    help="The method; 'minmin methods' lists and describes them.",
)
@tol_option(type=float)
@save_option(
    "npz", "Write x, y, the names of their columns and the result to this .npz file; 'minmin predict' reads it."
)
@output_options
def solve(model: Model, method: str, tol: float, save: Path | None, output: Output) -> int:
    """Fit a linear model with two blocks of columns to FILE, without an intercept.

    FILE is a CSV or Parquet file with a header, or a LIBSVM file. The mean loss plus alpha_x/2 |x|² + alpha_y/2 |y|² is
    minimised, where x and y are the coefficients of the expensive and of the cheap columns. COLUMNS are names and
    patterns in a CSV or Parquet file, as in 'age,price_*', or numbers in a LIBSVM file, counted from 1, as in
    '1-100,120-'. If neither --x-columns nor --y-columns is given, y gets the densest columns, with at most a tenth of
    all entries.

    \b
    The first 100 columns are expensive, the rest are cheap:
      minmin solve a9a.gz --x-columns 1-100 --alpha-x 1e-3 --alpha-y 1e-5
    A CSV file; x gets all columns except the target and those in y; save the result:
      minmin solve clicks.csv --target clicked --y-columns 'age,price_*' --save model.npz
    In a script:
      minmin solve a9a.gz --json | jq .gap_bound
    """
    from minmin.cli.solved import dump_solved
    from minmin.solve import minimize

    output.print_text(model)
    result = minimize(model.problem, method=method, tol=tol, progress=output.shows_progress)
    output.print_result(result, {**model.summary(), **summarise(result)})
    if save is not None:
        output.save(save, dump_solved(model, result))
    return EXIT_CODES.get(result.status, 1)


@click.command()
@model_options
@output_options
def check(model: Model, output: Output) -> int:
    """Check that FILE can be read, and the model that it gives: rows, blocks, conditioning, gradients.

    The options are those of 'minmin solve' that describe the model; COLUMNS as there.

    \b
      minmin check a9a.gz --x-columns 1-100 --alpha-x 1e-3 --alpha-y 1e-5
      minmin check clicks.parquet --target clicked --y-columns 'age,price_*'
    """
    from minmin.checking import check as check_problem

    constants = model.problem.constants
    assert constants is not None  # its rows are in memory
    report = check_problem(model.problem)
    kappas = f"κ_x = {constants.kappa_x:.3g}, κ_y = {constants.kappa_y:.3g} ({constants.source})"
    findings = [asdict(finding) for finding in report.findings]
    output.print_result(
        f"{model}\n{kappas}\n{report}",
        {**model.summary(), "constants": asdict(constants), "ok": report.ok, "findings": findings},
    )
    return 0 if report.ok else 1
