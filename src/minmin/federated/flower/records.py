"""Our messages in Flower's records: their bytes as they are, and the client's id."""

from __future__ import annotations

from collections.abc import Mapping

from flwr.app import ConfigRecord, RecordDict

from minmin.federated.protocol import MessageError

RECORD = "minmin"
_CLIENT, _MESSAGE = "client", "message"


def to_records(data: bytes, client: str) -> RecordDict:
    """A message's bytes for or from a client; empty bytes only ask, or say, who it is."""
    return RecordDict({RECORD: ConfigRecord({_CLIENT: client, _MESSAGE: data})})


def from_records(records: RecordDict) -> tuple[bytes, str]:
    """The bytes and the client; :class:`MessageError` where the records are not ours."""
    record: Mapping[str, object] = records.config_records.get(RECORD, {})
    data, client = record.get(_MESSAGE), record.get(_CLIENT)
    if not isinstance(data, bytes) or not isinstance(client, str):
        raise MessageError("these are no records of minmin")
    return data, client
