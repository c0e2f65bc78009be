"""minmin reproduce."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minmin.cli.output import Output, output_options, show_progress

if TYPE_CHECKING:
    from minmin.experiments.reproduce import Reproduction

EXPERIMENTS = ("quadratic", "logistic", "scaling", "federated", "relatives")
_COLOURS = {"holds": "blue", "holds mostly": "yellow", "does not hold": "red"}


@click.command()
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]), default="all", metavar="[EXPERIMENT]")
@click.option(
    "--out", type=click.Path(path_type=Path), default="report", show_default=True, help="The folder for the report."
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many random problems to draw, and how often to run each randomised method.",
)
@click.option(
    "--tol", type=float, default=1e-8, show_default=True, help="Runs end at this relative gap (f - f*)/(f(0) - f*)."
)
@click.option(
    "--a9a",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The data set a9a (LIBSVM format), for 'federated'. Without it, similar rows are generated.",
)
@output_options
def reproduce(experiment: str, out: Path, seeds: int, tol: float, a9a: Path | None, output: Output) -> None:
    """Repeat the paper's experiments: figures, all counts, and a verdict on each claim.

    The paper is Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439. The report is index.html in the folder --out.

    EXPERIMENT is one of

    \b
      quadratic, logistic, scaling  the paper's experiments
      all                           these three (the default)
      federated                     the paper's application
      relatives                     what its introduction, related work and discussion
                                    name: an inexact outer method, cutting planes,
                                    alternating minimisation, sliding, more blocks ...

    Experiments with the same --out share a report. After Ctrl-C, the same command resumes from the finished runs in
    that folder. The command does not write to a folder that contains other files.

    \b
    The paper's experiments, in about two minutes on two cores:
      minmin reproduce
    Only the federated application, on a9a:
      minmin reproduce federated --a9a a9a.gz --out federated
    Rivals, relatives and extensions of BAM, in about two minutes:
      minmin reproduce relatives --out relatives
    Only the quadratics, with more seeds:
      minmin reproduce quadratic --seeds 30 --out quadratics
    A quick trial:
      minmin reproduce --seeds 2 --tol 1e-3 --out trial
    """
    from minmin.experiments.reproduce import reproduce as make_report  # plotting libraries take a second to load

    with show_progress("runs", shown=output.prints_text) as on_progress:
        try:
            report = make_report(experiment, out, seeds=seeds, tol=tol, a9a=a9a, on_progress=on_progress)
        except KeyboardInterrupt:
            click.echo(f"\nFinished runs are kept in {out}; the same command resumes from them.", err=True)
            raise
    claims = [claim.as_dict() for claim in report.claims]
    output.print_result(_describe(report), {"page": str(report.page), "runs": report.runs, "claims": claims})


def _describe(report: Reproduction) -> str:
    from minmin.experiments.claims import summarise_claims

    lines = [summarise_claims(report.claims)]
    for claim in report.claims:
        lines.append(f"\n{claim.text}")
        for row in claim.rows:
            colour = None if "NO_COLOR" in os.environ else _COLOURS[row.verdict]
            verdict = click.style(f"{row.verdict:<13}", fg=colour)
            lines.append(f"  {verdict}  {row.where}: {row.measured}")
    return "\n".join([*lines, f"\n{report.runs} runs; the report is {report.page}"])
