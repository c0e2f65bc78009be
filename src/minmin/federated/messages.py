"""What travels between server and clients: typed records of arrays and numbers, and their bytes."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from minmin.constants import Constants
from minmin.errors import MinMinError
from minmin.space import dtype_name

_MAGIC = b"minmin message 2\n"
_CHECKSUM = struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_START = len(_MAGIC) + _CHECKSUM.size
_LITTLE = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64")}
_NUMBERS = {"d": struct.Struct("<d"), "q": struct.Struct("<q")}
_NUMBER_SIZE = 8
_MAPPINGS = ("dict[str, int]", "dict[str, float]")
_NESTED = ("settings", "constants", "measured")
"""Fields that are JSON within the header, since they are of many types."""
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


@dataclass(frozen=True, eq=False)
class MeasureRequest(Message):
    """Server to client: what do your metrics say at x and at the y_i that you hold?

    Of this run, or of the newest one where it has no name.
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
    """Client to server: its name and the names of its metrics, sizes, abilities and constants of f_i, its weight."""

    kind = "description"
    name: str
    measured: list[str]
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

    def shape(self) -> tuple[Any, ...]:
        """What the length of its bytes depends on."""
        return self.run, self.vector.dtype, self.vector.size, self.value is None, *self.memory, None, *self.calls

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
    kind.kind: kind
    for kind in (WorkRequest, LookRequest, MeasureRequest, DescribeRequest, Description, Reply, Measures, Refusal)
}


def encode(message: Message) -> bytes:
    """A magic line, a CRC-32 of what follows, the length of a JSON header, the header, numbers, and the arrays' bytes.

    Numbers take eight bytes each, little-endian like the arrays, in the header's order: how long a message is tells
    nothing of what is in it.
    """
    header, codes, numbers, arrays = _parts(message)
    body = [_LENGTH.pack(len(header)), header, struct.pack(codes, *numbers), *(array.tobytes() for array in arrays)]
    joined = b"".join(body)
    return b"".join([_MAGIC, _CHECKSUM.pack(zlib.crc32(joined)), joined])


def encoded_size(message: Message) -> int:
    """How many bytes :func:`encode` makes."""
    header, _, numbers, arrays = _parts(message)
    return _START + _LENGTH.size + len(header) + _NUMBER_SIZE * len(numbers) + sum([array.nbytes for array in arrays])


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
        kind = _KINDS[header["kind"]]
        content, at = _without_numbers(kind, header["texts"]), start + length
        for name, key, code in header["numbers"]:
            (number,) = _NUMBERS[code].unpack_from(data, at)
            (content if key is None else content[name])[name if key is None else key] = number
            at += _NUMBER_SIZE
        for name, dtype, size in header["arrays"]:
            if dtype not in _LITTLE or not _is_whole(size) or size < 0:
                raise MessageError(f"a message must not hold {size} numbers of {dtype}")
            array = np.frombuffer(data, _LITTLE[dtype], size, at)
            content[name] = array.astype(dtype)
            at += array.nbytes
        if at != len(data):
            raise MessageError("a message is longer or shorter than it says")
        return put_together(header["kind"], content)
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise MessageError(f"a message cannot be understood: {error}") from error


def _without_numbers(kind: type[Message], texts: dict[str, Any]) -> dict[str, Any]:
    """A record's fields but for numbers and arrays: mappings of numbers are empty yet."""
    content: dict[str, Any] = {field.name: {} for field in fields(kind) if str(field.type) in _MAPPINGS}
    for name, text in texts.items():
        content[name] = json.loads(text) if name in _NESTED and text is not None else text
    return content


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
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(word, str) for word in value),
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, int]": lambda value: isinstance(value, dict) and all(map(_is_whole, value.values())),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "Constants | None": lambda value: value is None or isinstance(value, Constants),
    "np.ndarray[Any, Any]": lambda value: isinstance(value, np.ndarray),
}
"""Whether a value is of a type, by the type's name in a record."""


def _parts(message: Message) -> tuple[bytes, str, list[float], list[np.ndarray[Any, Any]]]:
    """The header, how the numbers are packed, the numbers, and the arrays."""
    content, found = taken_apart(message)
    texts: list[tuple[str, Any]] = []
    names: list[tuple[str, str | None, str]] = []
    numbers: list[float] = []
    for name, value in content.items():
        if name in _NESTED and value is not None:
            texts.append((name, _JSON.encode(value)))
        elif isinstance(value, dict):
            names += [(name, key, _code(number)) for key, number in value.items()]
            numbers += value.values()
        elif _is_number(value):
            names.append((name, None, _code(value)))
            numbers.append(value)
        else:
            texts.append((name, value))
    described = [(name, dtype_name(array), array.shape[0]) for name, array in found.items()]
    arrays = [np.ascontiguousarray(found[name], _LITTLE[dtype]) for name, dtype, _ in described]
    header, codes = _header(message.kind, tuple(texts), tuple(names), tuple(described))
    return header, codes, numbers, arrays


def _code(number: float) -> str:
    return "d" if isinstance(number, float) else "q"


@lru_cache(maxsize=64)
def _header(
    kind: str,
    texts: tuple[tuple[str, Any], ...],
    numbers: tuple[tuple[str, str | None, str], ...],
    arrays: tuple[tuple[str, str, int], ...],
) -> tuple[bytes, str]:
    """A header's bytes and the numbers' codes: the same for all clients' replies of a run."""
    header = {"kind": kind, "texts": dict(texts), "numbers": numbers, "arrays": arrays}
    return _JSON.encode(header).encode(), "<" + "".join(code for *_, code in numbers)
