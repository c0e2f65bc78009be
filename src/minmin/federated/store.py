"""Where a client keeps its y_i and its last reply, so that no round is lost or done twice."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

from minmin.core.arrays import Array
from minmin.errors import CheckpointError, InputError
from minmin.federated.protocol import Envelope
from minmin.federated.tasks import memory_types
from minmin.files import is_draft, lock, write_atomically
from minmin.loop.codec import decode, encode, seal, unseal

_RUN_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")
_MAGIC = "minmin client state"
_FORMAT = 4


class ClientState(NamedTuple):
    """A client's state after a round: its y_i, the memory of its task, the digest of the request, and the reply."""

    round: int
    y: Any
    memory: Any
    request: str
    reply: Envelope


class StateStore(ABC):
    """Keeps one :class:`ClientState` per run."""

    @abstractmethod
    def load(self, run: str, prototype: Array) -> ClientState | None:
        """The state of a run, its arrays in the library and dtype of ``prototype``; None before the first round."""

    @abstractmethod
    def save(self, run: str, state: ClientState) -> None:
        """Store the state durably. The reply is sent only after this returns."""

    @abstractmethod
    def newest(self) -> str | None:
        """The name of the run that was saved last."""


class MemoryStore(StateStore):
    """Keeps states in memory; they are lost when the process ends."""

    def __init__(self) -> None:
        self._states: dict[str, ClientState] = {}
        self._newest: str | None = None

    def load(self, run: str, prototype: Array) -> ClientState | None:
        return self._states.get(run)

    def save(self, run: str, state: ClientState) -> None:
        self._states[run] = state
        self._newest = run

    def newest(self) -> str | None:
        return self._newest


class FolderStore(StateStore):
    """One file per run in a folder that only this client uses. Files are written atomically: a kill loses nothing.

    A process that was given up but is still running can do no harm: a file never goes back to an earlier round.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    """

    def __init__(self, folder: Any):
        self.folder = Path(folder)
        self._lock = self.folder / ".lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock(self._lock):
                for draft in filter(is_draft, self.folder.iterdir()):
                    draft.unlink()
        except OSError as error:
            raise InputError(f"cannot use the folder {self.folder} for a client's state: {error.strerror}") from error

    def load(self, run: str, prototype: Array | None) -> ClientState | None:
        path = self._path(run)
        if not path.exists():
            return None
        payload = unseal(_MAGIC, _FORMAT, path.read_bytes(), path)
        try:
            round_, y, memory, request, reply = decode(payload, memory_types(), prototype)
            return ClientState(round_, y, memory, request, Envelope.from_bytes(reply))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"the client state {path} cannot be read, perhaps because it is of a task whose module is not "
                "imported; it was left as it is"
            ) from error

    def save(self, run: str, state: ClientState) -> None:
        path = self._path(run)
        payload = encode((*state[:4], state.reply.data), {})
        with lock(self._lock):
            stored = self.load(run, None)
            if stored is not None and stored.round >= state.round:
                raise CheckpointError(f"another process has saved round {stored.round} to the client state {path}")
            write_atomically(path, seal(_MAGIC, _FORMAT, payload))

    def newest(self) -> str | None:
        states = sorted(self.folder.glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        return states[-1].stem if states else None

    def _path(self, run: str) -> Path:
        if not _RUN_NAME.fullmatch(run):
            raise InputError(f"the name of a run must be 1 to 64 letters, digits, - or _, got {run[:40]!r}")
        return self.folder / f"{run}.state"
