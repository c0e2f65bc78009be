"""The rows of one file, partitioned among clients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minmin.errors import InputError
from minmin.federated import Client
from minmin.problems import GLM

SPLITS = ("sorted", "label", "random")
HELD_OUT_LOSS = "held_out_loss"


def partition(problem: GLM, count: int, split: str, seed: int, held_out: float) -> list[Client]:
    """Clients with a part of the rows each; of ``held_out`` of them, drawn at random, each tells its mean loss."""
    rows = problem.target.shape[0]
    if count > rows:
        raise InputError(f"--clients {count}: the file has {rows} rows, and every client needs one")
    rng = np.random.default_rng(seed)
    clients = []
    for own in np.array_split(_order(problem, split, rng), count):
        kept_out = round(held_out * len(own))
        if held_out and not 0 < kept_out < len(own):
            raise InputError(
                f"--held-out {held_out:g}: leaves {kept_out} of the {len(own)} rows of a client to look at"
            )
        drawn = rng.permutation(own) if held_out else own
        kept, apart = drawn[kept_out:], drawn[:kept_out]
        metrics = {HELD_OUT_LOSS: partial(_mean_loss, _part(problem, apart, 0.0))} if held_out else None
        clients.append(Client(_part(problem, kept), len(kept), metrics=metrics))
    return clients


def _mean_loss(rows: GLM, x: Any, y: Any) -> float:
    return rows.fix(x).at(y).value


def _part(problem: GLM, rows: np.ndarray[Any, Any], penalty: float = 1.0) -> GLM:
    """The same model of these rows, its penalties times a factor."""
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
