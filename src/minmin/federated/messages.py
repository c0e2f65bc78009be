"""What travels between server and clients: typed records of arrays and numbers, and their bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from minmin.constants import Constants
from minmin.errors import MinMinError

_MAGIC = b"minmin message 1\n"
_LENGTH = struct.Struct("<I")
_ORDER = "<"


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
    """Server to client: tell f_i, and ∇ₓf_i where that is wanted, at x and at the y_i that the client holds."""

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
    """A magic line, the length of a JSON header, the header, and the arrays' bytes, little-endian, in its order."""
    header, arrays = _header(message)
    return b"".join([_MAGIC, _LENGTH.pack(len(header)), header, *(array.tobytes() for array in arrays)])


def encoded_size(message: Message) -> int:
    """How many bytes :func:`encode` makes."""
    header, arrays = _header(message)
    return len(_MAGIC) + _LENGTH.size + len(header) + sum(array.nbytes for array in arrays)


def decode(data: bytes) -> Message:
    """The message; whatever is not one is refused with :class:`MessageError`, and runs no code."""
    start = len(_MAGIC) + _LENGTH.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise MessageError("this is no message of minmin")
    (length,) = _LENGTH.unpack(data[len(_MAGIC) : start])
    try:
        header = json.loads(data[start : start + length])
        content, at = dict(header["content"]), start + length
        for name, dtype, size in header["arrays"]:
            if dtype not in ("float32", "float64"):
                raise MessageError(f"a message must not hold arrays of {dtype}")
            array = np.frombuffer(data, np.dtype(dtype).newbyteorder(_ORDER), int(size), at)
            content[name] = array.astype(dtype)
            at += array.nbytes
        kind = _KINDS[header["kind"]]
        if at != len(data) or set(content) != {field.name for field in fields(kind)}:
            raise MessageError("a message is longer or shorter than it says")
        if content.get("constants") is not None:
            content["constants"] = Constants(**content["constants"])
        return kind(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MessageError(f"a message cannot be understood: {error}") from error


def _header(message: Message) -> tuple[bytes, list[np.ndarray[Any, Any]]]:
    content: dict[str, Any] = {}
    arrays: list[np.ndarray[Any, Any]] = []
    described: list[tuple[str, str, int]] = []
    for field in fields(message):
        value = getattr(message, field.name)
        if isinstance(value, np.ndarray):
            described.append((field.name, str(value.dtype), value.shape[0]))
            arrays.append(np.ascontiguousarray(value, value.dtype.newbyteorder(_ORDER)))
        else:
            content[field.name] = asdict(value) if isinstance(value, Constants) else value
    header = {"kind": message.kind, "content": content, "arrays": described}
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), arrays
