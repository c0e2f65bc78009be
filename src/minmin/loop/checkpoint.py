"""A run's checkpoint: one file, arrays and JSON, written atomically and refused if it is not whole or not ours."""

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
_FORMAT = 2
_SHARE = 0.02
"""Checkpoints may take this share of a run's time: a choice, small enough not to be noticed."""
_GUESSED_SECONDS, _GUESSED_SPEED = 0.02, 1e8
"""What a write is taken to cost before there was one: this many seconds, and so many bytes a second, as on a slow disk.
On a fast one 1 kB took 0.6 ms and 10 MB 9 ms."""


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
        That very file.
    marks : dict
        The run's :func:`fingerprint`.
    """

    def __init__(self, path: Any, marks: dict[str, str]):
        try:
            self.path = Path(path).resolve()  # a link's target is the file
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
        """The tree in the file, or None where there is no file yet; ``types`` are those that it may hold."""
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
            raise CheckpointError(f"the checkpoint {self.path} cannot be understood; it was left as it is") from error

    def _require_same_run(self, marks: dict[str, str]) -> None:
        for what, mark in self._marks.items():
            if marks.get(what) != mark:
                raise CheckpointError(
                    f"the checkpoint {self.path} belongs to another {what}; "
                    "give another path, or remove the file to start again"
                )

    def write_when_due(self, tree: Any) -> None:
        """Write if that keeps within the share of time."""
        now = time.perf_counter()
        if self._interval is None:
            size = sum(8 * math.prod(array.shape) for array in _arrays(tree))
            self._interval = (_GUESSED_SECONDS + size / _GUESSED_SPEED) / _SHARE
        if now - self._last >= self._interval:
            self.write(tree)

    def write(self, tree: Any) -> None:
        """Write now, whole or not at all."""
        start = time.perf_counter()
        try:
            data = seal(_MAGIC, _FORMAT, encode(tree, {"marks": self._marks}, self._types))
            write_atomically(self.path, data)
        except TypeError as error:
            raise CheckpointError(f"the checkpoint {self.path} cannot be written: {error}") from error
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self.path} cannot be written: {error.strerror}") from error
        self._last = time.perf_counter()
        self._interval = (self._last - start) / _SHARE


def _arrays(tree: Any) -> list[Array]:
    if isinstance(tree, tuple):
        return [array for item in tree for array in _arrays(item)]
    return [part for part in parts_of(tree) if hasattr(part, "shape")]
