"""Messages as Flower's records: they come back as they were, arrays are arrays, numbers are metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("flwr", reason="needs the extra minmin[flower]")

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from federated.test_messages import GOLDEN, any_message, same
from minmin.federated.flower.records import ARRAYS, NUMBERS, WORDS, from_records, to_records
from minmin.federated.messages import MessageError, Reply, WorkRequest


@given(message=any_message, client=st.text(max_size=20))
def test_every_message_comes_back(message, client):
    back, name = from_records(to_records(message, client))
    assert same(back, message)
    assert name == client


@pytest.mark.parametrize("kind", GOLDEN)
def test_the_known_messages_come_back(kind):
    message = GOLDEN[kind][0]
    assert same(from_records(to_records(message, "a"))[0], message)


def test_who_is_asked_for_without_a_message():
    assert from_records(to_records(None, "berlin")) == (None, "berlin")


def test_a_reply_is_no_opaque_blob():
    reply = Reply("r", 3, np.arange(3.0), 0.5, 1.0, 2.0, 3.0, 4.0, {"gain": 5.0}, {"grad_y": 6}, 7.0)
    records = to_records(reply, "berlin")
    assert np.array_equal(records.array_records[ARRAYS]["vector"].numpy(), reply.vector)
    numbers = dict(records.metric_records[NUMBERS])
    assert numbers == {
        "round": 3,
        "value": 0.5,
        "grad_y_square": 1.0,
        "y_square": 2.0,
        "other_terms": 3.0,
        "eps": 4.0,
        "memory.gain": 5.0,
        "calls.grad_y": 6,
        "seconds": 7.0,
    }
    words = dict(records.config_records[WORDS])
    assert words["kind"] == "reply"
    assert words["field.run"] == "r"
    assert not any(isinstance(word, bytes) for word in words.values())


def changed(**parts):
    records = to_records(WorkRequest("r", 1, np.zeros(2), "bam", {"inner": "lbfgs"}, True, "d"), "a")
    for name, part in parts.items():
        records[{"arrays": ARRAYS, "numbers": NUMBERS, "words": WORDS}[name]] = part
    return records


WORDS_OF_OURS = {"kind": "work", "client": "a", "nothing": [], "empty": []}


@pytest.mark.parametrize(
    "records",
    [
        RecordDict(),
        RecordDict({WORDS: ConfigRecord({"kind": "work"})}),
        changed(words=ConfigRecord({**WORDS_OF_OURS, "kind": "command"})),
        changed(words=ConfigRecord({**WORDS_OF_OURS, "field.run": "r"})),
        changed(words=ConfigRecord({**WORDS_OF_OURS, "client": 3})),
        changed(words=ConfigRecord({**WORDS_OF_OURS, "nothing": [1]})),
        changed(numbers=MetricRecord({"round": 1.5})),
        changed(numbers=MetricRecord({"round": 1, "round.of": 2})),
        changed(arrays=ArrayRecord({"x": Array(np.zeros((2, 2)))})),
        changed(arrays=ArrayRecord({"x": Array("float64", (2,), "numpy.ndarray", b"no array")})),
        changed(arrays=ArrayRecord({"x": Array("float64", (2,), "pickle", b"no array")})),
        changed(arrays=ArrayRecord({})),
    ],
)
def test_other_records_are_refused(records):
    with pytest.raises(MessageError):
        from_records(records)
