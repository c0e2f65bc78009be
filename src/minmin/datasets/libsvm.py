"""Reads files in the LIBSVM format: each line has a label and index:value pairs."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse

from minmin.datasets.plain_numbers import parse_number
from minmin.errors import InputError, as_count

_Stream = BinaryIO | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile

_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
"""The functions that open compressed files, by the first bytes of the file."""

_CHUNK = 1 << 24
"""How many bytes are parsed at once."""
_NUMBERS_PER_CHUNK = 4_000_000
"""How many numbers are returned at once, or a few more: 50 MB."""

_PLAIN_ROWS = re.compile(rb"(?:[ \t]*+(?:[-+.\deE]++(?:[ \t]++\d{1,9}+:[-+.\deE]++)*+[ \t]*+)?\r?(?:\n|\Z))*+")
"""Text that can be parsed all at once: labels, indices and values only; no comments, no qid, no other words."""


class _Rows(NamedTuple):
    labels: np.ndarray[Any, Any]
    lengths: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]


def load_libsvm(path: Any, *, n_features: int | None = None) -> tuple[scipy.sparse.csr_array, np.ndarray[Any, Any]]:
    """Read a file of the LIBSVM (SVMlight) format, plain or compressed by gzip, bzip2 or xz.

    Parameters
    ----------
    path : str or path
        The compression is detected from the content of the file, not from its name.
    n_features : int, optional
        The number of columns of X, if the last ones may be missing in the file. By default, the largest index decides.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (rows, columns)
        Indices count from 1, as the format defines, unless the file has an index 0. ``qid`` and comments
        after # are ignored.
    labels : array of shape (rows,)
        The labels as they are in the file.

    Raises
    ------
    InputError
        If a line is malformed; the error names its number.
    """
    return read_libsvm(path, n_features=n_features)[:2]


def read_libsvm(
    path: Any, *, n_features: int | None = None, first_index: int | None = None
) -> tuple[scipy.sparse.csr_array, np.ndarray[Any, Any], int]:
    """Like :func:`load_libsvm`, and return the index of the first column too: 0 or 1, given or detected."""
    wanted = None if n_features is None else as_count(n_features, "n_features")
    file = Path(path)
    with _explain_unreadable(file), _open(file) as stream:
        chunks = [_parse(text, first_line, file) for first_line, text in _read_chunks(stream)]
    if not any(len(chunk.labels) for chunk in chunks):
        raise InputError(f"{file} has no rows")
    labels, lengths, indices, values = (np.concatenate(column) for column in zip(*chunks, strict=True))
    detected = 0 if indices.size and indices.min() == 0 else 1
    first = detected if first_index is None else first_index
    if detected < first:
        raise InputError(
            f"{file} has an index 0, but the model was fitted to columns that count from 1; add 1 to each index"
        )
    indices -= first
    columns = int(indices.max()) + 1 if indices.size else 0
    if wanted is not None and wanted < columns:
        raise InputError(f"{file} has {columns} columns, more than n_features = {wanted}")
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(labels), columns if wanted is None else wanted)
    return scipy.sparse.csr_array((values, indices, pointers), shape=shape), labels, first


def read_libsvm_chunks(path: Any) -> Iterator[tuple[scipy.sparse.csr_array, np.ndarray[Any, Any]]]:
    """The rows of a file, some megabytes at a time. Column numbers are those in the file: they may begin at 1."""
    file = Path(path)
    waiting: list[_Rows] = []
    with _explain_unreadable(file), _open(file) as stream:
        for first_line, text in _read_chunks(stream):
            waiting.append(_parse(text, first_line, file))
            if sum(len(rows.values) for rows in waiting) >= _NUMBERS_PER_CHUNK:
                yield _join(waiting)
                waiting = []
    if any(len(rows.labels) for rows in waiting):
        yield _join(waiting)


def _join(chunks: list[_Rows]) -> tuple[scipy.sparse.csr_array, np.ndarray[Any, Any]]:
    labels, lengths, indices, values = (np.concatenate(column) for column in zip(*chunks, strict=True))
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(labels), int(indices.max(initial=0)) + 1)
    indices, pointers = indices.astype(np.int32), pointers.astype(np.int32)
    return scipy.sparse.csr_array((values, indices, pointers), shape=shape), labels


@contextlib.contextmanager
def _explain_unreadable(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or (
            "it is truncated"
            if isinstance(error, EOFError)
            else "its compressed data are damaged, or other bytes follow them; compress it anew"
        )
        raise InputError(f"cannot read {file}: {reason}") from error


@contextlib.contextmanager
def _open(path: Path) -> Iterator[_Stream]:
    with path.open("rb") as raw:
        start = raw.peek(6)
        refuse_utf16(start, path)
        openers = (opener for magic, opener in _OPENERS.items() if start.startswith(magic))
        with next(openers, contextlib.nullcontext)(raw) as stream:
            yield stream


def refuse_utf16(start: bytes, file: Path) -> None:
    """Raise if this is the start of a text in UTF-16: it has a mark of the byte order, or every second byte is zero."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or 0 in start[:2]:
        raise InputError(
            f"cannot read {file}: its text is UTF-16, not UTF-8; save it as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or "
            "convert it with iconv -f utf-16 -t utf-8"
        )


def _read_chunks(stream: _Stream) -> Iterator[tuple[int, bytes]]:
    """Chunks of some megabytes that consist of complete lines, each with the number of its first line."""
    line, rest = 1, b""
    while block := stream.read(_CHUNK):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        yield line, whole + newline
        line += whole.count(b"\n") + len(newline)
    yield line, rest


def _parse(text: bytes, first_line: int, file: Path) -> _Rows:
    """Parse all rows at once if the text is simple and well formed; otherwise line by line, to report errors."""
    return _parse_at_once(text) or _parse_by_line(text, first_line, file)


def _parse_at_once(text: bytes) -> _Rows | None:
    if not _PLAIN_ROWS.fullmatch(text):
        return None
    lines = [line for line in text.split(b"\n") if line and not line.isspace()]
    lengths = np.array([line.count(b":") for line in lines], dtype=np.int64)
    try:
        numbers = np.array(text.replace(b":", b" ").split(), dtype=np.float64)
    except ValueError:
        return None
    starts = np.concatenate([[0], np.cumsum(2 * lengths + 1)])
    if len(numbers) != starts[-1] or not np.isfinite(numbers).all():
        return None
    is_label = np.zeros(len(numbers), dtype=bool)
    is_label[starts[:-1]] = True
    pairs = numbers[~is_label].reshape(-1, 2)
    indices = pairs[:, 0].astype(np.int64)
    row_starts = np.cumsum(lengths)[:-1]
    steps = np.diff(indices, prepend=-1)
    steps[row_starts[row_starts < len(indices)]] = 1
    if (steps < 1).any():
        return None
    return _Rows(numbers[is_label], lengths, indices, pairs[:, 1])


def _parse_by_line(text: bytes, first_line: int, file: Path) -> _Rows:
    labels: list[float] = []
    lengths: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    for number, line in enumerate(text.split(b"\n"), first_line):
        words = line.partition(b"#")[0].decode("utf-8", "replace").split()
        if not words:
            continue
        where = f"{file}, line {number}"
        labels.append(_parse_label(words[0], where))
        previous, length = -1, len(indices)
        for word in words[1:]:
            if word.startswith("qid:"):
                continue
            index, value = _parse_pair(word, where)
            if index <= previous:
                raise InputError(f"{where}: index {index} after {previous}; indices must increase along a line")
            indices.append(index)
            values.append(value)
            previous = index
        lengths.append(len(indices) - length)
    return _Rows(
        np.array(labels, dtype=np.float64),
        np.array(lengths, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _parse_label(word: str, where: str) -> float:
    number = parse_number(word)
    if number is None:
        raise InputError(
            f"{where}: the label {word[:40]!r} is not a finite number; a line must be 'label index:value ...'"
        )
    return number


def _parse_pair(word: str, where: str) -> tuple[int, float]:
    index, colon, value = word.partition(":")
    number = parse_number(value)
    if not colon or not (index.isascii() and index.isdigit()) or number is None:
        raise InputError(f"{where}: {word[:40]!r} is not 'index:value' with a whole index and a finite value")
    if len(index) > 10 or int(index) > np.iinfo(np.int32).max:
        raise InputError(f"{where}: index {index[:40]} is larger than any column number can be")
    return int(index), number
