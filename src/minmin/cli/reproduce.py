"""minmin reproduce."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minmin.cli.output import Output, output_options
from minmin.experiments.settings import EXPERIMENTS

if TYPE_CHECKING:
    from minmin.experiments.reproduce import Report

_COLOURS = {"holds": "blue", "holds mostly": "yellow", "does not hold": "red"}


@click.command()
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]), default="all")
@click.option(
    "--out", type=click.Path(path_type=Path), default="report", show_default=True, help="The report's folder."
)
@click.option(
    "--seeds", type=click.IntRange(1), default=10, show_default=True, help="Random problems, and random runs."
)
@click.option("--tol", type=float, default=1e-8, show_default=True, help="The relative gap at which runs end.")
@click.option(
    "--a9a",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The data set a9a (LIBSVM format), for 'federated'; without it, rows like its own are generated.",
)
@output_options
def reproduce(experiment: str, out: Path, seeds: int, tol: float, a9a: Path | None, output: Output) -> None:
    """Run the paper's experiments again: figures, every number, and a verdict on each claim.

    The report's page is index.html in the folder --out. Ctrl-C keeps what is finished there, and the same command
    resumes from it. A folder that holds anything else is left alone.

    \b
    Everything, in about two minutes on two cores:
      minmin reproduce
    Its federated application, with the methods it names, on a9a:
      minmin reproduce federated --a9a a9a.gz --out federated
    The quadratics alone, with more seeds:
      minmin reproduce quadratic --seeds 30 --out quadratics
    A quick look:
      minmin reproduce --seeds 2 --tol 1e-3 --out look
    """
    from minmin.experiments.reproduce import reproduce as make_report  # plotting libraries take a second to load

    with _progress(shown=output.talks) as tell:
        try:
            report = make_report(experiment, out, seeds=seeds, tol=tol, a9a=a9a, tell=tell)
        except KeyboardInterrupt:
            click.echo(f"\nWhat is finished is kept in {out}; the same command resumes from there.", err=True)
            raise
    claims = [claim.as_dict() for claim in report.claims]
    output.answer(_text(report), {"page": str(report.page), "runs": report.runs, "claims": claims})


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line every ten seconds."""
    if not shown:
        yield lambda done, wanted: None
    elif sys.stderr.isatty():
        with click.progressbar(length=1, label="runs", file=sys.stderr, show_pos=True) as bar:

            def advance(done: int, wanted: int) -> None:
                bar.length = wanted
                bar.update(done - bar.pos)

            yield advance
    else:
        due = time.monotonic()

        def say(done: int, wanted: int) -> None:
            nonlocal due
            if time.monotonic() >= due or done == wanted:
                due = time.monotonic() + 10.0
                click.echo(f"{done} of {wanted} runs", err=True)

        yield say


def _text(report: Report) -> str:
    lines = []
    for claim in report.claims:
        lines.append(f"\n{claim.text}")
        for row in claim.rows:
            colour = None if "NO_COLOR" in os.environ else _COLOURS[row.verdict]
            verdict = click.style(f"{row.verdict:<13}", fg=colour)
            lines.append(f"  {verdict}  {row.where}: {row.measured}")
    return "\n".join([*lines, f"\n{report.runs} runs; the report is {report.page}"])
