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
from minmin.federated.messages import Message, MessageError, Refusal

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
        try:
            request, addressed = from_records(message.content)
        except MessageError:
            return FlowerMessage(to_records(Refusal("", 0, "malformed"), own), reply_to=message)
        reply = None if request is None else _answered(request, addressed, own, build, context)
        return FlowerMessage(to_records(reply, own), reply_to=message)

    for kind in (app.train, app.evaluate, app.query):
        kind()(answer)
    return app


def client_id(context: Context) -> str:
    """What a client is called, whichever node it is on: its node's ``client-id``, or ``partition-id``."""
    for name in ("client-id", "partition-id"):
        if name in context.node_config:
            return str(context.node_config[name])
    raise InputError("this SuperNode has no name: start it with --node-config 'client-id=\"...\"'")


def _answered(
    request: Message, addressed: str, own: str, build: Callable[[Context], Client], context: Context
) -> Message:
    if addressed != own:
        return Refusal(request.run, request.round, "not the client that was meant")
    try:
        return build(context).handle(request)
    except Exception as error:
        _LOG.exception("client %s cannot answer", own)
        return Refusal(request.run, request.round, f"raised {type(error).__name__}")
