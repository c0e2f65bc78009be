"""minmin federated."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import numpy as np

from minmin import federated as federation
from minmin.cli.model import Model, model_options
from minmin.cli.output import EXIT_CODES, Output, output_options, summarise, tol_option
from minmin.errors import InputError
from minmin.federated import Client
from minmin.federated.engines import ENGINES
from minmin.problems import GLM, Design

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
@click.option(
    "--method", type=click.Choice(federation.names()), default="reduced-lbfgs", show_default=True, help="The method."
)
@click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
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
    parts = _split_rows(model.problem, clients, split, seed, held_out)
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


def _split_rows(problem: GLM, count: int, split: str, seed: int, held_out: float) -> list[Client]:
    """Split the rows among clients. Each holds out a share ``held_out`` of its rows, drawn at random, for a metric."""
    if isinstance(problem.X, Design):
        raise InputError("clients need rows in memory; give a file, not a folder of partitions")
    rows = problem.target.shape[0]
    if count > rows:
        raise InputError(f"--clients {count}: the file has only {rows} rows, and every client needs one")
    rng = np.random.default_rng(seed)
    clients = []
    for of_client in np.array_split(_order(problem, split, rng), count):
        test_count = round(held_out * len(of_client))
        if held_out and not 0 < test_count < len(of_client):
            raise InputError(
                f"--held-out {held_out:g}: {test_count} of the {len(of_client)} rows of a client would be held out; "
                "choose another share, or fewer clients"
            )
        order = rng.permutation(of_client) if held_out else of_client
        train, test = order[test_count:], order[:test_count]
        metrics = {"held_out_loss": partial(_mean_loss, _select_rows(problem, test, 0.0))} if held_out else None
        clients.append(Client(_select_rows(problem, train), len(train), metrics=metrics))
    return clients


def _mean_loss(rows: GLM, x: Any, y: Any) -> float:
    return rows.fix(x).at(y).value


def _select_rows(problem: GLM, rows: np.ndarray[Any, Any], penalty: float = 1.0) -> GLM:
    """The same model on some of the rows, with its penalties multiplied by ``penalty``."""
    return GLM(
        problem.X[rows],
        problem.Y[rows],
        problem.target[rows],
        problem.loss.name,
        alpha_x=penalty * problem.alpha_x,
        alpha_y=penalty * problem.alpha_y,
    )


def _order(problem: GLM, split: str, rng: Any) -> np.ndarray[Any, Any]:
    if split == "random":
        return np.asarray(rng.permutation(problem.target.shape[0]))
    key = problem.target if split == "label" else problem.Y @ rng.standard_normal(problem.d_y)
    return np.argsort(np.asarray(key), kind="stable")
