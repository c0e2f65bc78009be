"""Numbers to predict: prices of diamonds, and a generated target."""

from __future__ import annotations

import numpy as np

from benchmark_utils.real import SHARED
from estimator_benchmark.encode import encode
from estimator_benchmark.objective import Data
from estimator_benchmark.sets import DataSet, pairs
from estimator_benchmark.sets.generated import draw_categories

_DIAMONDS = "tables/diamonds.csv.gz"


def _diamonds(log_price: bool) -> Data:
    """Categories are x; sizes in their own units and a constant are y."""
    import pandas

    frame = pandas.read_csv(SHARED / _DIAMONDS)
    price = frame["price"].to_numpy(dtype=np.float64)
    blocks = {"x": ["cut", "color", "clarity"], "y": ["carat", "depth", "table", "x", "y", "z"]}
    return encode(frame, blocks, np.log(price) if log_price else price, ones="y")


def _categories() -> Data:
    rng = np.random.default_rng(1)
    drawn = draw_categories(rng, 50_000)
    target = drawn.margins + rng.standard_normal(len(drawn.margins))
    return Data(drawn.matrix, target, drawn.blocks, one_hot=drawn.one_hot)


SETS = [
    DataSet("diamonds-price", "squared", lambda: _diamonds(False), pairs((1e-3, 1e-6)), _DIAMONDS),
    DataSet("diamonds-log-price", "squared", lambda: _diamonds(True), pairs((1e-3, 1e-6)), _DIAMONDS),
    DataSet("categories-numbers", "squared", _categories, pairs((1e-4, 1e-6), (1e-6, 1e-4))),
]
