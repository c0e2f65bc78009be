"""Each client in an operating-system process of its own, speaking bytes over pipes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from minmin.federated.client import Client
from minmin.federated.engines.base import Engine
from minmin.federated.messages import Message, MessageError, decode, encode
from minmin.federated.store import FolderStore, MemoryStore

_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE = 5.0
"""Seconds that a process gets to end by itself."""


class ProcessEngine(Engine):
    """Starts a process a client, which then holds its data and its y_i; a process that died is started again.

    A client without a store of its own keeps its state in a temporary folder, so that it survives its process.
    """

    def __init__(self, clients: Sequence[Client]):
        self._folder = tempfile.TemporaryDirectory(prefix="minmin-clients-")
        for number, client in enumerate(clients):
            if isinstance(client.store, MemoryStore):
                client.store = FolderStore(f"{self._folder.name}/{number}")
        self._clients = clients
        self._running: dict[int, tuple[Any, Connection]] = {}
        self.started: dict[int, int] = {}
        try:
            for number in range(len(clients)):
                self._start(number)
        except BaseException:
            self.close()
            raise

    def exchange(self, requests: Mapping[int, Message], timeout: float | None) -> dict[int, Message]:
        deadline = None if timeout is None else time.monotonic() + timeout
        waiting: dict[Connection, int] = {}
        for number, request in requests.items():
            connection = self._send(number, encode(request))
            waiting[connection] = number
        replies: dict[int, Message] = {}
        while waiting:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait(list(waiting), left)
            if not ready:
                break
            for number in [waiting.pop(connection) for connection in list(waiting) if connection in ready]:
                connection = self._running[number][1]
                with contextlib.suppress(EOFError, OSError, MessageError):
                    replies[number] = decode(connection.recv_bytes())
        for number in waiting.values():
            self._stop(number)  # an answer that comes late would be taken for the next one's
        return replies

    def process_id(self, number: int) -> int:
        """Of the process that runs a client now."""
        return int(self._running[number][0].pid)

    def close(self) -> None:
        for number in list(self._running):
            self._stop(number)
        self._folder.cleanup()

    def _send(self, number: int, data: bytes) -> Connection:
        """To the client's process, or to a new one where that is gone."""
        if number not in self._running or not self._running[number][0].is_alive():
            self._start(number)
        connection = self._running[number][1]
        try:
            connection.send_bytes(data)
        except OSError:
            connection = self._start(number)
            connection.send_bytes(data)
        return connection

    def _start(self, number: int) -> Connection:
        self._stop(number)
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(self._clients[number], theirs), daemon=True)
        process.start()
        theirs.close()
        self._running[number] = process, ours
        self.started[number] = self.started.get(number, 0) + 1
        return ours

    def _stop(self, number: int) -> None:
        if number not in self._running:
            return
        process, connection = self._running.pop(number)
        connection.close()
        process.terminate()
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join(_PATIENCE)


def _serve(client: Client, connection: Connection) -> None:
    """A client's process: answer until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            data = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(client.answer(data))
