"""evaluate(): the clients' own metrics, at a shared x and their private y_i."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minmin.errors import InputError
from minmin.federated.client import Client
from minmin.federated.engines import Engine
from minmin.federated.opening import checked_policy, opened
from minmin.federated.server import ClientError, Federation
from minmin.stops import RunEnded


def evaluate(
    clients: Sequence[Client] | int,
    x: Any,
    *,
    engine: str | Engine = "local",
    timeout: float | None = None,
    retries: int = 3,
) -> dict[str, np.ndarray[Any, Any]]:
    """What the clients' metrics say at x, and at the y_i of the newest run that each has taken part in.

    Parameters
    ----------
    x : array
        The shared part, such as a run's ``r.x``.
    clients, engine, timeout, retries
        As for :func:`run`.

    Returns
    -------
    dict of str to array
        By metric, a number a client; NaN where it has none of that name.
    """
    if x is None:
        raise InputError("evaluate() needs an x, such as a run's r.x")
    with opened(clients, engine) as (reached, count):
        try:
            federation = Federation(reached, count, "", checked_policy(timeout, retries), values=False)
            told = federation.measure(federation.start(x, None)[0])
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
    return {name: np.array(values) for name, values in told.items()}
