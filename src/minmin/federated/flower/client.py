"""The client's half as a ClientApp: it is built for a message, answers it, and is gone; its state is in its store."""

from __future__ import annotations

import logging
from collections.abc import Callable

from flwr.app import Context
from flwr.app import Message as FlowerMessage
from flwr.clientapp import ClientApp

from minmin.errors import InputError
from minmin.federated.client import Client
from minmin.federated.flower.records import from_records, to_records
from minmin.federated.protocol import Envelope, MessageError, Refusal

_LOG = logging.getLogger(__name__)


def client_app(build: Callable[[Context], Client]) -> ClientApp:
    """A ClientApp that answers the messages of :class:`GridEngine`.

    Parameters
    ----------
    build : callable
        Makes this node's client from Flower's context. It is called for every message, in a process that is gone after
        it, so the client must have a :class:`minmin.federated.FolderStore`. What it raises stays here, in the log; the
        server hears the type alone.
    """
    app = ClientApp()

    def answer(message: FlowerMessage, context: Context) -> FlowerMessage:
        own = client_id(context)
        return FlowerMessage(to_records(_answer(message, own, build, context), own), reply_to=message)

    for kind in (app.train, app.evaluate, app.query):
        kind()(answer)
    return app


def client_id(context: Context) -> str:
    """What a client is called, whichever node it is on: its node's ``client-id``, or ``partition-id``."""
    for name in ("client-id", "partition-id"):
        if name in context.node_config:
            return str(context.node_config[name])
    raise InputError("this SuperNode has no name: start it with --node-config 'client-id=\"...\"'")


def _answer(message: FlowerMessage, own: str, build: Callable[[Context], Client], context: Context) -> bytes:
    """The answer's bytes; none where the message only asks who this is."""
    try:
        data, addressed = from_records(message.content)
        if not data:
            return b""
        label = Envelope.from_bytes(data).label
    except MessageError:
        return Envelope(Refusal("", 0, "malformed")).data
    if addressed != own:
        return Envelope(Refusal(label.run, label.round, "not the client that was meant")).data
    try:
        return build(context).answer(data)
    except Exception as error:
        _LOG.exception("client %s cannot answer", own)
        return Envelope(Refusal(label.run, label.round, f"raised {type(error).__name__}")).data
