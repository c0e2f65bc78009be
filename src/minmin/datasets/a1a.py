"""a1a, the paper's data set, shipped with the package."""

from __future__ import annotations

import lzma
from importlib.resources import files
from typing import Any

import numpy as np
import scipy.sparse

_COLUMNS = 119


def load_a1a() -> tuple[scipy.sparse.csr_array, np.ndarray[Any, Any]]:
    """The a1a data set: who of 1605 people earns more than 50,000 dollars a year.

    The data derive from the Adult data set of the UCI repository (Becker and Kohavi 1996, CC BY 4.0) in
    the binary encoding of the LIBSVM collection. The paper takes the first 100 columns as x, the last 19
    as y.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (1605, 119)
        0/1 features.
    labels : array of shape (1605,)
        -1 or 1; 395 are positive.
    """
    text = lzma.decompress(files("minmin.datasets").joinpath("a1a.svm.xz").read_bytes()).decode("ascii")
    labels: list[float] = []
    columns: list[int] = []
    row_ends = [0]
    for line in text.splitlines():
        label, *entries = line.split()
        labels.append(float(label))
        columns.extend(int(entry.partition(":")[0]) - 1 for entry in entries)
        row_ends.append(len(columns))
    X = scipy.sparse.csr_array((np.ones(len(columns)), columns, row_ends), shape=(len(labels), _COLUMNS))
    return X, np.array(labels)
