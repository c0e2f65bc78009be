"""Messages: stable bytes that come back as they were, and refusal of everything else."""

import json
import pickle
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minmin import Constants
from minmin.federated import protocol
from minmin.federated.protocol import (
    DescribeRequest,
    Description,
    Envelope,
    EvaluateRequest,
    MeasureRequest,
    Measures,
    MessageError,
    Refusal,
    Reply,
    TaskRequest,
    decode,
    encode,
)

X = np.array([1.5, -2.0])
KNOWN = Constants(4.0, 9.0, 1.0, 2.0, "proved")
GOLDEN = {
    "task": (
        TaskRequest("a1", 3, X, "bam", '{"inner":"lbfgs"}', True),
        b"minmin message 5\n\xe0G\n=\x9d\x00\x00\x00"
        b'{"arrays":[["x","float64",2]],"kind":"task","numbers":[["round",null,"q"]],"texts":{"run'
        b'":"a1","settings":"{\\"inner\\":\\"lbfgs\\"}","task":"bam","value":true}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf8\x3f\x00\x00\x00\x00\x00\x00\x00\xc0",
    ),
    "task, where a client has a term": (
        TaskRequest("a1", 3, X, "bam", "{}", False, {"mu_y": 2.0}),
        b"minmin message 5\nD\xa8A\x18\xa4\x00\x00\x00"
        b'{"arrays":[["x","float64",2]],"kind":"task","numbers":[["round",null,"q"],["constants","'
        b'mu_y","d"]],"texts":{"run":"a1","settings":"{}","task":"bam","value":false}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\xf8\x3f"
        b"\x00\x00\x00\x00\x00\x00\x00\xc0",
    ),
    "evaluate": (
        EvaluateRequest("a1", 3, X.astype("float32"), False),
        b"minmin message 5\n\x06\xe6\n\xbfu\x00\x00\x00"
        b'{"arrays":[["x","float32",2]],"kind":"evaluate","numbers":[["round",null,"q"]],"texts":{'
        b'"gradient":false,"run":"a1"}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x3f\x00\x00\x00\xc0",
    ),
    "measure": (
        MeasureRequest("a1", 3, X),
        b"minmin message 5\nP\x0e&\xb3c\x00\x00\x00"
        b'{"arrays":[["x","float64",2]],"kind":"measure","numbers":[["round",null,"q"]],"texts":{"'
        b'run":"a1"}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf8\x3f\x00\x00\x00\x00\x00\x00\x00\xc0",
    ),
    "describe": (
        DescribeRequest("a1", 0),
        b"minmin message 5\n\x13N\x0b\x1bS\x00\x00\x00"
        b'{"arrays":[],"kind":"describe","numbers":[["round",null,"q"]],"texts":{"run":"a1"}}'
        b"\x00\x00\x00\x00\x00\x00\x00\x00",
    ),
    "description": (
        Description("a1", 0, "b", ["loss"], 2, 5, 1.5, "float64", True, False, True, KNOWN),
        b"minmin message 5\nD|afN\x01\x00\x00"
        b'{"arrays":[],"kind":"description","numbers":[["round",null,"q"],["d_x",null,"q"],["d_y",'
        b'null,"q"],["weight",null,"d"]],"texts":{"constants":{"L_x":4.0,"L_y":9.0,"blocks":["x","'
        b'y"],"mu_x":1.0,"mu_y":2.0,"source":"proved"},"dtype":"float64","has_value":true,"has_y_h'
        b'essian":false,"measured":["loss"],"name":"b","noisy":true,"run":"a1"}}'
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"
        b"\x00\x00\x00\x00\x00\x00\xf8\x3f",
    ),
    "description of a client with a term": (
        Description("a1", 0, "b", [], 2, 5, 1.5, "float64", True, False, True, None, {"convexity": 0.5}),
        b"minmin message 5\n\xda\x86)\xd8\x17\x01\x00\x00"
        b'{"arrays":[],"kind":"description","numbers":[["round",null,"q"],["d_x",null,"q"],["d_y",'
        b'null,"q"],["weight",null,"d"],["term_y","convexity","d"]],"texts":{"constants":null,"dty'
        b'pe":"float64","has_value":true,"has_y_hessian":false,"measured":[],"name":"b","noisy":tr'
        b'ue,"run":"a1"}}'
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"
        b"\x00\x00\x00\x00\x00\x00\xf8\x3f\x00\x00\x00\x00\x00\x00\xe0\x3f",
    ),
    "reply": (
        Reply("a1", 3, X, None, 0.25, 1.0, 0.0, 1e-16, {"gain": float("inf")}, {"grad_y": 2}, 0.5),
        b"minmin message 5\nnk\xa1\xa2\x10\x01\x00\x00"
        b'{"arrays":[["vector","float64",2]],"kind":"reply","numbers":[["round",null,"q"],["grad_y'
        b'_square",null,"d"],["y_square",null,"d"],["fixed_terms",null,"d"],["eps",null,"d"],["mem'
        b'ory","gain","d"],["calls","grad_y","q"],["seconds",null,"d"]],"texts":{"run":"a1","value'
        b'":null}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xd0\x3f\x00\x00\x00\x00\x00\x00\xf0\x3f"
        b"\x00\x00\x00\x00\x00\x00\x00\x00\xbc\x89\xd8\x97\xb2\xd2\x9c\x3c\x00\x00\x00\x00\x00\x00\xf0\x7f"
        b"\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0\x3f\x00\x00\x00\x00\x00\x00\xf8\x3f"
        b"\x00\x00\x00\x00\x00\x00\x00\xc0",
    ),
    "reply, where a client has a term": (
        Reply("a1", 3, X, 0.5, 0.25, 1.0, 0.0, 1e-16, {}, {}, 0.5, {"gap": 0.125}),
        b"minmin message 5\n7\xa0\xc2\x7f\xfc\x00\x00\x00"
        b'{"arrays":[["vector","float64",2]],"kind":"reply","numbers":[["round",null,"q"],["value"'
        b',null,"d"],["grad_y_square",null,"d"],["y_square",null,"d"],["fixed_terms",null,"d"],["e'
        b'ps",null,"d"],["seconds",null,"d"],["in_y","gap","d"]],"texts":{"run":"a1"}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0\x3f\x00\x00\x00\x00\x00\x00\xd0\x3f"
        b"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x00\xbc\x89\xd8\x97\xb2\xd2\x9c\x3c"
        b"\x00\x00\x00\x00\x00\x00\xe0\x3f\x00\x00\x00\x00\x00\x00\xc0\x3f\x00\x00\x00\x00\x00\x00\xf8\x3f"
        b"\x00\x00\x00\x00\x00\x00\x00\xc0",
    ),
    "measures": (
        Measures("a1", 3, {"loss": 0.5}),
        b"minmin message 5\n\xf2Vt2j\x00\x00\x00"
        b'{"arrays":[],"kind":"measures","numbers":[["round",null,"q"],["metrics","loss","d"]],"te'
        b'xts":{"run":"a1"}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0\x3f",
    ),
    "refusal": (
        Refusal("a1", 3, "stale"),
        b"minmin message 5\n \xad\x05\xf7c\x00\x00\x00"
        b'{"arrays":[],"kind":"refusal","numbers":[["round",null,"q"]],"texts":{"reason":"stale","'
        b'run":"a1"}}'
        b"\x03\x00\x00\x00\x00\x00\x00\x00",
    ),
}


def fields_of(message):
    return {
        name: (value.dtype.name, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in vars(message).items()
    }


def same(a, b):
    return type(a) is type(b) and fields_of(a) == fields_of(b)


names = st.text(max_size=20)
numbers = st.floats(allow_nan=False)
rounds = st.integers(0, 2**60)
vectors = st.sampled_from(["float32", "float64"]).flatmap(lambda dtype: arrays(dtype, st.integers(0, 20)))
constants = st.builds(
    Constants, st.floats(2, 9), st.floats(2, 9), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["given", "proved"])
)
any_message = st.one_of(
    st.builds(
        TaskRequest,
        names,
        rounds,
        vectors,
        names,
        names,
        st.booleans(),
        st.dictionaries(names, numbers),
    ),
    st.builds(EvaluateRequest, names, rounds, vectors, st.booleans(), st.dictionaries(names, numbers)),
    st.builds(DescribeRequest, names, rounds),
    st.builds(
        Description,
        names,
        rounds,
        names,
        st.lists(names, max_size=3),
        rounds,
        rounds,
        numbers,
        names,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.one_of(st.none(), constants),
        st.dictionaries(names, numbers),
    ),
    st.builds(MeasureRequest, names, rounds, vectors),
    st.builds(Measures, names, rounds, st.dictionaries(names, numbers)),
    st.builds(
        Reply,
        names,
        rounds,
        vectors,
        st.one_of(st.none(), numbers),
        numbers,
        numbers,
        numbers,
        numbers,
        st.dictionaries(names, numbers),
        st.dictionaries(names, rounds),
        numbers,
        st.dictionaries(names, numbers),
    ),
    st.builds(Refusal, names, rounds, names),
)


@given(any_message)
def test_what_is_decoded_is_what_was_encoded(message):
    data = encode(message)
    assert same(decode(data), message)
    assert encode(decode(data)) == data


@given(any_message)
def test_an_envelope_says_the_same_from_either_side(message):
    ours, theirs = Envelope(message), Envelope.from_bytes(encode(message))
    assert ours.size == theirs.size == len(theirs.data)
    assert ours.digest == theirs.digest
    assert ours.label == theirs.label == (message.kind, message.run, message.round)
    assert ours.data == theirs.data
    assert Envelope.from_bytes(ours.data).digest == ours.digest
    assert same(theirs.message, message)


def test_an_envelope_encodes_and_decodes_once(monkeypatch):
    calls = []
    monkeypatch.setattr(protocol, "encode", lambda message: calls.append("encode") or encode(message))
    monkeypatch.setattr(protocol, "decode", lambda data: calls.append("decode") or decode(data))
    ours = Envelope(GOLDEN["task"][0])
    assert [ours.digest, ours.size, ours.label]
    assert not calls
    assert ours.data is ours.data
    theirs = Envelope.from_bytes(ours.data)
    assert [theirs.digest, theirs.size, theirs.label]
    assert calls == ["encode"]
    assert theirs.message is theirs.message
    assert calls == ["encode", "decode"]


@given(st.binary(max_size=100))
def test_foreign_bytes_have_no_label(data):
    for foreign in (data, sealed(data), sealed({"kind": "task", "texts": {"run": "a"}, "numbers": []})):
        with pytest.raises(MessageError):
            _ = Envelope.from_bytes(foreign).label


@pytest.mark.parametrize("kind", GOLDEN)
def test_bytes_are_stable(kind):
    message, data = GOLDEN[kind]
    assert message.kind == kind.split()[0].rstrip(",")
    assert encode(message) == data
    assert same(decode(data), message)


def test_every_kind_is_golden():
    from minmin.federated.protocol import _KINDS

    assert {message.kind for message, _ in GOLDEN.values()} == set(_KINDS)


def refused(data):
    """No other error, whatever the bytes."""
    with pytest.raises(MessageError):
        decode(data)


def sealed(header, arrays=b""):
    """Bytes with a right length and checksum around any header."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = len(header).to_bytes(4, "little") + header + arrays
    return b"minmin message 5\n" + zlib.crc32(body).to_bytes(4, "little") + body


@pytest.mark.parametrize("kind", GOLDEN)
def test_cut_and_lengthened_bytes_are_refused(kind):
    data = GOLDEN[kind][1]
    for end in range(len(data)):
        refused(data[:end])
    refused(data + b"\0")
    refused(data + data)


@pytest.mark.parametrize("kind", GOLDEN)
def test_every_flipped_bit_is_seen(kind):
    data = bytearray(GOLDEN[kind][1])
    for place in range(len(data)):
        for bit in range(8):
            data[place] ^= 1 << bit
            refused(bytes(data))
            data[place] ^= 1 << bit


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data):
    refused(data)
    refused(sealed(data))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


def header_of(message):
    header_length = int.from_bytes(encode(message)[21:25], "little")
    return json.loads(encode(message)[25 : 25 + header_length])


def payload_of(message):
    """The numbers and arrays after the header."""
    data = encode(message)
    return data[25 + int.from_bytes(data[21:25], "little") :]


@given(st.data())
def test_headers_with_anything_in_them_are_refused_or_typed(data):
    """One place of a good header is replaced; where the result is still a message, it has the types that it states."""
    message = GOLDEN[data.draw(st.sampled_from(sorted(GOLDEN)))][0]
    header = header_of(message)
    inside = data.draw(st.booleans())
    place = data.draw(st.sampled_from(sorted(header["texts"] if inside else header)))
    (header["texts"] if inside else header)[place] = data.draw(json_values)
    raw = payload_of(message)
    try:
        found = decode(sealed(header, raw))
    except MessageError:
        return
    for name, value in vars(found).items():
        stated = type(getattr(GOLDEN[found.kind][0], name))
        optional = name in ("value", "constants")
        assert isinstance(value, stated) or (stated is float and type(value) is int) or (optional and value is None)


@pytest.mark.parametrize(
    "arrays",
    [
        [["x", "int64", 2]],
        [["x", "object", 2]],
        [["x", "float16", 8]],
        [["x", "float64", -1]],
        [["x", "float64", 1]],
        [["x", "float64", 3]],
        [["x", "float64", 2.0]],
        [["x", "float64", True]],
        [["x", "float64", 10**30]],
        [["x", "float64", 2**62]],
        [["x", "float64", float("inf")]],
        [["x", ["float64"], 2]],
        [["x", "float64", 1], ["task", "float64", 1]],
        [["run", "float64", 2]],
        [["other", "float64", 2]],
        [["x", "float64", 2], ["other", "float64", 0]],
        [["x"]],
        ["x"],
        None,
        7,
    ],
)
def test_arrays_of_other_types_and_sizes_are_refused(arrays):
    header = header_of(GOLDEN["task"][0]) | {"arrays": arrays}
    refused(sealed(header, payload_of(GOLDEN["task"][0])))


@pytest.mark.parametrize(
    "numbers",
    [
        [["round", None, "i"]],
        [["round", None, "d"]],
        [["round", None, 8]],
        [["round", "key", "q"]],
        [["task", "inner", "q"]],
        [["other", None, "q"]],
        [["round", None]],
        [["round", None, "q"], ["round", None, "q"]],
        [[["round"], None, "q"]],
        ["round"],
        None,
        7,
    ],
)
def test_numbers_of_other_types_and_names_are_refused(numbers):
    header = header_of(GOLDEN["task"][0]) | {"numbers": numbers}
    refused(sealed(header, payload_of(GOLDEN["task"][0])))


@given(st.floats(), st.floats(), st.integers(0, 2**62))
def test_the_length_tells_nothing_of_the_numbers(a, b, count):
    first = Reply("a1", 3, X, 0.0, 0.0, 0.0, 0.0, 0.0, {"gain": 0.0}, {"grad_y": 0}, 0.0)
    second = Reply("a1", 3, X, a, b, a, b, a, {"gain": b}, {"grad_y": count}, a)
    assert len(encode(first)) == len(encode(second))


def test_hostile_headers_are_refused():
    refused(sealed(b"[" * 200_000))
    refused(sealed(b'{"a":' * 200_000))
    refused(sealed(b"9" * 10_000))
    refused(sealed(b"\xff\xfe"))
    refused(sealed({"kind": "eval", "texts": {}, "arrays": []}))
    refused(sealed({"kind": ["task"], "texts": {}, "arrays": []}))
    refused(sealed({"kind": "__class__", "texts": {"run": "a"}, "arrays": []}))
    refused(b"minmin message 5\n" + b"\xff" * 8)


def test_nothing_is_pickled(monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("pickled")

    for name in ("dump", "dumps", "load", "loads"):
        monkeypatch.setattr(pickle, name, forbidden)
    for message, data in GOLDEN.values():
        assert same(decode(encode(message)), message)
        assert b"pickle" not in data
    refused(b"\x80\x04\x95")
