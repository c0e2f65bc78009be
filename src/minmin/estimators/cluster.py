"""Dask collections as the data of an estimator: they are fitted where they are, and predictions stay lazy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minmin.core.rows import RowVector
from minmin.errors import InputError
from minmin.estimators.categories import Category, Known, find_categories, warn_of_numbers
from minmin.estimators.features import Features, MatrixFeatures
from minmin.estimators.frames import wrap_frame
from minmin.estimators.table import Table, open_row_table
from minmin.estimators.text import check_text_options, name_columns, read_known, read_text, require_known_types
from minmin.problems.linear.checked_designs import as_design
from minmin.problems.linear.rows.dask_data import as_column, cut_blocks, find_client, is_dask, list_sizes, load_rows
from minmin.problems.linear.rows.parts import RowDesign

_Vector = np.ndarray[Any, Any]
Measure = Callable[[_Vector, _Vector, _Vector, float], tuple[float, float]]
"""From y, predictions, weights and the mean of y: a sum that is 0 if all are right, and one to compare it with."""


def load_collections(
    estimator: Any, X: Any, y: Any, sample_weight: Any, offset: Any
) -> tuple[Features, RowVector, RowVector | None, RowVector | None]:
    """X, y, weights and offset, checked where they are."""
    if y is None:
        raise InputError("y is None; give the target of every row")
    check_text_options(estimator)
    columns = {"y": y, "weight": sample_weight, "offset": offset}
    sample = wrap_frame(make_example(X))
    names = None if sample is None else name_columns(sample)
    types = {} if names is None else dict(zip(names, X.dtypes, strict=True))
    texts = [name for name, dtype in types.items() if not _is_number(dtype)]
    features: Features
    if texts:
        known = _find_categories(X, texts)
        for name in texts:
            if str(types[name]) != "category":
                warn_of_numbers(known[name], name)
        session = load_rows({"X": X}, columns, partial(_read_text, known=known, missing=estimator.missing))
        features = open_row_table(session.load("X", None))
    else:
        known, session = {}, load_rows({"X": X}, columns)
        design = RowDesign(session.apply(as_design, session.load("X", None), example=object()))
        features = MatrixFeatures(design)
    estimator.n_features_in_ = features.shape[1] if names is None else len(names)
    estimator.categories_ = known
    if names is not None and all(isinstance(name, str) for name in X.columns):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    weights, offset = (None if columns[name] is None else session.load_column(name) for name in ("weight", "offset"))
    return features, session.load_column("y"), weights, offset


def make_example(X: Any) -> Any:
    """A small frame of pandas with the columns of a Dask frame; anything else as it is."""
    return X._meta_nonempty if hasattr(X, "columns") else X


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf" and str(dtype) != "category"


def _find_categories(X: Any, texts: list[str]) -> dict[str, list[Category]]:
    """The categories of text columns that occur in some block of a Dask frame, sorted; missing values are the last."""
    import dask

    found = _compute_there([dask.delayed(_list_categories)(of["X"], texts) for of, _ in cut_blocks({"X": X}, {})])
    known: dict[str, list[Category]] = {}
    for name in texts:
        every = {category for of_block in found for category in of_block[name]}
        known[name] = [*sorted(every - {None}), *([None] if None in every else [])]
    return known


def _compute_there(tasks: list[Any]) -> list[Any]:
    """The results of delayed tasks, computed on the cluster of the current client if there is one."""
    import dask

    client = find_client()
    if client is None:
        return list(dask.compute(*tasks))
    from minmin.problems.linear.rows.dask_engine import gather_patiently

    return gather_patiently(client, client.compute(tasks))


def _list_categories(block: Any, texts: list[str]) -> dict[str, list[Category]]:
    frame = wrap_frame(block)
    assert frame is not None
    require_known_types(frame)
    names = name_columns(frame)
    return {name: find_categories(read_text(frame, names.index(name), name))[0] for name in texts}


def _read_text(block: Any, name: str, where: str, known: Known, missing: str) -> Table:
    frame = wrap_frame(block)
    assert frame is not None
    try:
        return read_known(frame, known, refuse_missing=missing == "error", refuse_unseen=False)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def refuse_collections(X: Any, what: str) -> None:
    if is_dask(X):
        raise InputError(f"{what} needs all rows in memory, not a collection of Dask; compute a part of the rows")


def on_collections(there: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for methods of an estimator: for a Dask collection X, another function takes their place."""

    def decorate(here: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(here)
        def choose(self: Any, X: Any, *args: Any, **options: Any) -> Any:
            return (there if is_dask(X) else here)(self, X, *args, **options)

        return choose

    return decorate


def lazy(predict: Callable[..., _Vector]) -> Callable[..., Any]:
    """A method of an estimator that, for a Dask collection, returns a Dask array which is not computed yet."""
    return on_collections(partial(_predict_lazily, predict))(predict)


def _predict_lazily(predict: Callable[..., _Vector], estimator: Any, X: Any, offset: Any = None) -> Any:
    import dask.array

    check_is_fitted(estimator)
    some_row = predict(estimator, _make_row(estimator, X), None if offset is None else np.zeros(1))
    compute = dask.delayed(_predict_block)
    blocks = [
        dask.array.from_delayed(
            compute(predict, estimator, matrices["X"], columns["offset"], some_row[:0]),
            (size, *some_row.shape[1:]),
            meta=some_row[:0],
        )
        for (matrices, columns), size in zip(cut_blocks({"X": X}, {"offset": offset}), list_sizes(X), strict=True)
    ]
    return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


def _predict_block(
    predict: Callable[..., _Vector], estimator: Any, block: Any, offset: Any, nothing: _Vector
) -> _Vector:
    return predict(estimator, block, offset) if block.shape[0] else nothing


def _make_row(estimator: Any, X: Any) -> Any:
    """A row like those of X, to see what predictions look like."""
    example = make_example(X)
    frame = wrap_frame(example)
    if frame is None:
        return np.zeros((1, estimator.n_features_in_))
    row = example.iloc[:1].copy()
    for column, name in enumerate(name_columns(frame)):
        if name in estimator.categories_:
            row.isetitem(column, [estimator.categories_[name][0]])
    return row


def score_lazily(
    estimator: Any, X: Any, y: Any, sample_weight: Any, offset: Any, measure: Measure, _here: Callable[..., float]
) -> Any:
    """1 minus the ratio of two sums over all rows, as a Dask array with one number that is not computed yet."""
    import dask.array

    check_is_fitted(estimator)
    columns = {"y": y, "weight": sample_weight, "offset": offset}
    blocks = list(enumerate(cut_blocks({"X": X}, columns)))
    of_targets = [dask.delayed(_sum_targets)(number, of_rows) for number, (_, of_rows) in blocks]
    mean = dask.delayed(_divide)(of_targets)
    sums = [
        dask.delayed(_measure_block)(estimator, number, of_matrix["X"], of_rows, measure, mean)
        for number, (of_matrix, of_rows) in blocks
    ]
    return dask.array.from_delayed(dask.delayed(_compare)(sums), (), meta=np.zeros(0))


def _read_rows(number: int, columns: dict[str, Any]) -> tuple[_Vector, _Vector]:
    where = f"partition {number}"
    y = as_column(columns["y"], "y", where)
    if y.dtype.kind != "U":
        y = y.astype(np.float64)  # sums of small integers would overflow, and those of truth values be one
    if columns["weight"] is None:
        return y, np.ones(len(y))
    return y, as_column(columns["weight"], "weight", where).astype(np.float64)


def _sum_targets(number: int, columns: dict[str, Any]) -> tuple[float, float]:
    y, weights = _read_rows(number, columns)
    return float(weights @ y) if y.dtype.kind != "U" else 0.0, float(weights.sum())


def _measure_block(
    estimator: Any, number: int, X: Any, columns: dict[str, Any], measure: Measure, mean: float
) -> tuple[float, float]:
    y, weights = _read_rows(number, columns)
    return measure(y, estimator.predict(X, columns["offset"]), weights, mean) if weights.any() else (0.0, 0.0)


def _compare(sums: list[tuple[float, float]]) -> _Vector:
    return np.asarray(1.0 - _divide(sums))


def _divide(pairs: list[tuple[float, float]]) -> float:
    above, below = (math.fsum(numbers) for numbers in zip(*pairs, strict=True))
    return above / below if below != 0.0 else math.nan
