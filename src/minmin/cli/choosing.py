"""Chooses the penalties of ``minmin fit`` by cross-validation, where the user gives several."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from minmin.cli.data import Data
from minmin.cli.estimator import ESTIMATORS
from minmin.cli.scoring import split_folds
from minmin.errors import InputError

Grid = Mapping[Hashable, Sequence[float]]
"""The penalties to try, by the name of the block."""

_LOSSES = ("logistic", "poisson", "squared")
"""The losses whose estimators have a version that chooses penalties."""


def count_combinations(grid: Grid) -> int:
    return math.prod(map(len, grid.values()))


def choose_alphas(
    data: Data, grid: Grid, loss: str, folds: int | None, seed: int, **parameters: Any
) -> dict[Any, float]:
    """The penalty of each block; of several, those with the lowest mean loss of the held-out rows."""
    if count_combinations(grid) == 1:
        return {name: alphas[0] for name, alphas in grid.items()}
    if folds is None:
        raise InputError("several penalties are given; to choose among them, give --cv FOLDS, as in --cv 5")
    if loss not in _LOSSES:
        raise InputError(f"--loss {loss} takes one penalty per block; several are for --loss {', '.join(_LOSSES)}")
    from sklearn.exceptions import ConvergenceWarning

    from minmin import estimators

    splits = split_folds(data, folds, loss, seed)
    model = getattr(estimators, f"{ESTIMATORS[loss]}CV")(data.blocks, alphas=grid, cv=splits, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit with the chosen penalties says it
        warnings.filterwarnings("ignore", "column .* has text that looks like numbers")  # --text has said so
        model.fit(data.X, data.target, sample_weight=data.weights, offset=data.offset)
    return dict(model.alpha_)
