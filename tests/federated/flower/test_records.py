"""Messages in Flower's records: the bytes come back as they were, and what is not ours is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("flwr", reason="needs the extra minmin[flower]")

from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from federated.test_protocol import GOLDEN
from minmin.federated.flower.records import RECORD, from_records, to_records
from minmin.federated.protocol import MessageError


@given(data=st.binary(max_size=50), client=st.text(max_size=20))
def test_bytes_and_client_come_back(data, client):
    assert from_records(to_records(data, client)) == (data, client)


@pytest.mark.parametrize("kind", GOLDEN)
def test_a_record_holds_a_message_as_it_is_encoded(kind):
    data = GOLDEN[kind][1]
    assert dict(to_records(data, "berlin")[RECORD]) == {"client": "berlin", "message": data}


@pytest.mark.parametrize(
    "records",
    [
        RecordDict(),
        RecordDict({"other": ConfigRecord({"client": "a", "message": b"b"})}),
        RecordDict({RECORD: ArrayRecord()}),
        RecordDict({RECORD: ConfigRecord({"client": "a"})}),
        RecordDict({RECORD: ConfigRecord({"message": b"b"})}),
        RecordDict({RECORD: ConfigRecord({"client": 3, "message": b"b"})}),
        RecordDict({RECORD: ConfigRecord({"client": "a", "message": "b"})}),
    ],
)
def test_other_records_are_refused(records):
    with pytest.raises(MessageError):
        from_records(records)
