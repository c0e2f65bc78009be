"""An engine over Flower on this machine, which it starts and stops itself."""

from __future__ import annotations

import contextlib
import importlib.util
import pickle
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from minmin.errors import InputError, UnsupportedError, needs_extra
from minmin.federated.client import Client
from minmin.federated.engines.base import Engine
from minmin.federated.engines.flower_processes import Flower, FlowerError
from minmin.federated.engines.flower_wire import client_path, read_replies, socket_path, write_requests
from minmin.federated.engines.states import copy_states_back, move_to_folders
from minmin.federated.protocol import Envelope
from minmin.log import LOG

_APP = Path(__file__).parents[1] / "flower" / "app"
_START_SECONDS = 120.0
"""The limit for the app to start. Chosen, not measured: twice that of the SuperLink, since Ray starts too."""
_POLL_SECONDS = 0.5
"""Between two checks whether a process has died; a reply is seen at once."""
_LONGEST_FOLDER = 12
"""Characters. The path of a socket may have a hundred, of which Ray uses seventy below our folder."""


class FlowerEngine(Engine):
    """Runs clients of this process on Flower: in its simulation, or with a SuperLink and one SuperNode per client.

    All processes listen on the loopback interface only and end with this process. One that dies is started again. A
    client without a :class:`FolderStore` keeps its state in a temporary folder; closing the engine copies it back.

    Parameters
    ----------
    clients : sequence of Client
        Their classes and functions must be defined in a module that can be imported.
    deployment : bool
        Whether to start one SuperNode per client instead of the simulation.
    """

    def __init__(self, clients: Sequence[Client], *, deployment: bool = False):
        if not hasattr(socket, "AF_UNIX"):
            raise UnsupportedError("engine 'flower' needs Linux or macOS; engine 'processes' gives the same answer")
        for module in ("flwr", "ray")[: 1 if deployment else 2]:
            if importlib.util.find_spec(module) is None:
                raise UnsupportedError(needs_extra("engine 'flower'", module, "flower"))
        self._simulation = not deployment
        self._originals = clients
        default = tempfile.gettempdir()
        parent = default if len(default) <= _LONGEST_FOLDER else "/tmp"
        self._temporary = tempfile.TemporaryDirectory(prefix="minmin-", dir=parent)
        self._folder = Path(self._temporary.name)
        self._clients = move_to_folders(self._folder / "states", clients)
        self._connection: Connection[Any, Any] | None = None
        self.flower: Flower | None = None
        try:
            for number, client in enumerate(self._clients):
                client_path(self._folder, number).write_bytes(_pickle(number, client))
            self._start()
        except BaseException:
            self.close()
            raise

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        try:
            if self._connection is None:
                self._start()
            assert self._connection is not None
            write_requests(self._connection, requests, timeout)
            while not self._connection.poll(_POLL_SECONDS):
                self._start_dead_nodes()
            return read_replies(self._connection)
        except (EOFError, OSError):
            LOG.warning("Flower's SuperLink or its app has died; it is started again for the next request")
            self._stop()
            return {}
        except BaseException:  # a late reply would be taken for the reply to a later request
            self._stop()
            raise

    def close(self) -> None:
        self._stop()
        copy_states_back(self._originals, self._clients)
        self._temporary.cleanup()

    def _start(self) -> None:
        """Start the SuperLink, the nodes, and the relay app, which connects when it runs."""
        assert hasattr(socket, "AF_UNIX")
        with socket.socket(socket.AF_UNIX) as ours:
            path = socket_path(self._folder)
            path.unlink(missing_ok=True)
            ours.bind(str(path))
            ours.listen(1)
            self.flower = Flower(self._folder, simulation=self._simulation)
            if not self._simulation:
                for number in range(len(self._clients)):
                    self.flower.start_node(number)
            config = f'folder="{self._folder}" clients={len(self._clients)}'
            self.flower.run(_APP, config, len(self._clients))
            self._connection = self._accept(ours)

    def _accept(self, ours: socket.socket) -> Connection[Any, Any]:
        assert self.flower is not None
        superlink = self.flower.superlink
        deadline = time.monotonic() + _START_SECONDS
        ours.settimeout(_POLL_SECONDS)
        while superlink.runs and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                theirs, _ = ours.accept()
                theirs.setblocking(True)
                return Connection(theirs.detach())
        raise FlowerError(f"Flower did not start the app; the log of the SuperLink ends with: {superlink.end_of_log()}")

    def _start_dead_nodes(self) -> None:
        assert self.flower is not None
        for number, node in self.flower.nodes.items():
            if not node.runs:
                LOG.warning("the SuperNode of client %d has died; it is started again", number)
                self.flower.start_node(number)

    def _stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self.flower is not None:
            self.flower.stop()
        self._connection = self.flower = None


def _pickle(number: int, client: Client) -> bytes:
    advice = "define its classes and functions in a module that can be imported, or use engine='local'"
    try:
        data = pickle.dumps(client)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"client {number} cannot be sent to another process ({error}); {advice}") from error
    if b"__main__" in data:
        raise InputError(f"client {number} uses something defined in the script itself (__main__); {advice}")
    return data
