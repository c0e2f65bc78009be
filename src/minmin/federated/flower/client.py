"""A ClientApp around a client. It is built again for each message, so the client's state must be in its store."""

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
    """Build a ClientApp that replies to the messages of :class:`GridEngine`.

    Parameters
    ----------
    build : callable
        Builds this node's client from Flower's context. It is called for each message, in a process that ends
        afterwards, so the client must have a :class:`minmin.federated.FolderStore`. What it raises is logged on the
        node; the server is sent only the type of the exception.
    """
    app = ClientApp()

    def reply(message: FlowerMessage, context: Context) -> FlowerMessage:
        name = client_id(context)
        return FlowerMessage(to_records(_reply(message, name, build, context), name), reply_to=message)

    for kind in (app.train, app.evaluate, app.query):
        kind()(reply)
    return app


def client_id(context: Context) -> str:
    """The id of a client: the ``client-id`` in its node's configuration, or else the ``partition-id``.

    A client keeps its id when it moves to another node.
    """
    for name in ("client-id", "partition-id"):
        if name in context.node_config:
            return str(context.node_config[name])
    raise InputError("this SuperNode has no client-id: start it with --node-config 'client-id=\"...\"'")


def _reply(message: FlowerMessage, name: str, build: Callable[[Context], Client], context: Context) -> bytes:
    """The bytes of the reply; empty if the message only asks for the client's id."""
    try:
        data, addressed = from_records(message.content)
        if not data:
            return b""
        label = Envelope.from_bytes(data).label
    except MessageError:
        return Envelope(Refusal("", 0, "malformed")).data
    if addressed != name:
        return Envelope(Refusal(label.run, label.round, "the request is for another client")).data
    try:
        return build(context).answer(data)
    except Exception as error:
        _LOG.exception("client %s cannot reply", name)
        return Envelope(Refusal(label.run, label.round, f"raised {type(error).__name__}")).data
