"""An engine over Flower's Grid, for a ServerApp."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from flwr.app import Message as FlowerMessage
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from minmin.errors import as_count
from minmin.federated.engines import Engine
from minmin.federated.flower.records import from_records, to_records
from minmin.federated.protocol import Envelope, MessageError, Refusal

_LOG = logging.getLogger(__name__)
_TYPES = {"task": "train", "evaluate": "evaluate", "measure": "evaluate"}
"""What Flower calls a kind of message; any other is a query."""
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
"""Seconds between two questions for replies; Flower's own ``send_and_receive`` waits 3 s."""
_PAUSE_GROWTH = 1.2
"""The factor from one pause to the next: from the first to the last in 13 questions and 2.4 s."""
_LOOK_AGAIN = 2.0
"""Seconds between two looks for new nodes. A choice: each look is one call of the grid."""
_RAISED = {
    ErrorCode.CLIENT_APP_RAISED_EXCEPTION: "its ClientApp raised an exception",
    ErrorCode.LOAD_CLIENT_APP_EXCEPTION: "its ClientApp cannot be loaded",
    ErrorCode.CLIENT_APP_CRASHED: "its ClientApp crashed",
    ErrorCode.INVALID_FAB: "its node does not trust the app",
}
"""What a client says through Flower; any other error means that it was not reached."""


class _Sent(NamedTuple):
    """To which node a message went, for which client; None where it only asked who is there."""

    node: int
    number: int | None


class GridEngine(Engine):
    """Reaches the clients of :func:`client_app` on SuperNodes.

    Nodes come and go under new numbers, so they are asked who they are; clients are numbered in the order of their ids.
    A client that turns up on another node is sent again what it has not answered.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    clients : int
        How many there are. The first exchange waits for them.
    """

    def __init__(self, grid: Grid, clients: int):
        self._grid = grid
        self._count = as_count(clients, "clients")
        self._ids: list[str] = []
        self._nodes: dict[str, int] = {}
        self._greeted: set[int] = set()
        self._asked: Mapping[int, Envelope] = {}
        self._sent: dict[str, _Sent] = {}
        self._reached: dict[int, int] = {}
        self._looked = -math.inf

    @property
    def ids(self) -> list[str]:
        """The clients' ids by their numbers, once all have been met."""
        return list(self._ids)

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        """See :class:`Engine`. A late answer to the same request counts; one to an older request is never read."""
        self._keep_sent({n for n, old in self._asked.items() if n in requests and requests[n].digest == old.digest})
        self._asked = dict(requests)
        if any(self._node(number) is None for number in requests):
            self._greeted = set(self._nodes.values())  # who has not said a name yet is asked again
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        answers: dict[int, Envelope] = {}
        self._reached = {}
        pause = _FIRST_PAUSE
        while True:
            self._look_for_nodes()
            missing = [number for number in requests if number not in answers]
            self._send([number for number in missing if self._node(number) not in (None, self._reached.get(number))])
            self._receive(answers)
            if len(answers) == len(requests) or time.monotonic() >= deadline:
                return answers
            time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
            pause = min(_PAUSE_GROWTH * pause, _LAST_PAUSE)

    def _node(self, number: int) -> int | None:
        return self._nodes.get(self._ids[number]) if self._ids else None

    def _keep_sent(self, numbers: set[int]) -> None:
        """Of what was sent, wait for what these clients have not answered yet, and for names."""
        self._sent = {key: sent for key, sent in self._sent.items() if sent.number is None or sent.number in numbers}

    def _look_for_nodes(self) -> None:
        """Ask nodes that were not there before who they are; forget those that are gone."""
        if time.monotonic() < self._looked + _LOOK_AGAIN:
            return
        self._looked = time.monotonic()
        there = set(self._grid.get_node_ids())
        self._nodes = {name: node for name, node in self._nodes.items() if node in there}
        self._greeted &= there
        new = there - self._greeted
        self._greeted |= new
        self._push([(FlowerMessage(to_records(b"", ""), node, "query"), _Sent(node, None)) for node in new])

    def _send(self, numbers: list[int]) -> None:
        messages = []
        for number in numbers:
            name, request = self._ids[number], self._asked[number]
            node = self._reached[number] = self._nodes[name]
            label = request.label
            kind, round_ = _TYPES.get(label.kind, "query"), str(label.round)
            message = FlowerMessage(to_records(request.data, name), node, kind, group_id=round_)
            messages.append((message, _Sent(node, number)))
        self._push(messages)

    def _push(self, messages: list[tuple[FlowerMessage, _Sent]]) -> None:
        if not messages:
            return
        keys: Iterable[str | None] = self._grid.push_messages([message for message, _ in messages])
        for key, (_, sent) in zip(keys, messages, strict=True):
            if key is not None:
                self._sent[key] = sent
            else:
                self._forget(sent)

    def _forget(self, sent: _Sent) -> None:
        """A node was not reached: ask it again who it is, and send again."""
        self._greeted.discard(sent.node)
        if sent.number is not None and self._reached.get(sent.number) == sent.node:
            del self._reached[sent.number]
            self._nodes.pop(self._ids[sent.number], None)

    def _receive(self, answers: dict[int, Envelope]) -> None:
        if not self._sent:
            return
        for reply in self._grid.pull_messages(list(self._sent)):
            sent = self._sent.pop(reply.metadata.reply_to_message_id, None)
            if sent is None or sent.number in answers:
                continue
            if reply.has_error() and reply.error.code not in _RAISED:
                self._forget(sent)
            elif sent.number is None:
                self._meet(sent.node, reply)
            else:
                answers[sent.number] = _open_reply(reply, self._asked[sent.number])
        self._keep_sent(set(self._asked) - set(answers))

    def _meet(self, node: int, reply: FlowerMessage) -> None:
        """Note who a node is; fix the clients' numbers when all are there."""
        try:
            name = "" if reply.has_error() else from_records(reply.content)[1]
        except MessageError:
            name = ""
        if not name or (self._ids and name not in self._ids):
            _LOG.warning("node %s is left out: %s", node, f"no client is called {name!r}" if name else "it has no name")
            return
        self._nodes[name] = node
        if not self._ids:
            _LOG.info("client %s is on node %s; %d of %d are there", name, node, len(self._nodes), self._count)
        if not self._ids and len(self._nodes) == self._count:
            self._ids = sorted(self._nodes, key=lambda name: (int(name) if name.isdecimal() else math.inf, name))


def _open_reply(reply: FlowerMessage, request: Envelope) -> Envelope:
    """The answer in a reply, not yet decoded; a refusal where Flower tells that the client failed."""
    try:
        if not reply.has_error():
            return Envelope.from_bytes(from_records(reply.content)[0])
        reason = _RAISED[reply.error.code]
    except MessageError:
        reason = "its records are not ours"
    return Envelope(Refusal(request.label.run, request.label.round, reason))
