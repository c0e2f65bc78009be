"""Writes files completely or not at all, and locks files between processes."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import sys
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
        _sync_folder(path.parent)


def is_draft(path: Path) -> bool:
    """Whether this is a temporary file that a killed process left behind."""
    return path.name.startswith(".") and path.name.endswith(_DRAFT)


def append(path: Path, data: bytes) -> None:
    """Append to a file."""
    with _naming(path), path.open("ab") as file:
        file.write(data)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Wait until no other process has locked this file, then lock it. The file is created if it is missing."""
    with path.open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError as error:
                    if error.errno != errno.EDEADLOCK:  # EDEADLOCK: no success within ten seconds
                        raise
            try:
                yield
            finally:
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file unlocks it
            yield


def _sync_folder(folder: Path) -> None:
    """Make a renamed file survive a power failure, if the system can.

    Windows cannot open a folder, and Linux needs permission to read it. Some file systems sync files only.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Make errors name the file that the caller gave, not the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
