"""What an engine is: it carries messages, and knows nothing of what they are about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from minmin.federated.client import Client
from minmin.federated.messages import Message


class Engine(ABC):
    """Reaches all clients; they are known by their numbers."""

    @abstractmethod
    def __init__(self, clients: Sequence[Client]): ...

    @abstractmethod
    def exchange(self, requests: Mapping[int, Message], timeout: float | None) -> dict[int, Message]:
        """Send every client its message and gather what comes back within ``timeout`` seconds.

        Clients that do not answer in time, or whose bytes are no message, are missing from the answer.
        """

    @abstractmethod
    def close(self) -> None:
        """Let the clients go."""
