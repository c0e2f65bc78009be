"""Where a client keeps its y_i and its last reply, so that nothing is lost and nothing is done twice."""

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
_FORMAT = 2


class Kept(NamedTuple):
    """A client's state after a round: its y_i, what its task remembers, the request's digest, and the reply."""

    round: int
    y: Any
    memory: Any
    request: str
    reply: Envelope


class StateStore(ABC):
    """Keeps one :class:`Kept` per run."""

    @abstractmethod
    def load(self, run: str, prototype: Array) -> Kept | None:
        """What is kept of a run, in the library and dtype of ``prototype``; None before its first round."""

    @abstractmethod
    def save(self, run: str, kept: Kept) -> None:
        """Keep this, durably, before the reply leaves."""

    @abstractmethod
    def newest(self) -> str | None:
        """The run that was saved last."""


class MemoryStore(StateStore):
    """In memory: gone with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._newest: str | None = None

    def load(self, run: str, prototype: Array) -> Kept | None:
        return self._kept.get(run)

    def save(self, run: str, kept: Kept) -> None:
        self._kept[run] = kept
        self._newest = run

    def newest(self) -> str | None:
        return self._newest


class FolderStore(StateStore):
    """One file per run in a folder of this client's own, written atomically: it survives a killed process.

    A process that was thought to be dead and is only late can do no harm: rounds never go back.

    Parameters
    ----------
    folder : path
        Created where it is missing.
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

    def load(self, run: str, prototype: Array | None) -> Kept | None:
        path = self._path(run)
        if not path.exists():
            return None
        payload = unseal(_MAGIC, _FORMAT, path.read_bytes(), path)
        try:
            round_, y, memory, request, reply = decode(payload, memory_types(), prototype)
            return Kept(round_, y, memory, request, Envelope.from_bytes(reply))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"the client state {path} holds something that is not known here, such as the memory of a task that "
                "is not registered; it was left as it is"
            ) from error

    def save(self, run: str, kept: Kept) -> None:
        path = self._path(run)
        payload = encode((*kept[:4], kept.reply.data), {})
        with lock(self._lock):
            there = self.load(run, None)
            if there is not None and there.round >= kept.round:
                raise CheckpointError(f"the client state {path} has seen round {there.round} meanwhile")
            write_atomically(path, seal(_MAGIC, _FORMAT, payload))

    def newest(self) -> str | None:
        states = sorted(self.folder.glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        return states[-1].stem if states else None

    def _path(self, run: str) -> Path:
        if not _RUN_NAME.fullmatch(run):
            raise InputError(f"a run's name has letters, digits, - and _ only, not {run[:40]!r}")
        return self.folder / f"{run}.state"
