"""The messages between server and clients: typed records, their encoding as bytes, and envelopes around both."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minmin.core.arrays import dtype_name
from minmin.core.bound import Constants
from minmin.errors import MinMinError

_MAGIC = b"minmin message 5\n"
_CHECKSUM = struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_START = len(_MAGIC) + _CHECKSUM.size
_LITTLE = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64")}
_NUMBERS = {"d": struct.Struct("<d"), "q": struct.Struct("<q")}
_NUMBER_SIZE = 8
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=asdict)


class MessageError(MinMinError, ValueError):
    """Bytes that are not a valid message."""


@dataclass(frozen=True)
class Message:
    """A message names its run and its round. A client that gets a request twice sends the same reply twice."""

    kind: ClassVar[str]
    run: str
    round: int


@dataclass(frozen=True, eq=False)
class TaskRequest(Message):
    """Server to client: run this task at x, and send the vector that it computes.

    ``task`` is the name of a registered task and ``settings`` its fields as JSON; ``value`` asks for f_i as well.
    ``constants`` are those of f, if a client has a term in y: with them it bounds what its y_i adds to f - f*.
    """

    kind = "task"
    x: np.ndarray[Any, Any]
    task: str
    settings: str
    value: bool
    constants: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class EvaluateRequest(Message):
    """Server to client: send f_i, and ∇ₓf_i if ``gradient`` is set, at x and at the client's current y_i.

    In round 0, y_i is the starting point, even if the client has moved since. ``constants`` are as in a
    :class:`TaskRequest`.
    """

    kind = "evaluate"
    x: np.ndarray[Any, Any]
    gradient: bool
    constants: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MeasureRequest(Message):
    """Server to client: what are your metrics at x and at your current y_i?

    The y_i is that of the named run; if the name is empty, that of the client's newest run.
    """

    kind = "measure"
    x: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Measures(Message):
    """Client to server: its metrics by name."""

    kind = "measures"
    metrics: dict[str, float]


@dataclass(frozen=True)
class DescribeRequest(Message):
    """Server to client, before the first round: what is your problem like?"""

    kind = "describe"


@dataclass(frozen=True)
class Description(Message):
    """Client to server: its name, its metrics' names, its weight, and the sizes, abilities and constants of f_i."""

    kind = "description"
    name: str
    measured: list[str]
    d_x: int
    d_y: int
    weight: float
    dtype: str
    has_value: bool
    has_y_hessian: bool
    noisy: bool  # whether what it sends is clipped, or noise is added
    constants: Constants | None
    term_y: dict[str, float] = field(default_factory=dict)  # the convexity of its term in y; empty without one


@dataclass(frozen=True, eq=False)
class Reply(Message):
    """Client to server: one vector of the size of x, and some scalars."""

    kind = "reply"
    vector: np.ndarray[Any, Any]  # what the task computes, usually ∇ₓf_i; empty if it was not asked for
    value: float | None  # f_i with its term, if it was asked for
    grad_y_square: float  # |∇ᵧf_i|² and |y_i|², for the certificate
    y_square: float
    fixed_terms: float  # together with eps, it bounds the rounding errors
    eps: float
    memory: dict[str, float]  # the scalars in the task's memory: counts and estimates
    calls: dict[str, int]  # how many values, gradients and so on were computed
    seconds: float
    in_y: dict[str, float] = field(default_factory=dict)  # see IN_Y; empty if no client has a term in y


IN_Y = frozenset({"gap", "floor", "estimate", "residual_square", "step_square", "term"})
"""What replies say of y_i if a client has a term in y, since the server cannot compute it from |∇ᵧf_i|.

"gap" and "floor" are those of :class:`minmin.core.model_gap.BlockGap` by the request's constants, "estimate" is the gap
by the curvature seen. "residual_square" is the squared norm of :func:`minmin.core.model_gap.find_residual` for the
largest curvature seen, "step_square" that for 1. "term" is the term's value.
"""


@dataclass(frozen=True)
class Refusal(Message):
    """Client to server: why there is no reply, in a few words that never contain any of the data."""

    kind = "refusal"
    reason: str


_KINDS: dict[str, type[Message]] = {
    kind.kind: kind
    for kind in (TaskRequest, EvaluateRequest, MeasureRequest, DescribeRequest, Description, Reply, Measures, Refusal)
}


class Label(NamedTuple):
    """The part of a message that an engine can read without decoding the rest."""

    kind: str
    run: str
    round: int


class Envelope:
    """A message and its bytes: what an engine carries.

    Each is made from the other on first use, and only once. So an engine that calls functions never encodes, and an
    engine that sends bytes never decodes.
    """

    __slots__ = ("_data", "_digest", "_message")

    def __init__(self, message: Message | None, data: bytes | None = None):
        self._message = message
        self._data = data
        self._digest: str | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> Envelope:
        """Wrap bytes without decoding them."""
        return cls(None, data)

    @property
    def message(self) -> Message:
        """The message; :class:`MessageError` if the bytes are not a valid one."""
        if self._message is None:
            assert self._data is not None
            self._message = decode(self._data)
        return self._message

    @property
    def data(self) -> bytes:
        """The message's bytes."""
        if self._data is None:
            self._data = encode(self.message)
        return self._data

    @property
    def size(self) -> int:
        """The length of the encoded message in bytes; computed without encoding it."""
        return len(self._data) if self._data is not None else _START + sum(map(len, _body(self.message)))

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes after the checksum: equal messages have equal digests, encoded or not."""
        if self._digest is None:
            hashed = hashlib.sha256()
            for piece in _body(self.message) if self._data is None else [memoryview(self._data)[_START:]]:
                hashed.update(piece)
            self._digest = hashed.hexdigest()
        return self._digest

    @property
    def label(self) -> Label:
        """The kind, run and round of the message; :class:`MessageError` if the bytes have none."""
        if self._message is not None:
            return Label(self._message.kind, self._message.run, self._message.round)
        assert self._data is not None
        return _read_label(self._data)


def encode(message: Message) -> bytes:
    """Encode a message: magic line, CRC-32 of the rest, length of the JSON header, header, numbers, arrays.

    Numbers are in the order of the header and take eight bytes each, little-endian like the arrays. So the length of a
    message does not depend on the values in it.
    """
    body = b"".join(_body(message))
    return b"".join([_MAGIC, _CHECKSUM.pack(zlib.crc32(body)), body])


def decode(data: bytes) -> Message:
    """Decode a message. Anything else raises :class:`MessageError`; decoding never runs code from the bytes."""
    try:
        header, at = _read_header(data)
        if _CHECKSUM.unpack_from(data, len(_MAGIC)) != (zlib.crc32(memoryview(data)[_START:]),):
            raise MessageError("the message is truncated or damaged")
        kind = _KINDS[header["kind"]]
        content: dict[str, Any] = {field.name: {} for field in fields(kind) if str(field.type).startswith("dict")}
        content |= header["texts"]
        for name, key, code in header["numbers"]:
            (number,) = _NUMBERS[code].unpack_from(data, at)
            (content if key is None else content[name])[name if key is None else key] = number
            at += _NUMBER_SIZE
        for name, dtype, size in header["arrays"]:
            if dtype not in _LITTLE or not _is_whole(size) or size < 0:
                raise MessageError(f"the message declares an invalid array: {size} numbers of type {dtype}")
            array = np.frombuffer(data, _LITTLE[dtype], size, at)
            content[name] = array.astype(dtype)
            at += array.nbytes
        if at != len(data):
            raise MessageError("the length of the message is not the one that its header declares")
        return _build(kind, content)
    except _UNREADABLE as error:
        raise MessageError(f"the message cannot be decoded: {error}") from error


_UNREADABLE = (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def _read_header(data: bytes) -> tuple[Any, int]:
    """The header, and the offset of the numbers."""
    if not data.startswith(_MAGIC):
        raise MessageError("these bytes are not a minmin message")
    (length,) = _LENGTH.unpack_from(data, _START)
    start = _START + _LENGTH.size
    return json.loads(data[start : start + length]), start + length


def _read_label(data: bytes) -> Label:
    """Read the label alone. The first number of every message is its round."""
    try:
        header, at = _read_header(data)
        kind, run = header["kind"], header["texts"]["run"]
        if kind not in _KINDS or not isinstance(run, str) or header["numbers"][0] != ["round", None, "q"]:
            raise MessageError("the message does not name its kind, run and round")
        return Label(kind, run, *_NUMBERS["q"].unpack_from(data, at))
    except (*_UNREADABLE, IndexError) as error:
        raise MessageError(f"the message cannot be decoded: {error}") from error


def _build(kind: type[Message], content: dict[str, Any]) -> Message:
    """Build the record, after checking that every field is there and has the declared type."""
    declared = {field.name: str(field.type) for field in fields(kind)}
    if content.get("constants") is not None and declared.get("constants") == "Constants | None":
        content["constants"] = Constants(**content["constants"])
    wrong = [name for name in declared if name not in content or not _HAS_TYPE[declared[name]](content[name])]
    if wrong:
        raise MessageError(f"fields of a message of kind {kind.kind} are missing or mistyped: {', '.join(wrong)}")
    if unknown := [str(name) for name in content if name not in declared]:
        raise MessageError(f"a message of kind {kind.kind} has unknown fields: {', '.join(unknown)}")
    return kind(**content)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value)


_HAS_TYPE: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": _is_whole,
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(word, str) for word in value),
    "dict[str, int]": lambda value: isinstance(value, dict) and all(map(_is_whole, value.values())),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Constants | None": lambda value: value is None or isinstance(value, Constants),
    "np.ndarray[Any, Any]": lambda value: isinstance(value, np.ndarray),
}
"""By the name of a type in a record: whether a value has that type."""


def _body(message: Message) -> list[Any]:
    """What follows the checksum, in pieces: the length of the header, the header, the numbers, and each array."""
    texts: list[tuple[str, Any]] = []
    names: list[tuple[str, str | None, str]] = []
    numbers: list[float] = []
    described: list[tuple[str, str, int]] = []
    arrays = []
    for name, value in vars(message).items():
        if isinstance(value, np.ndarray):
            described.append((name, dtype_name(value), value.shape[0]))
            arrays.append(np.ascontiguousarray(value, _LITTLE[described[-1][1]]).view(np.uint8))
        elif isinstance(value, dict):
            names += [(name, key, _code(number)) for key, number in value.items()]
            numbers += value.values()
        elif _is_number(value):
            names.append((name, None, _code(value)))
            numbers.append(value)
        else:
            texts.append((name, tuple(value) if isinstance(value, list) else value))
    header, codes = _encode_header(message.kind, tuple(texts), tuple(names), tuple(described))
    return [_LENGTH.pack(len(header)), header, struct.pack(codes, *numbers), *arrays]


def _code(number: float) -> str:
    return "d" if isinstance(number, float) else "q"


@lru_cache(maxsize=64)
def _encode_header(
    kind: str,
    texts: tuple[tuple[str, Any], ...],
    numbers: tuple[tuple[str, str | None, str], ...],
    arrays: tuple[tuple[str, str, int], ...],
) -> tuple[bytes, str]:
    """The bytes of a header and the struct codes of its numbers; cached, since all replies of a run share them."""
    header = {"kind": kind, "texts": dict(texts), "numbers": numbers, "arrays": arrays}
    return _JSON.encode(header).encode(), "<" + "".join(code for *_, code in numbers)
