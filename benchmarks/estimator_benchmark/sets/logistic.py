"""Two classes: real and generated data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.preprocessing import PolynomialFeatures

import minmin
from benchmark_utils import clicks, real
from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Data
from estimator_benchmark.sets import DataSet, pairs
from estimator_benchmark.sets.generated import draw_categories, draw_text

_IJCNN1 = "libsvm/ijcnn1.trn.bz2"


def _join(X: Any, Y: Any, labels: Vector) -> Data:
    """Both blocks in one CSR matrix."""
    matrix = scipy.sparse.csr_array(scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr"))
    return Data(matrix, labels, {"x": slice(0, X.shape[1]), "y": slice(X.shape[1], matrix.shape[1])})


def _draw_labels(rng: np.random.Generator, margins: Vector) -> Vector:
    return np.where(rng.random(len(margins)) < expit(margins), 1.0, -1.0)


def _ijcnn1() -> Data:
    matrix, labels = minmin.datasets.load_libsvm(real.SHARED / _IJCNN1, n_features=22)
    return Data(matrix, labels, {"x": slice(0, 12), "y": slice(12, 22)})


def _ijcnn1_products() -> Data:
    """All 253 products of two columns, and the columns themselves."""
    columns = _ijcnn1()
    both = scipy.sparse.csr_array(PolynomialFeatures(2, include_bias=False).fit_transform(columns.matrix))
    return _join(both[:, 22:], both[:, :22], columns.target)


def _text() -> Data:
    """8,000 texts of 20,000 words; the 50 most frequent words are the second block."""
    rng = np.random.default_rng(0)
    matrix = draw_text(rng, 8000, 20_000, 30, 120)
    labels = _draw_labels(rng, matrix @ (6.0 * rng.standard_normal(matrix.shape[1])))
    return Data(matrix, labels, {"x": slice(50, matrix.shape[1]), "y": slice(0, 50)})


def _categories() -> Data:
    rng = np.random.default_rng(0)
    drawn = draw_categories(rng, 50_000)
    return Data(drawn.matrix, _draw_labels(rng, drawn.margins), drawn.blocks, one_hot=drawn.one_hot)


def _tall() -> Data:
    """50,000 rows of 50 dense columns, ten of which are combinations of others."""
    matrix, classes = make_classification(
        50_000, 50, n_informative=20, n_redundant=10, shuffle=False, flip_y=0.05, random_state=0
    )
    return Data(np.ascontiguousarray(matrix), 2.0 * classes - 1.0, {"x": slice(0, 40), "y": slice(40, 50)})


def _real(name: str, *alphas: tuple[float, float]) -> DataSet:
    return DataSet(name, "logistic", lambda: _join(*real.load(name)), pairs(*alphas), real.FILES.get(name))


SETS = [
    _real("a9a", (1e-3, 1e-5), (1e-5, 1e-7)),
    _real("w8a", (1e-3, 1e-5), (1e-5, 1e-7)),
    _real("criteo", (1e-3, 1e-5), (1e-5, 1e-7)),
    _real("a1a", (1e-3, 1e-5), (1e-5, 1e-7)),
    DataSet("ijcnn1", "logistic", _ijcnn1, pairs((1e-4, 1e-4), (1e-6, 1e-6)), _IJCNN1),
    DataSet("ijcnn1-products", "logistic", _ijcnn1_products, pairs((1e-4, 1e-4), (1e-6, 1e-8)), _IJCNN1),
    DataSet("first-kind", "logistic", lambda: _join(*clicks.first_kind()), clicks.FIRST_KIND_PENALTIES),
    DataSet("second-kind", "logistic", lambda: _join(*clicks.second_kind()), pairs(clicks.SECOND_KIND_PENALTIES)),
    DataSet("text", "logistic", _text, pairs((1e-4, 1e-4), (1e-6, 1e-6))),
    DataSet("categories", "logistic", _categories, pairs((1e-6, 1e-4), (1e-8, 1e-6))),
    DataSet("tall", "logistic", _tall, pairs((1e-4, 1e-6))),
]
