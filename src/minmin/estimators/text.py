"""Text columns of frames: categories are found at fit, and known ones are recognised later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from minmin.core.arrays import all_finite
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.datasets.sparse_checks import require_indices, tidy_csr
from minmin.errors import InputError, require_values, show
from minmin.estimators.categories import (
    Category,
    Known,
    find_categories,
    name_features,
    recognise,
    require_present,
    require_seen,
    warn_of_numbers,
)
from minmin.estimators.features import MatrixFeatures
from minmin.estimators.frames import NOTHING, NUMBERS, OTHER, TEXT, Codes, Frame, Vector, wrap_frame
from minmin.estimators.partitions import check_partitions
from minmin.estimators.table import Table
from minmin.estimators.targets import read_given
from minmin.problems.linear.checked_designs import as_design

_ADVICE = (
    "; give numbers, text or categories: for example a date as a number of days, or as text, and values of several "
    "types as text"
)


def text_columns(X: Any) -> list[int]:
    """The numbers of the columns of a frame that hold text or categories, as a selector for ``blocks``."""
    require_values(X, "X")
    frame = wrap_frame(X)
    return [] if frame is None else [column for column, kind in enumerate(frame.kinds) if kind == TEXT]


@dataclass(eq=False, repr=False, kw_only=True)
class TextColumns:
    """The parameters of an estimator for text columns, and the names of its features."""

    missing: str = "category"
    unseen: str = "zero"

    n_features_in_: ClassVar[int]

    @property
    def feature_names_out_(self) -> Vector:
        """The names of the features in the order of ``coef_``: "city=Oslo" for a category of a text column."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        columns = _number_names(self.n_features_in_) if names is None else names.tolist()
        return np.array(name_features(columns, getattr(self, "categories_", {})), dtype=object)


def check_data(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Check data as scikit-learn's ``validate_data`` does; numbers of partitions were checked when they were opened.

    With ``reset``, sets ``categories_``, and returns Features and y. Without, these are the categories that are known,
    and what is returned can be multiplied with coefficients.
    """
    X = read_given(X, "X")
    if isinstance(X, PartitionedMatrix):
        return check_partitions(estimator, X, y, reset, options)
    require_indices(X, "X")
    frame = wrap_frame(X)
    if not reset:
        return _check_again(estimator, X, frame, options)
    check_text_options(estimator)
    if frame is None or not {TEXT, OTHER} & set(frame.kinds):
        matrix, y = validate_data(estimator, X, y, **options)
        estimator.categories_ = {}
        return MatrixFeatures(as_design(tidy_csr(matrix))), y
    require_known_types(frame)
    column = np.zeros((X.shape[0], 1))  # stands for X, to check y
    _, y = validate_data(estimator, column, y, **options)
    table, known = _read_table(frame, refuse_missing=estimator.missing == "error")
    validate_data(estimator, X, skip_check_array=True)  # sets the names and the number of the columns
    estimator.categories_ = known
    return table, y


def check_text_options(estimator: Any) -> None:
    """Raise if a parameter about text columns has a value that is not allowed."""
    for name, allowed in (("missing", ("category", "error")), ("unseen", ("zero", "error"))):
        if getattr(estimator, name) not in allowed:
            raise InputError(f"{name} = {getattr(estimator, name)!r}; give {allowed[0]!r} or {allowed[1]!r}")


def _check_again(estimator: Any, X: Any, frame: Frame | None, options: dict[str, Any]) -> Any:
    known: Known = getattr(estimator, "categories_", {})  # a saved model may have none
    if not known:
        if frame is not None:
            require_known_types(frame)
            _require_numbers(frame)
        return validate_data(estimator, X, reset=False, **options)
    if frame is None:
        raise InputError(
            f"the model was fitted to a frame with text columns such as {next(iter(known))!r}; give a pandas or polars "
            "frame or a pyarrow table with the same columns"
        )
    validate_data(estimator, X, reset=False, skip_check_array=True)
    check_array(np.zeros((X.shape[0], 1)), estimator=estimator)  # scikit-learn's words if there is no row
    return read_known(frame, known, estimator.missing == "error", estimator.unseen == "error")


def _read_table(frame: Frame, refuse_missing: bool) -> tuple[Table, dict[str, list[Category]]]:
    """The columns of a frame, and the categories of its text columns."""
    names = name_columns(frame)
    known: dict[str, list[Category]] = {}
    columns = [column for column, kind in enumerate(frame.kinds) if kind == TEXT]
    places = np.empty((frame.frame.shape[0], len(columns)), dtype=np.int32)
    start = 0
    for place, column in enumerate(columns):
        codes = frame.read_codes(column)
        if refuse_missing:
            require_present(codes, names[column])
        known[names[column]], numbers = find_categories(codes)
        if not codes.declared:
            warn_of_numbers(known[names[column]], names[column])
        places[:, place] = (numbers + start)[codes.numbers]
        start += len(known[names[column]])
    return _make_table(frame, names, known, places), known


def read_known(frame: Frame, known: Known, refuse_missing: bool, refuse_unseen: bool) -> Table:
    """The columns of a frame of which the categories are known."""
    names, width = name_columns(frame), sum(len(categories) for categories in known.values())
    places = np.empty((frame.frame.shape[0], len(known)), dtype=np.int32)
    start = 0
    for place, (name, categories) in enumerate(known.items()):
        if name not in names:
            raise InputError(f"X has no column {name!r}, which had text in fit; give a frame with the same columns")
        codes = read_text(frame, names.index(name), name)
        if refuse_missing:
            require_present(codes, name)
        numbers = recognise(codes, categories)
        if refuse_unseen:
            require_seen(codes, numbers, name)
        places[:, place] = np.where(numbers < 0, width, numbers + start)[codes.numbers]
        start += len(categories)
    return _make_table(frame, names, known, places)


def _make_table(frame: Frame, names: list[str], categories: Known, places: Vector) -> Table:
    is_text = np.array([name in categories for name in names])
    sizes = np.array([len(categories[name]) if name in categories else 1 for name in names])
    columns = np.flatnonzero(~is_text).tolist()
    for column in columns:
        if frame.kinds[column] not in (NUMBERS, NOTHING):
            raise InputError(
                f"column {names[column]!r} holds {frame.kinds[column]} ({frame.types[column]}), but had numbers in fit"
            )
    numbers = tidy_csr(frame.read_numbers(columns))
    _require_finite(numbers, [names[column] for column in columns])
    return Table(numbers, places, sizes, is_text)


def name_columns(frame: Frame) -> list[str]:
    """The names of the columns; x0, x1, ... if they are not text, as in scikit-learn."""
    if not all(isinstance(name, str) for name in frame.names):
        return _number_names(len(frame.names))
    return [str(name) for name in frame.names]


def _number_names(count: int) -> list[str]:
    return [f"x{number}" for number in range(count)]


def require_known_types(frame: Frame) -> None:
    for name, kind, dtype in zip(frame.names, frame.kinds, frame.types, strict=True):
        if kind == OTHER:
            what = "values of several types, or of none that is known" if str(dtype) == "object" else str(dtype)
            raise InputError(f"column {show(name)} holds {what}{_ADVICE}")


def _require_numbers(frame: Frame) -> None:
    for name, kind in zip(frame.names, frame.kinds, strict=True):
        if kind == TEXT:
            raise InputError(f"column {show(name)} holds text, but the model was fitted to numbers alone")


def read_text(frame: Frame, column: int, name: str) -> Codes:
    if frame.kinds[column] == TEXT:
        return frame.read_codes(column)
    if frame.is_empty(column):
        return Codes(np.full(frame.frame.shape[0], -1), [])
    raise InputError(
        f"column {name!r} holds {frame.kinds[column]} ({frame.types[column]}), but had text in fit; give text"
    )


def _require_finite(numbers: Any, names: list[str]) -> None:
    if all_finite(as_design(numbers).arrays()[0]):
        return
    triples = scipy.sparse.coo_array(numbers)
    first = int(np.argmin(np.isfinite(triples.data)))
    row, column, value = int(triples.row[first]), int(triples.col[first]), triples.data[first]
    what = "a missing value (NaN)" if np.isnan(value) else str(value)
    raise InputError(
        f"column {names[column]!r} has {what} in row {row} (from 0); replace or remove such values before the fit"
    )
