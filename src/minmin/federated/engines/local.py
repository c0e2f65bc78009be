"""A plain loop in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minmin.federated.client import Client
from minmin.federated.engines.base import Engine
from minmin.federated.messages import Message


class LocalEngine(Engine):
    """Clients are asked one after another, by function calls; time-outs have no meaning here."""

    def __init__(self, clients: Sequence[Client]):
        self._clients = clients

    def exchange(self, requests: Mapping[int, Message], timeout: float | None) -> dict[int, Message]:
        return {number: self._clients[number].handle(request) for number, request in requests.items()}

    def close(self) -> None:
        pass
