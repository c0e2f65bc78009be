"""Nested NamedTuples of arrays, numbers and strings as bytes, and back; reading runs no code."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minmin.core.arrays import Array, to_like, to_numpy
from minmin.core.vectors import Blocks


def encode(tree: Any, notes: Mapping[str, Any]) -> bytes:
    """A tree and some plain notes as one .npz archive: the arrays, each once, and JSON for all the rest."""
    arrays: dict[int, tuple[str, Array]] = {}
    structure = _describe(tree, arrays)
    manifest = json.dumps({"notes": dict(notes), "tree": structure}).encode()
    buffer = io.BytesIO()
    stored = {name: to_numpy(array) for name, array in arrays.values()}
    np.savez(buffer, allow_pickle=False, manifest=np.frombuffer(manifest, dtype=np.uint8), **stored)
    return buffer.getvalue()


def decode(data: bytes, types: Iterable[type], prototype: Array | None) -> tuple[Any, dict[str, Any]]:
    """The tree and the notes; arrays in the library, dtype and device of ``prototype``, or as they were in NumPy."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        manifest = json.loads(archive["manifest"].tobytes())
        stored = {name: archive[name] for name in archive.files if name != "manifest"}
    arrays = stored if prototype is None else {name: to_like(array, prototype) for name, array in stored.items()}
    known = {kind.__name__: kind for kind in types}
    return _rebuild(manifest["tree"], arrays, known), manifest["notes"]


def _describe(tree: Any, arrays: dict[int, tuple[str, Array]]) -> Any:
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, Blocks):
        return {"blocks": [_describe(part, arrays) for part in tree], "weights": list(tree.weights)}
    if isinstance(tree, tuple):
        items = [_describe(item, arrays) for item in tree]
        return {"type": type(tree).__name__, "items": items} if hasattr(tree, "_fields") else items
    name, _ = arrays.setdefault(id(tree), (f"a{len(arrays)}", tree))
    return {"array": name}


def _rebuild(tree: Any, arrays: dict[str, Array], known: Mapping[str, Any]) -> Any:
    if isinstance(tree, list):
        return tuple(_rebuild(item, arrays, known) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "blocks" in tree:
        return Blocks([_rebuild(part, arrays, known) for part in tree["blocks"]], tree["weights"])
    return known[tree["type"]](*(_rebuild(item, arrays, known) for item in tree["items"]))
