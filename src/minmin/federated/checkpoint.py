"""The server's checkpoint: the run between two steps, and the replies that came since."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from minmin.checkpoint import Checkpoint
from minmin.federated.baselines import LocalMemory, LocalState
from minmin.federated.messages import Reply
from minmin.space import Array


class Round(NamedTuple):
    """The replies to one request: their scalars as JSON, and their vectors."""

    number: int
    digest: str
    scalars: tuple[str, ...]
    vectors: tuple[Array, ...]


class ServerState(NamedTuple):
    """The run's name, how many rounds its snapshot has seen, the snapshot, and the rounds of the step under way."""

    run: str
    rounds: int
    snapshot: Any
    since: tuple[Round, ...]


class ServerCheckpoint(Checkpoint):
    """Written after every round, before the next is asked for: a server that starts from it is at most one round behind
    its clients, and they answer that one from their stores.

    Parameters
    ----------
    path, marks
        See :class:`minmin.checkpoint.Checkpoint`.
    run : str
        The name of a new run; one that goes on keeps its own.
    """

    def __init__(self, path: Any, marks: dict[str, str], run: str):
        super().__init__(path, marks)
        self.run = run
        self._snapshot: Any = None
        self._rounds = 0
        self._since: list[Round] = []
        self.rounds_now: Callable[[], int] = lambda: 0

    def read(self, types: Iterable[type], model: Array) -> Any:
        state = super().read((*types, LocalState, LocalMemory, ServerState, Round), model)
        if state is None:
            return None
        assert isinstance(state, ServerState)
        self.run, self._rounds, self._snapshot = state.run, state.rounds, state.snapshot
        self._since = list(state.since)
        return state.snapshot

    @property
    def rounds(self) -> int:
        """How many rounds the snapshot that was read has seen."""
        return self._rounds

    def write_when_due(self, tree: Any) -> None:
        """After every step: what came before is then part of it."""
        self._snapshot, self._rounds, self._since = tree, self.rounds_now(), []
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
        scalars = tuple(json.dumps({k: v for k, v in asdict(r).items() if k != "vector"}) for r in replies)
        self._since.append(Round(round_, digest, scalars, tuple(r.vector for r in replies)))
        if self._snapshot is not None:
            self._save()

    def _save(self) -> None:
        super().write(ServerState(self.run, self._rounds, self._snapshot, tuple(self._since)))
