"""Each client in an operating-system process of its own, speaking bytes over pipes."""

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
from minmin.federated.engines.states import hand_back, move_to_folders
from minmin.federated.protocol import Envelope

_SPAWN = multiprocessing.get_context("spawn")
_START_SECONDS = 60.0
"""What a new process gets to load its data; the time for an answer counts from then. Importing this library takes 0.4 s
of it."""
_LOOK_SECONDS = 0.5
"""At most so long a Ctrl-C waits; an answer is seen at once."""
_READY = b"ready"


class _Running(NamedTuple):
    process: Any
    connection: Channel


class ProcessEngine(Engine):
    """Starts one process per client, which holds its data and its y_i; a process that died is started again.

    A client without a folder of its own keeps its state in a temporary one, so that it survives its process; its own
    store gets the newest state when the engine is closed.
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
        # Both ends of a pipe may block, so each has a thread, which a killed process sets free.
        tasks = {
            self._threads.submit(_ask, self._running[number].connection, requests[number].data): number
            for number in self._make_ready(requests)
        }
        answers = self._gather(tasks, timeout)
        return {number: Envelope.from_bytes(data) for number, data in answers.items() if data is not None}

    def process_id(self, number: int) -> int:
        """Of the process that runs a client now."""
        return int(self._running[number].process.pid)

    def close(self) -> None:
        self._stop(*self._running)
        self._threads.shutdown()
        hand_back(self._originals, self._clients)
        self._folder.cleanup()

    def _make_ready(self, numbers: Iterable[int]) -> list[int]:
        """Those whose process is there and ready, started again where it was gone."""
        asked = list(numbers)
        for number in asked:
            if number not in self._running or not self._running[number].process.is_alive():
                self._start(number)
        new = [number for number in asked if number not in self._ready]
        tasks = {self._threads.submit(_receive, self._running[number].connection): number for number in new}
        words = self._gather(tasks, _START_SECONDS)
        self._ready.update(number for number in new if words[number] == _READY)
        return [number for number in asked if number in self._ready]

    def _gather(self, tasks: Mapping[futures.Future[Any], int], timeout: float | None) -> dict[int, Any]:
        """What the threads bring. A process that brings nothing is started again.

        One that is late is killed, since its answer would be taken for that to a later request.
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
        brought = {number: task.result() for task, number in tasks.items()}
        for number in [number for number, thing in brought.items() if thing is None]:
            self._start(number)
        return brought

    def _start(self, number: int) -> None:
        self._stop(number)
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(self._clients[number], theirs), daemon=True)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            ours.close()
            raise InputError(
                f"client {number} cannot be sent to a process of its own ({error}); its functions must have names "
                "in a module, or take engine='local'"
            ) from error
        finally:
            theirs.close()
        self._running[number] = _Running(process, ours)
        self.started[number] = self.started.get(number, 0) + 1

    def _stop(self, *numbers: int) -> None:
        """Kill these; their states are whole whenever that happens."""
        stopped = [self._running.pop(number) for number in numbers if number in self._running]
        self._ready.difference_update(numbers)
        for process, _ in stopped:
            process.kill()
        for process, connection in stopped:
            process.join()
            process.close()
            connection.close()


def _find_late(tasks: Iterable[futures.Future[Any]], timeout: float | None) -> set[futures.Future[Any]]:
    """Those that are not done in time. Wakes up now and then: a Ctrl-C just before a wait would not end it."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        _, late = futures.wait(tasks, max(0.0, min(left, _LOOK_SECONDS)))
        if not late or left <= _LOOK_SECONDS:
            return late


def _ask(connection: Channel, data: bytes) -> bytes | None:
    """A client's answer; None where there is none."""
    try:
        connection.send_bytes(data)
    except OSError:
        return None
    return _receive(connection)


def _receive(connection: Channel) -> bytes | None:
    try:
        return connection.recv_bytes()
    except (EOFError, OSError):
        return None


def _serve(client: Client, connection: Channel) -> None:
    """A client's process: answer until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        connection.send_bytes(_READY)
        while True:
            connection.send_bytes(client.answer(connection.recv_bytes()))
    except (EOFError, OSError):
        return
