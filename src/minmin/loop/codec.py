"""Encodes trees of NamedTuples, arrays, numbers, strings and bytes, and seals files. Reading runs no code."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minmin.core.arrays import Array, to_like, to_numpy
from minmin.core.vectors import Parts
from minmin.errors import CheckpointError, name_type


def encode(tree: Any, notes: Mapping[str, Any], types: Iterable[type] | None = None) -> bytes:
    """A tree and some JSON notes as one .npz archive: each array once, and JSON for everything else.

    If ``types`` are given, a NamedTuple of another type is a TypeError, since it could not be read back.
    """
    if types is not None:
        _require_types(tree, set(types))
    arrays: dict[int, tuple[str, Array]] = {}
    structure = _describe(tree, arrays)
    manifest = json.dumps({"notes": dict(notes), "tree": structure}).encode()
    buffer = io.BytesIO()
    stored = {name: to_numpy(array) for name, array in arrays.values()}
    np.savez(buffer, allow_pickle=False, manifest=np.frombuffer(manifest, dtype=np.uint8), **stored)
    return buffer.getvalue()


def decode_notes(data: bytes) -> dict[str, Any]:
    """The notes alone; reading them needs no types."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        notes: dict[str, Any] = json.loads(archive["manifest"].tobytes())["notes"]
    return notes


def decode(data: bytes, types: Iterable[type], prototype: Array | None) -> Any:
    """The tree. Arrays get the library, dtype and device of ``prototype``; without one they are NumPy's, as stored."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        tree = json.loads(archive["manifest"].tobytes())["tree"]
        stored = {name: archive[name] for name in archive.files if name != "manifest"}
    if prototype is not None:
        stored = {name: a if a.dtype == np.uint8 else to_like(a, prototype) for name, a in stored.items()}
    types_by_name = {kind.__name__: kind for kind in types}
    return _rebuild(tree, stored, types_by_name)


def _require_types(tree: Any, allowed: set[type]) -> None:
    if isinstance(tree, tuple):
        if hasattr(tree, "_fields") and type(tree) not in allowed:
            raise TypeError(
                f"a state holds {name_type(tree)}, which the method's state_types do not name; add it there"
            )
        for item in tree:
            _require_types(item, allowed)


def _describe(tree: Any, arrays: dict[int, tuple[str, Array]]) -> Any:
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, Parts):
        return {"blocks": [_describe(part, arrays) for part in tree], "weights": list(tree.weights)}
    if isinstance(tree, tuple):
        items = [_describe(item, arrays) for item in tree]
        return {"type": type(tree).__name__, "items": items} if hasattr(tree, "_fields") else items
    if isinstance(tree, bytes):
        name, _ = arrays.setdefault(id(tree), (f"a{len(arrays)}", np.frombuffer(tree, dtype=np.uint8)))
        return {"bytes": name}
    name, _ = arrays.setdefault(id(tree), (f"a{len(arrays)}", tree))
    return {"array": name}


def _rebuild(tree: Any, arrays: dict[str, Array], types: Mapping[str, Any]) -> Any:
    if isinstance(tree, list):
        return tuple(_rebuild(item, arrays, types) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "bytes" in tree:
        return arrays[tree["bytes"]].tobytes()
    if "array" in tree:
        return arrays[tree["array"]]
    if "blocks" in tree:
        return Parts([_rebuild(part, arrays, types) for part in tree["blocks"]], tree["weights"])
    return types[tree["type"]](*(_rebuild(item, arrays, types) for item in tree["items"]))


def seal(magic: str, version: int, payload: bytes) -> bytes:
    """The content of a file: a line with its kind and format, a SHA-256 digest, and the payload."""
    line = f"{magic} {version}\n".encode()
    return line + hashlib.sha256(line + payload).digest() + payload


def unseal(magic: str, version: int, data: bytes, path: Any) -> bytes:
    """The payload of a sealed file; a :class:`CheckpointError` says why a file cannot be read.

    Format 1 was not sealed, so it is recognised by its first line alone.
    """
    head, newline, rest = data.partition(b"\n")
    line, size = head + newline, hashlib.sha256().digest_size
    digest, payload = rest[:size], rest[size:]
    what = f"the {magic.removeprefix('minmin ')} {path}"
    older = f"{what} has an older format, from an earlier minmin, and cannot be resumed; it was left as it is"
    if line in (f"{magic}\n".encode(), f"{magic} 1\n".encode()):
        raise CheckpointError(older)
    if not data.startswith(f"{magic} ".encode()):
        raise CheckpointError(f"{path} is not a {magic}; it was left as it is")
    if hashlib.sha256(line + payload).digest() != digest:
        raise CheckpointError(f"{what} is truncated or damaged; it was left as it is")
    stored = int(head.removeprefix(magic.encode()))
    if stored > version:
        raise CheckpointError(f"{what} has format {stored}, from a newer minmin; this one reads {version}")
    if stored < version:
        raise CheckpointError(older)
    return payload
