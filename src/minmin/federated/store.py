"""Where a client keeps its y_i and its last reply, so that nothing is lost and nothing is done twice."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minmin.codec import decode, encode
from minmin.errors import CheckpointError, InputError
from minmin.federated.baselines import LocalMemory
from minmin.federated.messages import Reply
from minmin.files import is_draft, write_atomically
from minmin.methods import STATE_TYPES
from minmin.space import Array, to_numpy

_RUN_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")
_MAGIC = b"minmin client state 1\n"


class Kept(NamedTuple):
    """A client's state after a round.

    Attributes
    ----------
    round : int
    y : array
        What the client would use now.
    memory : NamedTuple
        What its work remembers.
    request : str
        A digest of what it was asked.
    reply : Reply
        What it answered.
    """

    round: int
    y: Any
    memory: Any
    request: str
    reply: Reply


class _Stored(NamedTuple):
    """The same as it lies in a file: the reply's numbers as JSON."""

    round: int
    y: Any
    memory: Any
    request: str
    numbers: str
    vector: Any


class StateStore(ABC):
    """Keeps one :class:`Kept` a run."""

    @abstractmethod
    def load(self, run: str, model: Array) -> Kept | None:
        """What is kept of a run, in the library and dtype of ``model``; None before its first round."""

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

    def load(self, run: str, model: Array) -> Kept | None:
        return self._kept.get(run)

    def save(self, run: str, kept: Kept) -> None:
        self._kept[run] = kept
        self._newest = run

    def newest(self) -> str | None:
        return self._newest


class FolderStore(StateStore):
    """One file a run in a folder of this client's own, written atomically: it survives a killed process.

    A process that was thought to be dead and is only late can do no harm: rounds never go back.

    Parameters
    ----------
    folder : path
        Made where it is missing.
    """

    def __init__(self, folder: Any):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                for draft in filter(is_draft, self.folder.iterdir()):
                    draft.unlink()
        except OSError as error:
            raise InputError(f"cannot use the folder {self.folder} for a client's state: {error.strerror}") from error

    def load(self, run: str, model: Array | None) -> Kept | None:
        path = self._path(run)
        if not path.exists():
            return None
        magic, digest, payload = _split(path.read_bytes())
        if magic != _MAGIC or digest != _digest(payload):
            raise CheckpointError(f"the client's state {path} is truncated or damaged; it was left as it is")
        try:
            tree, _ = decode(payload, (*STATE_TYPES, LocalMemory, _Stored), model)
            reply = Reply(vector=to_numpy(tree.vector), **json.loads(tree.numbers))
            return Kept(tree.round, tree.y, tree.memory, tree.request, reply)
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"the client's state {path} is of another minmin; it was left as it is") from error

    def save(self, run: str, kept: Kept) -> None:
        path = self._path(run)
        payload = encode(_Stored(*kept[:4], json.dumps(kept.reply.numbers()), kept.reply.vector), {})
        with self._locked():
            there = self.load(run, None)
            if there is not None and there.round >= kept.round:
                raise CheckpointError(f"the client's state {path} has seen round {there.round} meanwhile")
            write_atomically(path, _MAGIC + _digest(payload) + payload)

    def newest(self) -> str | None:
        states = sorted(self.folder.glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        return states[-1].stem if states else None

    def _path(self, run: str) -> Path:
        if not _RUN_NAME.fullmatch(run):
            raise InputError(f"a run's name has letters, digits, - and _ only, not {run[:40]!r}")
        return self.folder / f"{run}.state"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _digest(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    end = len(_MAGIC) + hashlib.sha256().digest_size
    return data[: len(_MAGIC)], data[len(_MAGIC) : end], data[end:]
