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
"""Flower's type for each kind of message; any other kind is a query."""
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
"""Seconds between two requests to the grid for replies; Flower's own ``send_and_receive`` waits 3 s."""
_PAUSE_GROWTH = 1.2
"""The factor from one pause to the next: from the first to the last in 13 requests and 2.4 s."""
_NODES_SECONDS = 2.0
"""Seconds between two requests to the grid for the list of nodes. Chosen, not measured."""
_CLIENT_ERRORS = {
    ErrorCode.CLIENT_APP_RAISED_EXCEPTION: "its ClientApp raised an exception",
    ErrorCode.LOAD_CLIENT_APP_EXCEPTION: "its ClientApp cannot be loaded",
    ErrorCode.CLIENT_APP_CRASHED: "its ClientApp crashed",
    ErrorCode.INVALID_FAB: "its node does not trust the app",
}
"""Errors of the client itself; any other error means that it was not reached."""


class _Sent(NamedTuple):
    """The node that a message went to, and the number of its client; None if it asked for the client's id."""

    node: int
    number: int | None


class GridEngine(Engine):
    """Carries messages to the clients of :func:`client_app` on SuperNodes.

    A node that restarts gets a new number, so every new node is asked for its client's id. Clients are numbered in the
    order of their ids. If a client appears on another node, its open request is sent again.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    clients : int
        How many clients there are. The first exchange waits for all of them.
    """

    def __init__(self, grid: Grid, clients: int):
        self._grid = grid
        self._count = as_count(clients, "clients")
        self._ids: list[str] = []
        self._nodes: dict[str, int] = {}
        self._queried: set[int] = set()
        self._requests: Mapping[int, Envelope] = {}
        self._sent: dict[str, _Sent] = {}
        self._reached: dict[int, int] = {}
        self._listed_at = -math.inf

    @property
    def ids(self) -> list[str]:
        """The clients' ids in the order of their numbers; empty until all clients are connected."""
        return list(self._ids)

    def exchange(self, requests: Mapping[int, Envelope], timeout: float | None) -> dict[int, Envelope]:
        """See :class:`Engine`. A late reply to the same request is accepted; one to an older request is ignored."""
        self._keep_sent({n for n, old in self._requests.items() if n in requests and requests[n].digest == old.digest})
        self._requests = dict(requests)
        if any(self._node(number) is None for number in requests):
            self._queried = set(self._nodes.values())  # ask the nodes without a known client again
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        replies: dict[int, Envelope] = {}
        self._reached = {}
        pause = _FIRST_PAUSE
        while True:
            self._query_new_nodes()
            missing = [number for number in requests if number not in replies]
            self._send([number for number in missing if self._node(number) not in (None, self._reached.get(number))])
            self._receive(replies)
            if len(replies) == len(requests) or time.monotonic() >= deadline:
                return replies
            time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
            pause = min(_PAUSE_GROWTH * pause, _LAST_PAUSE)

    def _node(self, number: int) -> int | None:
        return self._nodes.get(self._ids[number]) if self._ids else None

    def _keep_sent(self, numbers: set[int]) -> None:
        """Keep waiting for the replies of these clients and for ids, and for no other message."""
        self._sent = {key: sent for key, sent in self._sent.items() if sent.number is None or sent.number in numbers}

    def _query_new_nodes(self) -> None:
        """Ask new nodes for the ids of their clients; forget nodes that are gone."""
        if time.monotonic() < self._listed_at + _NODES_SECONDS:
            return
        self._listed_at = time.monotonic()
        current = set(self._grid.get_node_ids())
        self._nodes = {name: node for name, node in self._nodes.items() if node in current}
        self._queried &= current
        new = current - self._queried
        self._queried |= new
        self._push([(FlowerMessage(to_records(b"", ""), node, "query"), _Sent(node, None)) for node in new])

    def _send(self, numbers: list[int]) -> None:
        messages = []
        for number in numbers:
            name, request = self._ids[number], self._requests[number]
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
        """A node was not reached: ask it again for its client's id, and send the request again."""
        self._queried.discard(sent.node)
        if sent.number is not None and self._reached.get(sent.number) == sent.node:
            del self._reached[sent.number]
            self._nodes.pop(self._ids[sent.number], None)

    def _receive(self, replies: dict[int, Envelope]) -> None:
        if not self._sent:
            return
        for reply in self._grid.pull_messages(list(self._sent)):
            sent = self._sent.pop(reply.metadata.reply_to_message_id, None)
            if sent is None or sent.number in replies:
                continue
            if reply.has_error() and reply.error.code not in _CLIENT_ERRORS:
                self._forget(sent)
            elif sent.number is None:
                self._add_node(sent.node, reply)
            else:
                replies[sent.number] = _open_reply(reply, self._requests[sent.number])
        self._keep_sent(set(self._requests) - set(replies))

    def _add_node(self, node: int, reply: FlowerMessage) -> None:
        """Record the client of a node; number the clients once all are connected."""
        try:
            name = "" if reply.has_error() else from_records(reply.content)[1]
        except MessageError:
            name = ""
        if not name or (self._ids and name not in self._ids):
            reason = f"no client has the id {name!r}" if name else "it sent no client-id"
            _LOG.warning("node %s is ignored: %s", node, reason)
            return
        self._nodes[name] = node
        if not self._ids:
            _LOG.info("client %s is on node %s; %d of %d are connected", name, node, len(self._nodes), self._count)
        if not self._ids and len(self._nodes) == self._count:
            self._ids = sorted(self._nodes, key=lambda name: (int(name) if name.isdecimal() else math.inf, name))


def _open_reply(reply: FlowerMessage, request: Envelope) -> Envelope:
    """The bytes in Flower's reply, not yet decoded; a refusal if Flower reports that the client failed."""
    try:
        if not reply.has_error():
            return Envelope.from_bytes(from_records(reply.content)[0])
        reason = _CLIENT_ERRORS[reply.error.code]
    except MessageError:
        reason = "its records are not from minmin"
    return Envelope(Refusal(request.label.run, request.label.round, reason))
