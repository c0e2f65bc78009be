"""a1a, the data set of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439; it comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np
import scipy.sparse

from minmin.datasets.libsvm import load_libsvm


def load_a1a() -> tuple[scipy.sparse.csr_array, np.ndarray[Any, Any]]:
    """Load the a1a data set: which of 1605 people earn more than 50,000 dollars a year.

    The data are a part of the Adult data set of the UCI repository (Becker and Kohavi 1996, CC BY 4.0), in
    the binary encoding of the LIBSVM collection. The paper (arXiv:2212.14439) puts the first 100 columns
    into x and the last 19 into y.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (1605, 119)
        0/1 features.
    labels : array of shape (1605,)
        -1 or 1; 395 are positive.
    """
    with as_file(files("minmin.datasets") / "a1a.svm.xz") as path:
        return load_libsvm(path, n_features=119)
