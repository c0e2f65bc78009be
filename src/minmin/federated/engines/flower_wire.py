"""The messages between FlowerEngine and its relay app, and the paths of their socket and of the clients' files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from minmin.federated.engines.base import Channel
from minmin.federated.protocol import Envelope


def socket_path(folder: Path) -> Path:
    """The socket on which the engine waits for the relay."""
    return folder / "relay"


def client_path(folder: Path, number: int) -> Path:
    """The file of a pickled client."""
    return folder / f"{number}.client"


def write_requests(connection: Channel, requests: Mapping[int, Envelope], timeout: float | None) -> None:
    """Send the requests; one that goes to several clients is sent once."""
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


def write_replies(connection: Channel, replies: Mapping[int, Envelope]) -> None:
    connection.send_bytes(json.dumps(list(replies)).encode())
    for reply in replies.values():
        connection.send_bytes(reply.data)


def read_replies(connection: Channel) -> dict[int, Envelope]:
    numbers = json.loads(connection.recv_bytes())
    return {number: Envelope.from_bytes(connection.recv_bytes()) for number in numbers}
