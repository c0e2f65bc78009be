"""minmin federated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from minmin.cli.options import model_options
from minmin.cli.output import EXIT_CODES, Output, output_options, summarise, tol_option

if TYPE_CHECKING:
    from minmin.cli.model import Model

METHODS = ("reduced-lbfgs", "bam", "inexact-outer", "fedrecon", "fedavg", "scaffold", "proxskip")
ENGINES = ("flower", "local", "processes")
_SPLITS = {"sorted": "sorted by a random combination of y's columns", "label": "sorted by label", "random": "at random"}
"""How the rows of one file are split among clients."""


@click.group()
def federated() -> None:
    """Fit a model over clients that share x and keep their data and their y private.

    \b
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100
    """


@federated.command()
@model_options
@click.option("--clients", type=click.IntRange(1), default=10, show_default=True, help="The number of clients.")
@click.option(
    "--split",
    type=click.Choice(list(_SPLITS)),
    default="sorted",
    show_default=True,
    help="How rows are split among clients: sorted by a random combination of the columns of y, sorted by label, or "
    "at random.",
)
@click.option("--method", type=click.Choice(METHODS), default="reduced-lbfgs", show_default=True, help="The method.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Where clients run: in this process, in one process per client, or in Flower's simulation.",
)
@click.option("--rounds", type=click.IntRange(1), default=1000, show_default=True, help="Stop after this many rounds.")
@tol_option(type=float)
@click.option("--seed", type=int, default=0, show_default=True, help="The random seed of the split.")
@click.option(
    "--held-out",
    type=click.FloatRange(0.0, 0.9),
    default=0.0,
    show_default=True,
    help="The share of each client's rows to keep out of the fit; the mean loss on them is printed per client.",
)
@output_options
def simulate(
    model: Model,
    clients: int,
    split: str,
    method: str,
    engine: str,
    rounds: int,
    tol: float,
    seed: int,
    held_out: float,
    output: Output,
) -> int:
    """Split the rows of FILE among clients and fit one model over them: x is shared, each client has its own y.

    The options that describe the model are those of 'minmin solve'; COLUMNS as there.

    \b
    Twenty dissimilar clients, each in a separate process:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine processes
    The same on Flower's simulation (needs the extra flower; not on Windows):
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine flower
    Another method, to compare the number of rounds:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --method fedavg --rounds 300
    The loss of each client on a fifth of its rows, which are kept out of the fit:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --held-out 0.2
    """
    from minmin import federated as federation
    from minmin.cli.clients import split_rows

    parts = split_rows(model.problem, clients, split, seed, held_out)
    output.print_text(f"{model}\n{clients} clients, rows {_SPLITS[split]}")
    result = federation.run(parts, method, engine=engine, tol=tol, rounds=rounds, progress=output.shows_progress)
    losses = federation.evaluate(parts, result.x, engine="local") if held_out else {}
    up, down = (int(result.history[name][-1]) for name in ("bytes_up", "bytes_down"))
    traffic = {"bytes_up": up, "bytes_down": down}
    output.print_result(
        f"{result}\n  {result.calls['grad_x']} rounds, {up / 1e6:.3g} MB up, {down / 1e6:.3g} MB down",
        {
            **model.summary(),
            "clients": clients,
            **summarise(result),
            **traffic,
            **{name: list(values) for name, values in losses.items()},
        },
    )
    for name, values in losses.items():
        output.print_text(f"  {name} per client: {', '.join(f'{value:.4g}' for value in values)}")
    return EXIT_CODES.get(result.status, 1)
