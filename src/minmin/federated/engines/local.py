"""An engine that calls the clients in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minmin.federated.client import Client
from minmin.federated.engines.base import Engine
from minmin.federated.protocol import Envelope


class LocalEngine(Engine):
    """Calls the clients one after another, in this process. Nothing is encoded, and ``timeout`` has no effect."""

    def __init__(self, clients: Sequence[Client]):
        self._clients = clients

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        return {number: self._clients[number].handle(request) for number, request in requests.items()}
