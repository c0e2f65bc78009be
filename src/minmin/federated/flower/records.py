"""Our messages as Flower's records: arrays as arrays, numbers as metrics, and the rest as configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from minmin.federated.messages import Message, MessageError, put_together, taken_apart

ARRAYS, NUMBERS, WORDS = "minmin.arrays", "minmin.numbers", "minmin.words"
_KIND = "kind"
_CLIENT = "client"
_NOTHING = "nothing"
_EMPTY = "empty"
_FIELD = "field."


def to_records(message: Message | None, client: str) -> RecordDict:
    """A message for or from a client; without a message, only who it is.

    Fields of fields have dotted names. Flower has no None and no empty mapping, so the names of those are listed.
    """
    content, arrays = ({}, {}) if message is None else taken_apart(message)
    numbers: dict[str, int | float] = {}
    words: dict[str, Any] = {_KIND: "" if message is None else message.kind, _CLIENT: client, _NOTHING: [], _EMPTY: []}
    for name, value in _leaves(content, ""):
        if value is None:
            words[_NOTHING].append(name)
        elif value == {}:
            words[_EMPTY].append(name)
        elif isinstance(value, bool | str):
            words[_FIELD + name] = value
        elif isinstance(value, list | tuple):
            words[_FIELD + name] = list(value)
        else:
            numbers[name] = value
    return RecordDict(
        {
            ARRAYS: ArrayRecord({name: Array(array) for name, array in arrays.items()}),
            NUMBERS: MetricRecord(numbers),  # type: ignore[arg-type]
            WORDS: ConfigRecord(words),
        }
    )


def from_records(records: RecordDict) -> tuple[Message | None, str]:
    """The message and the client; :class:`MessageError` where the records are not ours."""
    try:
        words: dict[str, Any] = dict(records.config_records[WORDS])
        kind, client = words[_KIND], words[_CLIENT]
        content: dict[str, Any] = {}
        named: dict[str, Any] = {
            **{name.removeprefix(_FIELD): value for name, value in words.items() if name.startswith(_FIELD)},
            **dict.fromkeys(words[_NOTHING]),
            **{name: {} for name in words[_EMPTY]},
            **records.metric_records[NUMBERS],
        }
        for name, value in named.items():
            _set(content, [part.replace("%2E", ".").replace("%25", "%") for part in name.split(".")], value)
        for name, array in records.array_records[ARRAYS].items():
            content[name] = array.numpy()
        if not isinstance(client, str) or any(a.ndim != 1 for a in content.values() if hasattr(a, "ndim")):
            raise MessageError("a record is of another shape than ours")
        return (put_together(kind, content) if kind else None), client
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MessageError(f"these are no records of minmin: {error}") from error


def _leaves(content: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        path = prefix + name.replace("%", "%25").replace(".", "%2E")
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _set(content: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        content = content.setdefault(name, {})
    content[path[-1]] = value
