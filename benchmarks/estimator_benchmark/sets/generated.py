"""Generated features: rows of text, and categories with many rare values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from estimator_benchmark.encode import encode_codes
from estimator_benchmark.losses import Vector

CATEGORY_SIZES = (3000, 300, 100, 30, 12, 7, 2)
"""The number of values of each category; the first three form the block x, the others y."""


class Categories(NamedTuple):
    matrix: scipy.sparse.csr_array
    one_hot: tuple[slice, ...]
    blocks: dict[str, slice]
    margins: Vector
    """From coefficients that are drawn, smaller ones for larger categories."""


def draw_zipf(rng: np.random.Generator, n: int, count: int, power: float = 1.0) -> Vector:
    """n numbers below count; the odds of j are proportional to (j + 1)^-power."""
    odds = np.arange(1, count + 1) ** -power
    return rng.choice(count, size=n, p=odds / odds.sum())


def draw_text(rng: np.random.Generator, n: int, words: int, shortest: int, longest: int) -> scipy.sparse.csr_array:
    """Rows of length 1 as of TF-IDF: frequent words have small weights; column 0 is the most frequent word."""
    lengths = rng.integers(shortest, longest, n)
    rows = np.repeat(np.arange(n), lengths)
    counts = scipy.sparse.csr_array((np.ones(len(rows)), (rows, draw_zipf(rng, len(rows), words))), shape=(n, words))
    counts.sum_duplicates()
    documents = np.bincount(counts.indices, minlength=words)
    counts.data *= np.log((1.0 + n) / (1.0 + documents))[counts.indices] + 1.0
    return normalise_rows(counts)


def normalise_rows(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    matrix.data /= np.repeat(np.sqrt(matrix.multiply(matrix).sum(axis=1)), np.diff(matrix.indptr))
    return matrix


def draw_categories(rng: np.random.Generator, n: int) -> Categories:
    parts: list[Any] = [encode_codes(draw_zipf(rng, n, size), size) for size in CATEGORY_SIZES]
    ends = np.cumsum(CATEGORY_SIZES).tolist()
    starts = [0, *ends[:-1]]
    coef = np.concatenate([rng.standard_normal(size) / (1.0 + np.log10(size)) for size in CATEGORY_SIZES])
    matrix = scipy.sparse.csr_array(scipy.sparse.hstack(parts, format="csr"))
    one_hot = tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))
    return Categories(matrix, one_hot, {"x": slice(0, starts[3]), "y": slice(starts[3], ends[-1])}, matrix @ coef)
