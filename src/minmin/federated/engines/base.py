"""What an engine is: it carries envelopes, and knows nothing of what is in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from minmin.federated.protocol import Envelope


class Engine(ABC):
    """Reaches all clients, which are known by their numbers from 0 on.

    An engine that calls functions hands an envelope to :meth:`Client.handle` and returns what that returns. One that
    sends bytes sends ``request.data``, has :meth:`Client.answer` called at the other end, and returns
    ``Envelope.from_bytes(answer)``. It need not check anything: the session that uses it refuses what is no proper
    answer, asks again, and clients answer a repeated request as before.
    """

    @abstractmethod
    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> Mapping[int, Envelope]:
        """Send every client its envelope, and gather what comes back within ``timeout`` seconds; None means no limit.

        Clients that do not answer in time are missing from what is returned. Two requests are the same if their
        ``digest`` is.
        """

    def close(self) -> None:  # noqa: B027 - many engines hold nothing
        """Release what the engine holds; nothing unless overridden."""


class Channel(Protocol):
    """One end of a connection to another process; Windows has a class of its own for pipes."""

    def send_bytes(self, data: bytes, /) -> None: ...

    def recv_bytes(self) -> bytes: ...

    def close(self) -> None: ...
