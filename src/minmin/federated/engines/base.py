"""The base class of engines, which carry envelopes and need not know what is in them, and the simplest engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from minmin.federated.client import Client
from minmin.federated.protocol import Envelope


class Engine(ABC):
    """Carries requests to the clients, which are numbered from 0, and brings their replies back.

    An engine that calls functions hands an envelope to :meth:`~minmin.federated.Client.handle` and returns the envelope
    that it gets. An engine that sends bytes sends ``request.data``, calls :meth:`~minmin.federated.Client.answer` at
    the other end, and returns ``Envelope.from_bytes(reply)``. An engine need not check anything: the session that uses
    it checks every reply and asks again, and a client that gets a request twice sends the same reply twice.
    """

    @abstractmethod
    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> Mapping[int, Envelope]:
        """Send every client its request, and return the replies that come within ``timeout`` seconds; None: no limit.

        Clients that do not reply in time are missing from the result. Two requests are the same if their digests are.
        """

    def close(self) -> None:  # noqa: B027 - many engines have nothing to release
        """Release the engine's resources; does nothing unless overridden."""


class LocalEngine(Engine):
    """Calls the clients one after another, in this process. Nothing is encoded, and ``timeout`` has no effect."""

    def __init__(self, clients: Sequence[Client]):
        self._clients = clients

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        return {number: self._clients[number].handle(request) for number, request in requests.items()}


class Channel(Protocol):
    """One end of a connection to another process. Its class differs between Windows and other systems."""

    def send_bytes(self, data: bytes, /) -> None: ...

    def recv_bytes(self) -> bytes: ...

    def close(self) -> None: ...
