"""evaluate(): the metrics of every client, at a shared x and its private y_i."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minmin.core.start import make_start
from minmin.errors import InputError
from minmin.federated.client import Client
from minmin.federated.engine_factory import choose_structure, open_engine
from minmin.federated.engines import Engine
from minmin.federated.metrics import tabulate
from minmin.federated.problem import Federation
from minmin.federated.session import DEFAULT_TIMEOUT, ClientError, Policy, Session
from minmin.loop.stopping import RunEnded


def evaluate(
    clients: Sequence[Client] | int,
    x: Any,
    *,
    engine: str | Engine = "local",
    timeout: float | None = DEFAULT_TIMEOUT,
    retries: int = 3,
) -> dict[str, np.ndarray[Any, Any]]:
    """Ask the clients for their metrics at x, and at the y_i of the newest run that each took part in.

    Parameters
    ----------
    x : array, or nested dicts, lists and tuples of arrays
        The shared variables, such as ``r.x`` of a run.
    clients, engine, timeout, retries
        As for :func:`run`.

    Returns
    -------
    dict of str to array
        For each metric, one number per client; NaN for a client without a metric of that name.
    """
    if x is None:
        raise InputError("evaluate() needs an x, such as r.x of a run")
    policy = Policy(timeout, retries)
    with open_engine(clients, engine) as (opened, count):
        session = Session(opened, count, policy)
        federation = Federation(session, session.describe(), values=False)
        federation.structure_x = choose_structure(clients, x)
        try:
            measures = session.measure(make_start(federation, x)[0])
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
    return {name: np.array(values) for name, values in tabulate(measures).items()}
