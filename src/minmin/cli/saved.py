"""Fitted models as files. Loading one never runs code from the file: only the types listed here are built from it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import skops.io

from minmin import estimators
from minmin.errors import InputError
from minmin.estimators.model import BlockModel

TRUSTED = (
    *(f"{getattr(estimators, name).__module__}.{name}" for name in estimators.__all__),
    "minmin.result.Result",
    "minmin.result.History",
    "minmin.core.bound.Bound",
)
"""The types that a file may contain besides NumPy arrays and Python's own numbers, strings and containers."""


def dump(model: Any) -> bytes:
    """A fitted estimator as the content of a file."""
    content: bytes = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    return content


def load(file: Path) -> Any:
    """Load the estimator in a file, or raise an error that says why the file has none."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    try:
        untrusted = set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED)
        if not untrusted:
            model = skops.io.loads(content, trusted=list(TRUSTED))
    except Exception as error:  # a damaged file, or one of another program, can make skops raise anything
        raise InputError(f"{file} is damaged or is not a model that 'minmin fit --save' wrote") from error
    if untrusted:
        raise InputError(
            f"{file} was not loaded: it contains types that could run code and that no minmin model has: "
            f"{', '.join(sorted(untrusted))}"
        )
    if not isinstance(model, BlockModel) or not _is_fitted(model):
        raise InputError(
            f"{file} contains a {type(model).__name__}, not a fitted model; give a file that 'minmin fit --save' wrote"
        )
    return model


def _is_fitted(model: Any) -> bool:
    """Whether the attributes that predictions need exist and have matching shapes."""
    coef, count = getattr(model, "coef_", None), getattr(model, "n_features_in_", None)
    if not (isinstance(coef, np.ndarray) and coef.ndim in (1, 2) and coef.shape[-1] == count and _are_numbers(coef)):
        return False
    intercept = np.asarray(getattr(model, "intercept_", None))
    names, first_index = getattr(model, "feature_names_in_", None), getattr(model, "first_index_", None)
    classes = np.asarray(getattr(model, "classes_", None))
    roles = getattr(model, "row_columns_", {})
    return (
        _are_numbers(intercept)
        and intercept.shape in ((), coef.shape[:-1])
        and (names is None or (isinstance(names, np.ndarray) and names.shape == (count,)))
        and (first_index is None or (isinstance(first_index, int) and first_index in (0, 1)))
        and isinstance(roles, dict)
        and all(isinstance(name, str) for pair in roles.items() for name in pair)
        and (not hasattr(model, "predict_proba") or classes.shape == (max(2, len(coef)),))
    )


def _are_numbers(values: np.ndarray[Any, Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())
