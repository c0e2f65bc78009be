"""minmin federated."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np

from minmin import federated as federation
from minmin.cli.model import Model, model_options
from minmin.cli.output import EXIT_CODES, as_json, outcome, print_json, quiet
from minmin.errors import InputError
from minmin.federated.engines import ENGINES
from minmin.problems import GLM

_SPLITS = ("sorted", "label", "random")


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
    type=click.Choice(_SPLITS),
    default="sorted",
    show_default=True,
    help="How rows are dealt out: sorted by a random feature of y, by label, or at random.",
)
@click.option("--method", type=click.Choice(federation.names()), default="reduced-lbfgs", show_default=True)
@click.option("--engine", type=click.Choice(sorted(ENGINES)), default="local", show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=1000, show_default=True, help="The most rounds.")
@click.option(
    "--tol", type=float, default=1e-6, show_default=True, help="Stop when f - f* is proved to be at most this."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the split.")
@as_json
@quiet
def simulate(
    model: Model,
    clients: int,
    split: str,
    method: str,
    engine: str,
    rounds: int,
    tol: float,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Deal the rows of FILE out to clients and fit one model over them; x is shared, y is each client's own.

    Takes the options of 'minmin solve' that describe the model; COLUMNS as there.

    \b
    Twenty dissimilar clients, each in a process of its own:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine processes
    The same on Flower's simulation (pip install 'minmin[flower]'):
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --engine flower
    How many rounds another method takes:
      minmin federated simulate a9a.gz --clients 20 --x-columns 1-100 --method fedavg --rounds 300
    """
    holders = [federation.Client(problem, weight) for problem, weight in _dealt(model.problem, clients, split, seed)]
    talks = not quiet and not as_json
    if talks:
        click.echo(f"{model}\n{clients} clients, rows {split}")
    result = federation.run(
        holders, method, engine=engine, tol=tol, rounds=rounds, progress=talks and sys.stderr.isatty()
    )
    up, down = (int(result.history[name][-1]) for name in ("bytes_up", "bytes_down"))
    if as_json:
        print_json({**model.summary(), "clients": clients, **outcome(result), "bytes_up": up, "bytes_down": down})
    elif talks:
        click.echo(f"{result}\n  {result.calls['grad_x']} rounds, {up / 1e6:.3g} MB up, {down / 1e6:.3g} MB down")
    return EXIT_CODES.get(result.status, 1)


def _dealt(problem: GLM, count: int, split: str, seed: int) -> list[tuple[GLM, int]]:
    """Every client's own model, and how many rows it has."""
    rows = problem.target.shape[0]
    if count > rows:
        raise InputError(f"--clients {count}: the file has {rows} rows, and every client needs one")
    order = _order(problem, split, np.random.default_rng(seed))
    return [
        (
            GLM(
                problem.X[own],
                problem.Y[own],
                problem.target[own],
                problem.loss.name,
                alpha_x=problem.alpha_x,
                alpha_y=problem.alpha_y,
            ),
            len(own),
        )
        for own in np.array_split(order, count)
    ]


def _order(problem: GLM, split: str, rng: Any) -> np.ndarray[Any, Any]:
    if split == "random":
        return np.asarray(rng.permutation(problem.target.shape[0]))
    key = problem.target if split == "label" else problem.Y @ rng.standard_normal(problem.d_y)
    return np.argsort(np.asarray(key), kind="stable")
