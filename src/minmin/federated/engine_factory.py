"""Checks the clients and the engine that a user gives, and opens the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from minmin.core.start import is_flat
from minmin.core.structure import Structure, require_same_structure
from minmin.errors import InputError, as_count, name_type, near_names, show
from minmin.federated.client import Client
from minmin.federated.engines import ENGINES, Engine


@contextmanager
def open_engine(clients: Sequence[Client] | int, engine: str | Engine) -> Iterator[tuple[Engine, int]]:
    """The engine, and how many clients it reaches; closed after use unless the user gave an engine object."""
    local_clients, count = _check_clients(clients, engine)
    if isinstance(engine, Engine):
        yield engine, count
        return
    if not isinstance(engine, str) or engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}: {near_names(engine, ENGINES)}")
    opened = ENGINES[engine](local_clients)
    try:
        yield opened, count
    finally:
        opened.close()


def choose_structure(clients: Sequence[Client] | int, x: Any) -> Structure | None:
    """How the user sees x: as the first client's problem does if it is here, or else as they gave it."""
    structures = [] if isinstance(clients, int) else [client.structure_x for client in clients]
    for i, structure in enumerate(structures):
        require_same_structure(structures[0], structure, f"client {i}")
    own = structures[0] if structures else None
    if own is None and x is not None and not is_array_api_obj(x) and not is_flat(x):
        return Structure(x, "x0", np.zeros(0))
    return own


def _check_clients(clients: Any, engine: Any) -> tuple[list[Client], int]:
    """The clients in this process, and how many clients there are in total."""
    local_clients, count = [], clients
    if not (isinstance(clients, int) and isinstance(engine, Engine)):
        if not hasattr(clients, "__iter__"):
            raise InputError(
                f"clients must be a sequence of minmin.federated.Client, got {show(clients)}; "
                "a number of clients is allowed only with an Engine object that reaches them"
            )
        local_clients = list(clients)
        count = len(local_clients)
    if as_count(count, "clients") == 0:
        raise InputError("a federation needs at least one client")
    for i, client in enumerate(local_clients):
        if not isinstance(client, Client):
            raise InputError(f"client {i} is {name_type(client)}; give minmin.federated.Client(problem, weight)")
    return local_clients, count
