"""Opens files for pyarrow, whatever their names, and keeps what a pipe brings."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COMPRESSED = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<bz2>BZh[1-9]1AY&SY)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<lz4>\x04\x22M\x18)"
)
"""How compressed files begin."""


def is_pipe(file: Path) -> bool:
    """Whether a file can be read only once, from its beginning."""
    return file.exists() and not file.is_file() and not file.is_dir()


def open_file(file: Path) -> Any:
    """A file for pyarrow, which takes names that are not UTF-8 only as bytes."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(file))


def explain_unreadable(error: Exception) -> str:
    """Why a file cannot be read."""
    if not isinstance(error, OSError):
        return str(error).splitlines()[0]
    if error.errno:
        return os.strerror(error.errno)
    return "its compressed data are cut off or damaged, or other bytes follow them; compress it anew"


class Text:
    """A text file, compressed or not; a pipe is read into memory as a whole."""

    def __init__(self, file: Path):
        self._file, self._content = file, file.read_bytes() if is_pipe(file) else None

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        import pyarrow as pa

        with open_file(self._file) if self._content is None else pa.BufferReader(self._content) as raw:
            compressed = _COMPRESSED.match(raw.read(10))
            raw.seek(0)
            with pa.input_stream(raw, compression=compressed and compressed.lastgroup) as stream:
                yield stream
