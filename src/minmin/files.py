"""Writes files completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

_DRAFT = ".tmp"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file's content: write a temporary file next to it, fsync, rename.

    A link is followed. A device or a pipe cannot be replaced, so it is written directly.
    """
    with _naming(path):
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_DRAFT}")
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, draft)
            os.replace(draft, path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def is_draft(path: Path) -> bool:
    """Whether this is a temporary file that a killed process left behind."""
    return path.name.startswith(".") and path.name.endswith(_DRAFT)


def append(path: Path, data: bytes) -> None:
    """Append to a file."""
    with _naming(path), path.open("ab") as file:
        file.write(data)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Make errors name the file that the caller gave, not the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
