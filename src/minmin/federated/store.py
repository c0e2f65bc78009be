"""Where a client keeps its y_i and its last reply, so that nothing is lost and nothing is done twice."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

from minmin.codec import decode, encode
from minmin.errors import CheckpointError, InputError
from minmin.federated.baselines import LocalMemory
from minmin.files import write_atomically
from minmin.methods import STATE_TYPES

_RUN_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")


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
    reply : str
        What it answered, but for the vector.
    vector : array
        That vector.
    """

    round: int
    y: Any
    memory: Any
    request: str
    reply: str
    vector: Any


class StateStore(ABC):
    """Keeps one :class:`Kept` a run."""

    @abstractmethod
    def load(self, run: str) -> Kept | None:
        """What is kept of a run; None before its first round."""

    @abstractmethod
    def save(self, run: str, kept: Kept) -> None:
        """Keep this, durably, before the reply leaves."""


class MemoryStore(StateStore):
    """In memory: gone with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def load(self, run: str) -> Kept | None:
        return self._kept.get(run)

    def save(self, run: str, kept: Kept) -> None:
        self._kept[run] = kept


class FolderStore(StateStore):
    """One file a run in a folder of this client's own, written atomically: it survives a killed process.

    Parameters
    ----------
    folder : path
        Made where it is missing.
    """

    def __init__(self, folder: Any):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {self.folder} of a client's state: {error.strerror}") from error

    def load(self, run: str) -> Kept | None:
        path = self._path(run)
        if not path.exists():
            return None
        try:
            tree, _ = decode(path.read_bytes(), (*STATE_TYPES, LocalMemory, Kept), None)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CheckpointError(f"the client's state {path} cannot be read; it was left as it is") from error
        assert isinstance(tree, Kept)
        return tree

    def save(self, run: str, kept: Kept) -> None:
        write_atomically(self._path(run), encode(kept, {}))

    def _path(self, run: str) -> Path:
        if not _RUN_NAME.fullmatch(run):
            raise InputError(f"a run's name has letters, digits, - and _ only, not {run[:40]!r}")
        return self.folder / f"{run}.state"
