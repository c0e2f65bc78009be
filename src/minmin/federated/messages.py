"""What travels between server and clients: typed records of arrays and numbers, and their bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from minmin.constants import Constants
from minmin.errors import MinMinError
from minmin.space import dtype_name

_MAGIC = b"minmin message 1\n"
_CHECKSUM = struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_START = len(_MAGIC) + _CHECKSUM.size
_LITTLE = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64")}
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class MessageError(MinMinError, ValueError):
    """Bytes that are no message of ours."""


@dataclass(frozen=True)
class Message:
    """Every message names its run and round; a client may be asked the same round again, and answers the same."""

    kind: ClassVar[str]
    run: str
    round: int


@dataclass(frozen=True, eq=False)
class WorkRequest(Message):
    """Server to client: do this work at x, and tell ∇ₓf_i where it ends.

    ``work`` is the name of a kind of work, ``settings`` its numbers and strings; ``value`` asks for f_i as well.
    ``digest`` is of all that: a round that is asked for again must be the same.
    """

    kind = "work"
    x: np.ndarray[Any, Any]
    work: str
    settings: dict[str, Any]
    value: bool
    digest: str


@dataclass(frozen=True, eq=False)
class LookRequest(Message):
    """Server to client: tell f_i, and ∇ₓf_i where that is wanted, at x and at the y_i that the client holds.

    In round 0 that is where y_i starts, whatever came since.
    """

    kind = "look"
    x: np.ndarray[Any, Any]
    gradient: bool


@dataclass(frozen=True)
class DescribeRequest(Message):
    """Server to client, before the first round: what is your problem like?"""

    kind = "describe"


@dataclass(frozen=True)
class Description(Message):
    """Client to server: sizes, abilities and constants of f_i, and its weight."""

    kind = "description"
    d_x: int
    d_y: int
    weight: float
    dtype: str
    abilities: int
    constants: Constants | None


@dataclass(frozen=True, eq=False)
class Reply(Message):
    """Client to server: one vector of x's size, and these scalars.

    Attributes
    ----------
    vector : array
        ∇ₓf_i; empty where it was not asked for.
    value : float or None
        f_i(x, y_i), where it was asked for.
    grad_y_square, y_square : float
        |∇ᵧf_i|² and |y_i|², for the certificate.
    other_terms, eps : float
        How large rounding errors may be.
    memory : mapping of str to float
        What the work tells of its memory: counts and estimates.
    calls : mapping of str to int
        What was computed, by kind.
    seconds : float
        How long it took.
    """

    kind = "reply"

    def numbers(self) -> dict[str, Any]:
        """All but the vector, by name."""
        return {name: value for name, value in vars(self).items() if name != "vector"}

    vector: np.ndarray[Any, Any]
    value: float | None
    grad_y_square: float
    y_square: float
    other_terms: float
    eps: float
    memory: dict[str, float]
    calls: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class Refusal(Message):
    """Client to server: why there is no reply, as a word; never anything of the data."""

    kind = "refusal"
    reason: str


_KINDS: dict[str, type[Message]] = {
    kind.kind: kind for kind in (WorkRequest, LookRequest, DescribeRequest, Description, Reply, Refusal)
}


def encode(message: Message) -> bytes:
    """A magic line, a CRC-32 of what follows, the length of a JSON header, the header, and the arrays' bytes.

    They are little-endian, in the header's order.
    """
    header, arrays = _header(message)
    body = b"".join([_LENGTH.pack(len(header)), header, *(array.tobytes() for array in arrays)])
    return b"".join([_MAGIC, _CHECKSUM.pack(zlib.crc32(body)), body])


def encoded_size(message: Message) -> int:
    """How many bytes :func:`encode` makes."""
    header, arrays = _header(message)
    return _START + _LENGTH.size + len(header) + sum(array.nbytes for array in arrays)


def decode(data: bytes) -> Message:
    """The message; whatever is not one is refused with :class:`MessageError`, and runs no code."""
    start = _START + _LENGTH.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise MessageError("this is no message of minmin")
    if _CHECKSUM.unpack_from(data, len(_MAGIC)) != (zlib.crc32(memoryview(data)[_START:]),):
        raise MessageError("a message is truncated or damaged")
    (length,) = _LENGTH.unpack_from(data, _START)
    try:
        header = json.loads(data[start : start + length])
        content, at = dict(header["content"]), start + length
        for name, dtype, size in header["arrays"]:
            if dtype not in _LITTLE or not _is_whole(size) or size < 0:
                raise MessageError(f"a message must not hold {size} numbers of {dtype}")
            array = np.frombuffer(data, _LITTLE[dtype], size, at)
            content[name] = array.astype(dtype)
            at += array.nbytes
        if at != len(data):
            raise MessageError("a message is longer or shorter than it says")
        return put_together(header["kind"], content)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise MessageError(f"a message cannot be understood: {error}") from error


def taken_apart(message: Message) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """A message's fields in numbers, strings, lists and dicts, and its arrays."""
    arrays = {name: value for name, value in vars(message).items() if isinstance(value, np.ndarray)}
    others = {name: value for name, value in vars(message).items() if name not in arrays}
    return {name: asdict(value) if isinstance(value, Constants) else value for name, value in others.items()}, arrays


def put_together(kind: str, content: dict[str, Any]) -> Message:
    """The message of these fields, arrays among them; :class:`MessageError` where there is none like that."""
    try:
        if content.get("constants") is not None:
            content = {**content, "constants": Constants(**content["constants"])}
        return _typed(_KINDS[kind], content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise MessageError(f"a message cannot be understood: {error}") from error


def _typed(kind: type[Message], content: dict[str, Any]) -> Message:
    """The record, where every field is there and has the type that the record states."""
    stated = {field.name: str(field.type) for field in fields(kind)}
    wrong = [name for name in stated if name not in content or not _FITS[stated[name]](content[name])]
    if wrong or len(content) > len(stated):
        raise MessageError(f"a message of kind {kind.kind} has other fields, or of other types: {', '.join(wrong)}")
    return kind(**content)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value)


_FITS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": _is_whole,
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, int]": lambda value: isinstance(value, dict) and all(map(_is_whole, value.values())),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Constants | None": lambda value: value is None or isinstance(value, Constants),
    "np.ndarray[Any, Any]": lambda value: isinstance(value, np.ndarray),
}
"""Whether a value is of a type, by the type's name in a record."""


def _header(message: Message) -> tuple[bytes, list[np.ndarray[Any, Any]]]:
    content, found = taken_apart(message)
    described = [(name, dtype_name(array), array.shape[0]) for name, array in found.items()]
    arrays = [np.ascontiguousarray(found[name], _LITTLE[dtype]) for name, dtype, _ in described]
    return _JSON.encode({"kind": message.kind, "content": content, "arrays": described}).encode(), arrays
