"""minmin check."""

from __future__ import annotations

from dataclasses import asdict

import click

from minmin import checking
from minmin.cli.model import Model, model_options
from minmin.cli.output import Output, output_options


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
    constants = model.problem.constants
    report = checking.check(model.problem)
    kappas = f"κ_x = {constants.kappa_x:.3g}, κ_y = {constants.kappa_y:.3g} ({constants.source})"
    findings = [asdict(finding) for finding in report.findings]
    output.print_result(
        f"{model}\n{kappas}\n{report}",
        {**model.summary(), "constants": asdict(constants), "ok": report.ok, "findings": findings},
    )
    return 0 if report.ok else 1
