"""What distinguishes one object from another, for checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def identify(value: Any) -> Iterator[Any]:
    """The arrays, numbers and strings inside a value, always in the same order."""
    if isinstance(value, dict):
        value = [part for name in sorted(value, key=str) for part in (str(name), value[name])]
    if isinstance(value, list | tuple):
        for part in value:
            yield from identify(part)
    elif hasattr(value, "tocsr"):
        csr = value.tocsr()
        yield from (csr.data, csr.indices, csr.indptr)
    elif isinstance(value, str | int | float | None) or hasattr(value, "shape"):
        yield value
