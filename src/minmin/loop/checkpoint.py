"""The checkpoint of a run: one file of arrays and JSON, written atomically, refused if damaged or of another run."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
import zipfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minmin.core.arrays import Array, dtype_name, to_numpy
from minmin.core.problem import Problem
from minmin.core.vectors import parts_of
from minmin.errors import CheckpointError, show
from minmin.files import write_atomically
from minmin.loop.codec import decode, decode_notes, encode, seal, unseal
from minmin.methods import Method

_MAGIC = "minmin checkpoint"
_FORMAT = 8
_TIME_FRACTION = 0.02
"""Checkpoints may take this fraction of a run's time. A choice: 2 % is hardly noticed."""
_EXPECTED_SECONDS, _EXPECTED_BYTES_PER_SECOND = 0.02, 1e8
"""The expected cost of the first write: a fixed time, and a speed as on a slow disk.
Measured: docs/benchmarks/tuning.md."""


def fingerprint(problem: Problem, method: Method, x: Any, y: Any) -> dict[str, str]:
    """What must agree between the run that wrote a checkpoint and the one that resumes from it."""
    return {
        "problem": _digest([type(problem).__name__, *problem.identity()]),
        "method": f"{method.name} {sorted(asdict(method).items())}",  # type: ignore[call-overload]
        "start": _digest([*parts_of(x), *parts_of(y)]),
    }


def _digest(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str | int | float | None):
            digest.update(repr(part).encode())
        else:
            array = to_numpy(part)
            digest.update(f"{dtype_name(array)}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The file of one run.

    Parameters
    ----------
    path : str or path
        The file itself, not a folder.
    marks : dict
        The run's :func:`fingerprint`.
    """

    def __init__(self, path: Any, marks: dict[str, str]):
        try:
            self.path = Path(path).resolve()  # a link is followed, so that its target is replaced
        except (TypeError, ValueError):
            raise CheckpointError(f"checkpoint must be a path, got {show(path)}") from None
        self._marks = marks
        self._types: tuple[type, ...] = ()
        self._last = time.perf_counter()
        self._interval: float | None = None
        self._require_writable()

    def _require_writable(self) -> None:
        if self.path.is_dir():
            raise CheckpointError(f"the checkpoint {self.path} is a folder; give the path of a file")
        try:
            if self.path.exists():
                self.path.open("r+b").close()
            with tempfile.TemporaryFile(dir=self.path.parent):
                pass
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self.path} cannot be written: {error.strerror}") from error

    def read(self, types: Iterable[type], prototype: Array) -> Any:
        """The tree in the file, or None if there is no file; ``types`` are the NamedTuples that it may hold."""
        self._types = tuple(types)
        if not self.path.exists():
            return None
        archive = unseal(_MAGIC, _FORMAT, self.path.read_bytes(), self.path)
        try:
            self._require_same_run(decode_notes(archive).get("marks", {}))
            return decode(archive, self._types, prototype)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(
                f"the checkpoint {self.path} cannot be read; it was left as it is: give another path, or remove it"
            ) from error

    def _require_same_run(self, marks: dict[str, str]) -> None:
        for what, mark in self._marks.items():
            if marks.get(what) != mark:
                raise CheckpointError(
                    f"the checkpoint {self.path} belongs to another {what}; "
                    "give another path, or remove the file to start again"
                )

    def write_when_due(self, tree: Any) -> None:
        """Write if enough time has passed since the last write."""
        now = time.perf_counter()
        if self._interval is None:
            size = sum(8 * math.prod(array.shape) for array in _find_arrays(tree))
            self._interval = (_EXPECTED_SECONDS + size / _EXPECTED_BYTES_PER_SECOND) / _TIME_FRACTION
        if now - self._last >= self._interval:
            self.write(tree)

    def write(self, tree: Any) -> None:
        """Write now, completely or not at all."""
        start = time.perf_counter()
        try:
            data = seal(_MAGIC, _FORMAT, encode(tree, {"marks": self._marks}, self._types))
            write_atomically(self.path, data)
        except (TypeError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CheckpointError(f"the checkpoint {self.path} cannot be written: {reason}") from error
        self._last = time.perf_counter()
        self._interval = (self._last - start) / _TIME_FRACTION


def _find_arrays(tree: Any) -> list[Array]:
    if isinstance(tree, tuple):
        return [array for item in tree for array in _find_arrays(item)]
    return [part for part in parts_of(tree) if hasattr(part, "shape")]
