"""Real data, split into two blocks: a1a comes with minmin, the others are read from ../shared/data."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import minmin
from benchmark_utils.clicks import Data

SHARED = Path(__file__).parents[4] / "shared" / "data"
FILES = {"a9a": "libsvm/a9a.gz", "w8a": "libsvm/w8a.gz", "criteo": "clicks/criteo_7200.tsv.gz"}
HASHED = 2**15


def missing(name: str) -> str | None:
    """Why a data set cannot be loaded; None if it can."""
    if name in FILES and not (SHARED / FILES[name]).exists():
        return f"{FILES[name]} is not in ../shared/data"
    return None


def load(name: str) -> Data:
    """X, Y and labels. Y has the last 19 columns of a1a, 23 of a9a, 50 of w8a, and the 13 numeric columns of criteo."""
    if name == "a1a":
        A, labels = minmin.datasets.load_a1a()
        return _split(A, labels, in_y=19)
    path = SHARED / FILES[name]
    if name == "criteo":
        return _criteo(path)
    columns, in_y = {"a9a": (123, 23), "w8a": (300, 50)}[name]
    A, labels = minmin.datasets.load_libsvm(path, n_features=columns)
    return _split(A, labels, in_y)


def _split(A: Any, labels: Any, in_y: int) -> Data:
    A = scipy.sparse.csr_array(A)
    return A[:, :-in_y], A[:, -in_y:].toarray(), labels


def _criteo(path: Path) -> Data:
    labels, numeric, hashed = [], [], []
    with gzip.open(path, "rt") as file:
        for line in file:
            label, *fields = line.rstrip("\n").split("\t")
            labels.append(2.0 * float(label) - 1.0)
            numeric.append([np.log1p(max(float(text or 0.0), 0.0)) for text in fields[:13]])
            hashed.append([zlib.crc32(f"{i}={text}".encode()) % HASHED for i, text in enumerate(fields[13:])])
    indices = np.array(hashed, dtype=np.int32)
    n, draws = indices.shape
    pointers = np.arange(0, n * draws + 1, draws, dtype=np.int32)
    X = scipy.sparse.csr_array((np.full(n * draws, draws**-0.5), indices.ravel(), pointers), shape=(n, HASHED))
    X.sum_duplicates()
    return X, np.array(numeric), np.array(labels)
