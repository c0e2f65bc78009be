"""Rows on disk as the data of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError
from minmin.estimators.features import MatrixFeatures
from minmin.estimators.frames import wrap_frame
from minmin.estimators.targets import read_given
from minmin.problems.linear.partitioned import PartitionedDesign

_Vector = np.ndarray[Any, Any]


def check_partitions(estimator: Any, X: PartitionedMatrix, y: Any, reset: bool, options: dict[str, Any]) -> Any:
    """Check what :func:`minmin.estimators.text.check_data` checks, without a copy of X."""
    known = getattr(estimator, "feature_names_in_", None)
    if not reset:
        if getattr(estimator, "categories_", {}):
            raise InputError("the model was fitted to a frame with text columns; give a frame, not partitions")
        if known is not None and X.names is not None and list(known) != X.names:
            raise InputError(
                f"the columns of the partitions are not those of the fit: {_first_difference(list(known), X.names)}"
            )
        _count_features(estimator, X, reset=False)
        return PartitionedDesign(X)
    column = np.zeros((X.shape[0], 1))  # stands for X, to check y
    _, y = validate_data(estimator, column, y, **options)
    _count_features(estimator, X, reset=True)
    estimator.categories_ = {}
    if X.names is not None:
        estimator.feature_names_in_ = np.array(X.names, dtype=object)
    elif known is not None:
        del estimator.feature_names_in_
    return MatrixFeatures(PartitionedDesign(X)), y


def check_columns(estimator: Any, X: Any) -> None:
    """Raise if the columns of X are not those of the fit; its numbers are not looked at."""
    if isinstance(X, PartitionedMatrix):
        check_partitions(estimator, X, None, reset=False, options={})
    else:
        wrap_frame(X := read_given(X, "X"))
        validate_data(estimator, X, reset=False, skip_check_array=True)


def _count_features(estimator: Any, X: PartitionedMatrix, reset: bool) -> None:
    if not reset and X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    estimator.n_features_in_ = X.shape[1]


def _first_difference(known: list[str], names: list[str]) -> str:
    for number, (here, there) in enumerate(zip(names, known, strict=False)):
        if here != there:
            return f"column {number} is called {here!r}, and was {there!r} in fit"
    return f"there are {len(names)}, and there were {len(known)} in fit"


def refuse_partitions(X: Any, what: str) -> None:
    if isinstance(X, PartitionedMatrix):
        raise InputError(f"{what} needs all rows in memory, not partitions; use a part of the rows")
