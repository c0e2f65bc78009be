"""Counts: insurance claims per year of exposure, and generated counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.preprocessing import SplineTransformer

from benchmark_utils.real import SHARED
from estimator_benchmark.encode import choose_form, encode
from estimator_benchmark.objective import Data
from estimator_benchmark.sets import DataSet, pairs
from estimator_benchmark.sets.generated import draw_categories

_CLAIMS = "tables/ausprivauto0405.csv.gz"
_TEXT = ["VehAge", "VehBody", "Gender", "DrivAge"]


def _read_claims() -> Any:
    import pandas

    return pandas.read_csv(SHARED / _CLAIMS)


def _claims() -> Data:
    """The categories are x; the value of the vehicle and a constant are y."""
    frame = _read_claims()
    exposure = frame["Exposure"].to_numpy()
    blocks = {"x": _TEXT, "y": ["VehValue"]}
    return encode(frame, blocks, frame["ClaimNb"].to_numpy() / exposure, exposure, ones="y")


def _claims_splines() -> Data:
    """Like the claims, but with 22 splines of the value of the vehicle."""
    frame = _read_claims()
    linear = _claims()
    splines = SplineTransformer(n_knots=20, knots="quantile", sparse_output=True)
    bent = splines.fit_transform(frame[["VehValue"]])
    categories = linear.blocks["x"]
    matrix = scipy.sparse.hstack([scipy.sparse.csr_array(linear.matrix)[:, categories], bent], format="csr")
    blocks = {"x": categories, "y": slice(categories.stop, matrix.shape[1])}
    return Data(choose_form(matrix), linear.target, blocks, linear.weights, linear.one_hot)


def _categories() -> Data:
    rng = np.random.default_rng(2)
    drawn = draw_categories(rng, 50_000)
    counts = rng.poisson(np.exp(drawn.margins - 2.0)).astype(np.float64)
    return Data(drawn.matrix, counts, drawn.blocks, one_hot=drawn.one_hot)


SETS = [
    DataSet("claims", "poisson", _claims, pairs((1e-3, 1e-6), (1e-5, 1e-8)), _CLAIMS),
    DataSet("claims-splines", "poisson", _claims_splines, pairs((1e-3, 1e-4), (1e-5, 1e-6)), _CLAIMS),
    DataSet("categories-counts", "poisson", _categories, pairs((1e-4, 1e-6))),
]
