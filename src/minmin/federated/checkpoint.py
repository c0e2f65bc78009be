"""The server's checkpoint: the state of the run after its last step, and the replies received since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from minmin.core.arrays import Array
from minmin.errors import CheckpointError
from minmin.federated.protocol import Envelope
from minmin.federated.session import Session, Traffic
from minmin.loop.checkpoint import Checkpoint


class Round(NamedTuple):
    """The replies to one request, as bytes."""

    number: int
    digest: str
    replies: tuple[bytes, ...]


class ServerState(NamedTuple):
    """The name of a run, the rounds before its last snapshot, the snapshot, the rounds since, and the traffic."""

    run: str
    rounds: int
    snapshot: Any
    since: tuple[Round, ...]
    traffic: Traffic


class ServerCheckpoint(Checkpoint):
    """Written after every round, before the next one.

    So a server that resumes from it is at most one round behind its clients, and they repeat their replies of that
    round from their stores. The resumed session keeps the name of the run and its counts.
    """

    def __init__(self, path: Any, marks: dict[str, str], session: Session):
        super().__init__(path, marks)
        self._session = session
        self._snapshot: Any = None
        self._rounds = 0
        self._since: list[Round] = []

    def read(self, types: Iterable[type], prototype: Array) -> Any:
        state = super().read((*types, ServerState, Round, Traffic), prototype)
        if state is None:
            return None
        if not isinstance(state, ServerState):
            raise CheckpointError(
                f"the checkpoint {self.path} is not of a federated run; it was left as it is; give another path"
            )
        self._rounds, self._snapshot, self._since = state.rounds, state.snapshot, list(state.since)
        self._session.resume(state.run, state.rounds, state.traffic)
        return state.snapshot

    def write_when_due(self, tree: Any) -> None:
        """Save after every step. The rounds before it are then part of the snapshot."""
        self._snapshot, self._rounds, self._since = tree, self._session.rounds, []
        self._save()

    def write(self, tree: Any) -> None:
        """Do nothing at the end of a run: the last snapshot and the rounds since are saved already."""

    def find(self, round_: int, digest: str) -> list[Envelope] | None:
        for kept in self._since:
            if (kept.number, kept.digest) == (round_, digest):
                return [Envelope.from_bytes(data) for data in kept.replies]
        return None

    def add(self, round_: int, digest: str, replies: list[Envelope]) -> None:
        self._since.append(Round(round_, digest, tuple(reply.data for reply in replies)))
        if self._snapshot is not None:
            self._save()

    def _save(self) -> None:
        session = self._session
        super().write(ServerState(session.run, self._rounds, self._snapshot, tuple(self._since), session.traffic))
