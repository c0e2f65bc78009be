"""Messages as Flower's records: the bytes of a message, and the id of the client."""

from __future__ import annotations

from collections.abc import Mapping

from flwr.app import ConfigRecord, RecordDict

from minmin.federated.protocol import MessageError

RECORD = "minmin"
_CLIENT, _MESSAGE = "client", "message"


def to_records(data: bytes, client: str) -> RecordDict:
    """Records with the bytes of a message to or from a client. Empty bytes only ask for, or send, the client's id."""
    return RecordDict({RECORD: ConfigRecord({_CLIENT: client, _MESSAGE: data})})


def from_records(records: RecordDict) -> tuple[bytes, str]:
    """The bytes of the message and the client's id; :class:`MessageError` if the records are not from minmin."""
    record: Mapping[str, object] = records.config_records.get(RECORD, {})
    data, client = record.get(_MESSAGE), record.get(_CLIENT)
    if not isinstance(data, bytes) or not isinstance(client, str):
        raise MessageError("these records are not from minmin")
    return data, client
