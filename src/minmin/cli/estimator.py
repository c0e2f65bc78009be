"""The estimator of ``minmin fit``: one per loss, fitted to the rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.errors import InputError, MinMinError

if TYPE_CHECKING:
    from minmin.cli.cells import Vector
    from minmin.cli.data import Data
    from minmin.cli.table import Table

ESTIMATORS = {
    "logistic": "BlockLogisticRegression",
    "squared": "BlockRidge",
    "poisson": "BlockPoissonRegressor",
    "gamma": "BlockGammaRegressor",
    "tweedie": "BlockTweedieRegressor",
    "huber": "BlockHuberRegressor",
}
"""The name of the estimator for each loss."""

_LOSS_OF_PARAMETER = {"power": "tweedie", "delta": "huber"}


def make_estimator(
    loss: str, blocks: Any, *, power: float | None, delta: float | None, version: str = "", **parameters: Any
) -> Any:
    """An estimator that is not fitted yet; the version "CV" is the one that chooses penalties."""
    from minmin import estimators  # scikit-learn takes a second to load

    for name, value in (("power", power), ("delta", delta)):
        if value is None:
            continue
        if loss != _LOSS_OF_PARAMETER[name]:
            raise InputError(f"--{name} is for --loss {_LOSS_OF_PARAMETER[name]}; leave it out")
        parameters[name] = value
    if power is not None and not 1.0 < power < 2.0:
        raise InputError(f"--power {power:g} must be above 1 and below 2; --loss poisson is power 1, gamma is 2")
    return getattr(estimators, ESTIMATORS[loss] + version)(blocks, **parameters)


def fit_estimator(untrained: Any, data: Data, table: Table, verbose: bool = False) -> Any:
    """A fitted copy of an estimator."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    model = clone(untrained)
    model.verbose = verbose
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the printed result says it
            warnings.filterwarnings("ignore", "The number of unique classes")  # the command itself says it
            warnings.filterwarnings("ignore", "column .* has text that looks like numbers")  # --text has said so
            model.fit(data.X, data.target, sample_weight=data.weights, offset=data.offset)
    except MinMinError:
        raise
    except ValueError as error:
        raise InputError(f"{table.file}: {' '.join(str(error).split())}") from error
    return model


def remember_columns(model: Any, data: Data, table: Table, target: str | None, roles: Mapping[str, str]) -> None:
    """Store in a fitted model what 'minmin predict' must know about the columns of the file."""
    model.row_columns_ = {**({} if target is None else {"target": target}), **roles}
    if table.numbered:
        model.first_index_ = table.first_index
    else:
        model.feature_names_in_ = np.array(data.names, dtype=object)


def read_classes(model: Any) -> Vector:
    """The classes of a model; floats that are all whole numbers become integers, as they were in the file."""
    classes: Vector = model.classes_
    whole = classes.dtype.kind == "f" and (classes == np.trunc(classes)).all() and (np.abs(classes) < 2**53).all()
    return classes.astype(np.int64) if whole else classes
