"""minmin federated."""

from __future__ import annotations

import click

from minmin import federated as federation
from minmin.cli.model import Model, model_options
from minmin.cli.output import EXIT_CODES, Output, outcome, output_options, tol_option
from minmin.cli.partition import SPLITS, partition
from minmin.federated.engines import ENGINES


@click.group()
def federated() -> None:
    """Fit a model over clients that share x and keep their data and y to themselves.

    \b
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100
    """


@federated.command()
@model_options
@click.option(
    "--clients", type=click.IntRange(1), default=10, show_default=True, help="How many clients share the rows."
)
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default="sorted",
    show_default=True,
    help="How rows are dealt out: sorted by a random feature of y, by label, or at random.",
)
@click.option("--method", type=click.Choice(federation.names()), default="reduced-lbfgs", show_default=True)
@click.option("--engine", type=click.Choice(sorted(ENGINES)), default="local", show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=1000, show_default=True, help="The most rounds.")
@tol_option(type=float)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the split.")
@click.option(
    "--held-out",
    type=click.FloatRange(0.0, 0.9),
    default=0.0,
    show_default=True,
    help="Part of every client's rows to keep out of the fit; its mean loss there is shown by client.",
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
    """Deal the rows of FILE out to clients and fit one model over them; x is shared, y is each client's own.

    Takes the options of 'minmin solve' that describe the model; COLUMNS as there.

    \b
    Twenty dissimilar clients, each in a process of its own:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine processes
    The same on Flower's simulation (needs the extra flower; not on Windows):
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine flower
    How many rounds another method takes:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --method fedavg --rounds 300
    How well every client does on a fifth of its rows, kept out:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --held-out 0.2
    """
    holders = partition(model.problem, clients, split, seed, held_out)
    output.say(f"{model}\n{clients} clients, rows {split}")
    result = federation.run(holders, method, engine=engine, tol=tol, rounds=rounds, progress=output.shows_progress)
    losses = federation.evaluate(holders, result.x, engine="local") if held_out else {}
    up, down = (int(result.history[name][-1]) for name in ("bytes_up", "bytes_down"))
    told = {name: list(values) for name, values in losses.items()}
    traffic = {"bytes_up": up, "bytes_down": down}
    output.answer(
        f"{result}\n  {result.calls['grad_x']} rounds, {up / 1e6:.3g} MB up, {down / 1e6:.3g} MB down",
        {**model.summary(), "clients": clients, **outcome(result), **traffic, **told},
    )
    for name, values in losses.items():
        output.say(f"  {name} by client: {', '.join(f'{value:.4g}' for value in values)}")
    return EXIT_CODES.get(result.status, 1)
