"""More than two classes: digits, and generated sparse data with many classes."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import minmin
from benchmark_utils.real import SHARED
from estimator_benchmark.objective import Data
from estimator_benchmark.sets import DataSet, pairs
from estimator_benchmark.sets.generated import draw_text

_PENDIGITS = "libsvm/pendigits.gz"


def _digits() -> Data:
    matrix, classes = load_digits(return_X_y=True)
    return Data(matrix / 16.0, classes, {"all": slice(0, 64)})


def _pendigits() -> Data:
    matrix, labels = minmin.datasets.load_libsvm(SHARED / _PENDIGITS, n_features=16)
    return Data(matrix.toarray() / 100.0, labels.astype(np.intp), {"all": slice(0, 16)})


def _many_classes(n: int, columns: int, classes: int) -> Data:
    """Texts whose words depend on the class; the 20 most frequent words are the second block."""
    rng = np.random.default_rng(classes)
    matrix = draw_text(rng, n, columns, 20, 60)
    margins = matrix @ (8.0 * rng.standard_normal((columns, classes)))
    chosen = (margins + rng.gumbel(size=margins.shape)).argmax(axis=1)
    _, present = np.unique(chosen, return_inverse=True)  # of 105 classes, two have no sample
    return Data(matrix, present, {"x": slice(20, columns), "y": slice(0, 20)})


def _inverse(n: int, *values: float) -> dict[str, tuple[float, ...]]:
    """Penalties that are scikit-learn's C for n rows."""
    return {f"C={C:g}": (1.0 / (n * C),) for C in values}


SETS = [
    DataSet("digits", "softmax", _digits, _inverse(1797, 0.01, 1.0, 100.0)),
    DataSet("pendigits", "softmax", _pendigits, _inverse(7494, 1.0, 100.0), _PENDIGITS),
    DataSet("26-classes", "softmax", lambda: _many_classes(6000, 1000, 26), pairs((1e-4, 1e-5))),
    DataSet("105-classes", "softmax", lambda: _many_classes(4000, 500, 105), pairs((1e-4, 1e-5))),
]
