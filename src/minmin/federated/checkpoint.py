"""The server's checkpoint: the run between two steps, and the replies that came since."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from minmin.checkpoint import Checkpoint
from minmin.errors import CheckpointError
from minmin.federated.baselines import LocalMemory, LocalState
from minmin.federated.messages import Reply
from minmin.federated.server import Federation, Traffic
from minmin.space import Array


class Round(NamedTuple):
    """The replies to one request: their scalars as JSON, and their vectors."""

    number: int
    digest: str
    scalars: tuple[str, ...]
    vectors: tuple[Array, ...]


class ServerState(NamedTuple):
    """The run's name, how many rounds its snapshot has seen, the snapshot, and the rounds of the step under way.

    And the traffic until now: bytes down, bytes up, every client's seconds.
    """

    run: str
    rounds: int
    snapshot: Any
    since: tuple[Round, ...]
    traffic: tuple[int, int, tuple[float, ...]]


class ServerCheckpoint(Checkpoint):
    """Written after every round, before the next is asked for: a server that starts from it is at most one round behind
    its clients, and they answer that one from their stores.

    Parameters
    ----------
    path, marks
        See :class:`minmin.checkpoint.Checkpoint`.
    federation : Federation
        Whose run it is. One that goes on keeps its name, and counts on from its rounds and traffic.
    """

    def __init__(self, path: Any, marks: dict[str, str], federation: Federation):
        super().__init__(path, marks)
        self._federation = federation
        self._snapshot: Any = None
        self._rounds = 0
        self._since: list[Round] = []

    def read(self, types: Iterable[type], model: Array) -> Any:
        state = super().read((*types, LocalState, LocalMemory, ServerState, Round), model)
        if state is None:
            return None
        if not isinstance(state, ServerState):
            raise CheckpointError(f"the checkpoint {self.path} is of no federation; it was left as it is")
        self._rounds, self._snapshot, self._since = state.rounds, state.snapshot, list(state.since)
        self._federation.run, self._federation.rounds = state.run, state.rounds
        self._federation.traffic = Traffic(*state.traffic[:2], list(state.traffic[2]))
        return state.snapshot

    def write_when_due(self, tree: Any) -> None:
        """After every step: what came before is then part of it."""
        self._snapshot, self._rounds, self._since = tree, self._federation.rounds, []
        self._save()

    def write(self, tree: Any) -> None:
        """At the end of a run, whose last snapshot is there already, with the rounds since."""

    def replies(self, round_: int, digest: str) -> list[Reply] | None:
        for kept in self._since:
            if (kept.number, kept.digest) == (round_, digest):
                pairs = zip(kept.scalars, kept.vectors, strict=True)
                return [Reply(vector=vector, **json.loads(scalars)) for scalars, vector in pairs]
        return None

    def note(self, round_: int, digest: str, replies: list[Reply]) -> None:
        scalars = tuple(json.dumps(reply.numbers()) for reply in replies)
        self._since.append(Round(round_, digest, scalars, tuple(r.vector for r in replies)))
        if self._snapshot is not None:
            self._save()

    def _save(self) -> None:
        run, traffic = self._federation.run, self._federation.traffic
        sent = traffic.bytes_down, traffic.bytes_up, tuple(traffic.client_seconds)
        super().write(ServerState(run, self._rounds, self._snapshot, tuple(self._since), sent))
