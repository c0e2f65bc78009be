"""a1a, the paper's data set, shipped with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.libsvm import load_libsvm


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
    with as_file(files("minmin.datasets") / "a1a.svm.xz") as path:
        return load_libsvm(path, n_features=119)
