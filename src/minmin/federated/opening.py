"""Clients and engine as a user names them, checked and opened."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minmin.errors import InputError, as_count, near_names
from minmin.federated.client import Client
from minmin.federated.engines import ENGINES, Engine
from minmin.federated.server import Policy


@contextmanager
def opened(clients: Sequence[Client] | int, engine: str | Engine) -> Iterator[tuple[Engine, int]]:
    """The engine, and how many clients it reaches; closed after use unless it is the user's own."""
    holders, count = _checked(clients, engine)
    if isinstance(engine, Engine):
        yield engine, count
        return
    own = _engine(engine)(holders)
    try:
        yield own, count
    finally:
        own.close()


def checked_policy(timeout: Any, retries: Any) -> Policy:
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise InputError(f"timeout = {timeout!r} must be a positive number of seconds, or None to wait for ever")
    return Policy(timeout, as_count(retries, "retries"))


def _checked(clients: Any, engine: Any) -> tuple[list[Client], int]:
    """The clients that are here, and how many there are."""
    if isinstance(clients, int) and isinstance(engine, Engine):
        if as_count(clients, "clients") == 0:
            raise InputError("a federation needs at least one client")
        return [], clients
    if not hasattr(clients, "__iter__"):
        raise InputError(
            f"clients must be a sequence of minmin.federated.Client, got {clients!r}; "
            "a number goes with an Engine that reaches them"
        )
    holders = list(clients)
    if not holders:
        raise InputError("a federation needs at least one client")
    for i, client in enumerate(holders):
        if not isinstance(client, Client):
            raise InputError(f"client {i} is a {type(client).__name__}; give minmin.federated.Client(problem, weight)")
    return holders, len(holders)


def _engine(name: Any) -> type[Engine]:
    if not isinstance(name, str) or name not in ENGINES:
        raise InputError(f"unknown engine {name!r}: {near_names(name, ENGINES)}")
    return ENGINES[name]
