"""The clients of ``minmin federated simulate``, who share the rows of a file."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minmin.errors import InputError
from minmin.federated import Client
from minmin.problems import GLM, Design


def split_rows(problem: GLM, count: int, split: str, seed: int, held_out: float) -> list[Client]:
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
