"""What FlowerEngine and its relay say to each other over a socket, and where they find each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from minmin.federated.messages import Message, decode, encode


def socket_path(folder: Path) -> Path:
    """Where the engine waits for the relay."""
    return folder / "relay"


def client_path(folder: Path, number: int) -> Path:
    """The file of a client."""
    return folder / f"{number}.client"


def write_requests(connection: Connection[Any, Any], requests: Mapping[int, Message], timeout: float | None) -> None:
    """Equal requests are sent once."""
    different = list({id(request): request for request in requests.values()}.values())
    places = {id(request): place for place, request in enumerate(different)}
    asked = {str(number): places[id(request)] for number, request in requests.items()}
    connection.send_bytes(json.dumps({"timeout": timeout, "asked": asked, "count": len(different)}).encode())
    for request in different:
        connection.send_bytes(encode(request))


class Reader:
    """Reads requests; the same bytes again are the same object again, as an engine expects of a question repeated."""

    def __init__(self, connection: Connection[Any, Any]):
        self._connection = connection
        self._known: dict[bytes, Message] = {}

    def read(self) -> tuple[dict[int, Message], float | None]:
        header = json.loads(self._connection.recv_bytes())
        frames = [self._connection.recv_bytes() for _ in range(header["count"])]
        self._known = {frame: self._known.get(frame) or decode(frame) for frame in frames}
        requests = {int(number): self._known[frames[place]] for number, place in header["asked"].items()}
        return requests, header["timeout"]


def write_answers(connection: Connection[Any, Any], answers: Mapping[int, Message]) -> None:
    connection.send_bytes(json.dumps(list(answers)).encode())
    for answer in answers.values():
        connection.send_bytes(encode(answer))


def read_answers(connection: Connection[Any, Any]) -> dict[int, Message]:
    numbers = json.loads(connection.recv_bytes())
    return {number: decode(connection.recv_bytes()) for number in numbers}
