"""What FlowerEngine and its relay say to each other over a socket, and where they find each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from minmin.federated.engines.base import Channel
from minmin.federated.protocol import Envelope


def socket_path(folder: Path) -> Path:
    """Where the engine waits for the relay."""
    return folder / "relay"


def client_path(folder: Path, number: int) -> Path:
    """The file of a client."""
    return folder / f"{number}.client"


def write_requests(connection: Channel, requests: Mapping[int, Envelope], timeout: float | None) -> None:
    """Equal requests are sent once."""
    different = {request.digest: request for request in requests.values()}
    groups = [[number for number, request in requests.items() if request.digest == digest] for digest in different]
    connection.send_bytes(json.dumps({"timeout": timeout, "groups": groups}).encode())
    for request in different.values():
        connection.send_bytes(request.data)


def read_requests(connection: Channel) -> tuple[dict[int, Envelope], float | None]:
    header = json.loads(connection.recv_bytes())
    envelopes = [Envelope.from_bytes(connection.recv_bytes()) for _ in header["groups"]]
    pairs = zip(header["groups"], envelopes, strict=True)
    return {number: envelope for group, envelope in pairs for number in group}, header["timeout"]


def write_answers(connection: Channel, answers: Mapping[int, Envelope]) -> None:
    connection.send_bytes(json.dumps(list(answers)).encode())
    for answer in answers.values():
        connection.send_bytes(answer.data)


def read_answers(connection: Channel) -> dict[int, Envelope]:
    numbers = json.loads(connection.recv_bytes())
    return {number: Envelope.from_bytes(connection.recv_bytes()) for number in numbers}
