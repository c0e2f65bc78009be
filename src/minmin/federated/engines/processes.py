"""An engine that runs each client in a separate process and sends bytes over pipes."""

from __future__ import annotations

import math
import multiprocessing
import pickle
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any, NamedTuple

from minmin.errors import InputError
from minmin.federated.client import Client
from minmin.federated.engines.base import Channel, Engine
from minmin.federated.engines.states import copy_states_back, move_to_folders
from minmin.federated.protocol import Envelope
from minmin.log import LOG

_SPAWN = multiprocessing.get_context("spawn")
_START_SECONDS = 60.0
"""The limit for a new process to start and load its data. The time for a reply counts from then.
Measured: docs/benchmarks/tuning.md."""
_POLL_SECONDS = 0.5
"""The longest that a Ctrl-C has to wait; a reply is seen at once."""
_READY = b"ready"


class _Running(NamedTuple):
    process: Any
    connection: Channel


class ProcessEngine(Engine):
    """Starts one process per client, which holds its data and its y_i. A process that dies is started again.

    A client without a :class:`FolderStore` keeps its state in a temporary folder, so that the state survives the
    process. Closing the engine copies the newest state back to the client's own store.
    """

    def __init__(self, clients: Sequence[Client]):
        self._folder = tempfile.TemporaryDirectory(prefix="minmin-clients-")
        self._originals = clients
        self._clients = move_to_folders(Path(self._folder.name), clients)
        self._running: dict[int, _Running] = {}
        self._ready: set[int] = set()
        self._threads = futures.ThreadPoolExecutor(len(clients), "minmin-client")
        self.started: dict[int, int] = {}
        try:
            for number in range(len(clients)):
                self._start(number)
        except BaseException:
            self.close()
            raise

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        # Both ends of a pipe may block, so each client has a thread. Killing the process unblocks its thread.
        tasks = {
            self._threads.submit(_receive, self._running[number].connection, requests[number].data): number
            for number in self._make_ready(requests)
        }
        replies = self._gather(tasks, timeout)
        return {number: Envelope.from_bytes(data) for number, data in replies.items() if data is not None}

    def process_id(self, number: int) -> int:
        """The id of the process that runs a client now."""
        return int(self._running[number].process.pid)

    def close(self) -> None:
        self._stop(*self._running)
        self._threads.shutdown()
        copy_states_back(self._originals, self._clients)
        self._folder.cleanup()

    def _make_ready(self, numbers: Iterable[int]) -> list[int]:
        """Start missing processes, and return the clients whose process is ready."""
        asked = list(numbers)
        for number in asked:
            if number not in self._running or not self._running[number].process.is_alive():
                self._start(number)
        new = [number for number in asked if number not in self._ready]
        tasks = {self._threads.submit(_receive, self._running[number].connection): number for number in new}
        received = self._gather(tasks, _START_SECONDS)
        self._ready.update(number for number in new if received[number] == _READY)
        return [number for number in asked if number in self._ready]

    def _gather(self, tasks: Mapping[futures.Future[Any], int], timeout: float | None) -> dict[int, Any]:
        """Collect what the threads received. A process that sent nothing is started again.

        A late process is killed, since its reply would be taken for the reply to a later request.
        """
        try:
            late = _find_late(tasks, timeout)
        except BaseException:
            for number in tasks.values():
                self._running[number].process.kill()
            futures.wait(tasks)
            self._stop(*tasks.values())
            raise
        for task in late:
            self._running[tasks[task]].process.kill()
        received = {number: task.result() for task, number in tasks.items()}
        for number in [number for number, data in received.items() if data is None]:
            self._start(number)
        return received

    def _start(self, number: int) -> None:
        self._stop(number)
        if number in self.started:
            LOG.warning("the process of client %d has died or was late; it is started again", number)
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(self._clients[number], theirs), daemon=True)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            ours.close()
            raise InputError(
                f"client {number} cannot be sent to another process ({error}); define its functions in a module, "
                "not inside other functions, or use engine='local'"
            ) from error
        finally:
            theirs.close()
        self._running[number] = _Running(process, ours)
        self.started[number] = self.started.get(number, 0) + 1

    def _stop(self, *numbers: int) -> None:
        """Kill the processes of these clients. Their states stay intact, since they are written atomically."""
        stopped = [self._running.pop(number) for number in numbers if number in self._running]
        self._ready.difference_update(numbers)
        for process, _ in stopped:
            process.kill()
        for process, connection in stopped:
            process.join()
            process.close()
            connection.close()


def _find_late(tasks: Iterable[futures.Future[Any]], timeout: float | None) -> set[futures.Future[Any]]:
    """The tasks that are not done in time. Waits in short intervals, since a Ctrl-C may not interrupt a wait."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        _, late = futures.wait(tasks, max(0.0, min(left, _POLL_SECONDS)))
        if not late or left <= _POLL_SECONDS:
            return late


def _receive(connection: Channel, request: bytes | None = None) -> bytes | None:
    """Send a request, if there is one, and return what comes back; None if nothing does."""
    try:
        if request is not None:
            connection.send_bytes(request)
        return connection.recv_bytes()
    except (EOFError, OSError):
        return None


def _serve(client: Client, connection: Channel) -> None:
    """Run a client's process: reply to requests until the server closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        connection.send_bytes(_READY)
        while True:
            connection.send_bytes(client.answer(connection.recv_bytes()))
    except (EOFError, OSError):
        return
