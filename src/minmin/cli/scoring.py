"""Scores of a model on rows that it was not fitted to, held out or in folds; and penalties chosen by such scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minmin.cli.cells import Vector
from minmin.cli.data import LOGISTIC, Data
from minmin.cli.estimator import fit_estimator, make_estimator
from minmin.cli.table import Table
from minmin.errors import InputError, show

Scores = dict[str, float]
Grid = Mapping[Hashable, Sequence[float]]
"""The penalties to try, by the name of the block."""


def score(model: Any, data: Data, loss: str) -> Scores:
    """The scores of a fitted model on some rows, weighted as in the fit."""
    weights = np.ones(data.rows) if data.weights is None else data.weights
    if not weights.any():
        raise InputError("every held-out row has the weight 0; hold out more rows, or use fewer folds")
    if loss == LOGISTIC:
        return _score_classes(model, data, weights)
    offset = np.zeros(data.rows) if data.offset is None else data.offset
    predicted = model.predict(data.X, offset=data.offset)
    if loss in ("squared", "huber"):
        return _score_numbers(data.target, predicted, weights, offset, loss)
    return _score_deviance(data.target, predicted, weights, offset, model._variance_power)


def _score_classes(model: Any, data: Data, weights: Vector) -> Scores:
    logarithms = model.predict_log_proba(data.X, offset=data.offset)
    codes = np.searchsorted(model.classes_, data.target)
    right = model.classes_[logarithms.argmax(axis=1)] == data.target
    of_class = logarithms[np.arange(data.rows), codes]
    return {"log_loss": -float(np.average(of_class, weights=weights)), "accuracy": _mean(right, weights)}


def _score_numbers(target: Vector, predicted: Vector, weights: Vector, offset: Vector, loss: str) -> Scores:
    """R² against the mean plus offset, and the size of an error in the units of the target."""
    rest = target - offset
    spread = _mean((rest - np.average(rest, weights=weights)) ** 2, weights)
    errors = target - predicted
    explained = {"r2": 1.0 - _mean(errors**2, weights) / spread if spread > 0.0 else np.nan}
    if loss == "huber":
        return {**explained, "mean_absolute_error": _mean(np.abs(errors), weights)}
    return {**explained, "root_mean_square_error": float(np.sqrt(_mean(errors**2, weights)))}


def _score_deviance(target: Vector, predicted: Vector, weights: Vector, offset: Vector, power: float) -> Scores:
    """The mean deviance, and D² against the best constant times the exposure: the share that the model explains.

    The mean c·e with the lowest deviance, for exposures e, has c = Σ w y e^(1-p) / Σ w e^(2-p).
    """
    from sklearn.metrics import mean_tweedie_deviance

    constant = weights @ (target * np.exp((1.0 - power) * offset)) / (weights @ np.exp((2.0 - power) * offset))
    if constant == 0.0:
        raise InputError("every target of the held-out rows is 0; hold out more rows, or use fewer folds")
    deviance, null = (
        float(mean_tweedie_deviance(target, mean, sample_weight=weights, power=power))
        for mean in (predicted, constant * np.exp(offset))
    )
    return {"d2": 1.0 - deviance / null if null > 0.0 else np.nan, "mean_deviance": deviance}


def _mean(values: Vector, weights: Vector) -> float:
    return float(np.average(values, weights=weights))


def hold_out(data: Data, share: float, loss: str, seed: int) -> tuple[Data, Data]:
    """Split the rows into those to fit and those to hold out; of each class the same share is held out."""
    rng = np.random.default_rng(seed)
    # at least one row of a class, or of all, is left to fit
    chosen = [rows[: min(round(share * len(rows)), len(rows) - 1)] for rows in _shuffle_groups(data, loss, rng)]
    test = np.sort(np.concatenate(chosen))
    train = np.setdiff1d(np.arange(data.rows), test)
    if not len(test):
        raise InputError(
            f"--held-out {share:g}: {len(test)} of the {data.rows} rows would be held out; give a larger share"
        )
    return data.select(train), data.select(test)


def split_folds(data: Data, folds: int, loss: str, seed: int) -> list[tuple[Vector, Vector]]:
    """For each fold, the numbers of the rows to fit and of those to hold out; every class is in every part."""
    groups = _shuffle_groups(data, loss, np.random.default_rng(seed))
    smallest = min(groups, key=len)
    if len(smallest) < folds:
        which = f"class {show(data.target[smallest[0]])}" if loss == LOGISTIC else "the file"
        raise InputError(
            f"--cv {folds}: {which} has only {len(smallest)} rows, and every fold needs one; give fewer folds"
        )
    number = np.empty(data.rows, dtype=np.intp)
    number[np.concatenate(groups)] = np.arange(data.rows) % folds
    return [(np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(folds)]


def cross_validate(
    fit: Callable[[Data], Any], data: Data, folds: int, loss: str, seed: int
) -> Iterator[tuple[Scores, bool]]:
    """For each fold, the scores of a model of the other rows, and whether its fit reached the tolerance."""
    for train, test in split_folds(data, folds, loss, seed):
        model = fit(data.select(train))
        yield score(model, data.select(test), loss), model.result_.success


def count_combinations(grid: Grid) -> int:
    return math.prod(map(len, grid.values()))


def choose_alphas(
    data: Data, table: Table, grid: Grid, loss: str, folds: int | None, seed: int, **parameters: Any
) -> dict[Any, float]:
    """The penalty of each block; of several, those with the lowest mean loss of the held-out rows."""
    if count_combinations(grid) == 1:
        return {name: alphas[0] for name, alphas in grid.items()}
    if folds is None:
        raise InputError("several penalties are given; to choose among them, give --cv FOLDS, as in --cv 5")
    splits = split_folds(data, folds, loss, seed)
    untrained = make_estimator(loss, data.blocks, version="CV", alphas=grid, cv=splits, **parameters)
    return dict(fit_estimator(untrained, data, table).alpha_)


def _shuffle_groups(data: Data, loss: str, rng: np.random.Generator) -> list[Vector]:
    """The numbers of the rows in random order: one group per class, or one in all for a regression."""
    order = rng.permutation(data.rows)
    if loss != LOGISTIC:
        return [order]
    classes, codes = np.unique(data.target[order], return_inverse=True)
    return [order[codes == number] for number in range(len(classes))]
