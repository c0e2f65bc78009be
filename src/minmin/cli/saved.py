"""Fitted models as files. Loading one never runs code from the file: only the types listed here are built from it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import skops.io

from minmin import estimators
from minmin.cli.solved import is_solved, load_solved
from minmin.errors import InputError, name_type
from minmin.estimators.model import BlockModel

TRUSTED = (
    *(f"{getattr(estimators, name).__module__}.{name}" for name in estimators.__all__),
    "minmin.result.Result",
    "minmin.result.History",
    "minmin.core.bound.Bound",
    "sklearn.compose._column_transformer.make_column_selector",  # a selector that blocks may be
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
        model = load_solved(content, file) if is_solved(content) else _load_skops(content, file)
    except InputError:
        raise
    except Exception as error:  # a damaged file, or one of another program, can make skops raise anything
        raise InputError(f"{file} is damaged or is not a model that 'minmin fit --save' wrote") from error
    if not isinstance(model, BlockModel) or not _is_fitted(model):
        raise InputError(
            f"{file} contains {name_type(model)}, not a fitted model; give a file that 'minmin fit --save' wrote"
        )
    return model


def _load_skops(content: bytes, file: Path) -> Any:
    untrusted = set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED)
    if untrusted:
        raise InputError(
            f"{file} was not loaded: it contains types that could run code: {', '.join(sorted(untrusted))}; give "
            "blocks by names, numbers or slices, and save the model again"
        )
    return skops.io.loads(content, trusted=list(TRUSTED))


def _is_fitted(model: Any) -> bool:
    """Whether the attributes that predictions need exist and have matching shapes."""
    coef, columns = getattr(model, "coef_", None), getattr(model, "n_features_in_", None)
    names, first_index = getattr(model, "feature_names_in_", None), getattr(model, "first_index_", None)
    categories, roles = getattr(model, "categories_", {}), getattr(model, "row_columns_", {})
    if not (isinstance(columns, int) and _are_categories(categories) and _are_texts(roles)):
        return False
    count = columns - len(categories) + sum(map(len, categories.values()))
    if not (isinstance(coef, np.ndarray) and coef.ndim in (1, 2) and coef.shape[-1] == count and _are_numbers(coef)):
        return False
    intercept = np.asarray(getattr(model, "intercept_", None))
    classes = np.asarray(getattr(model, "classes_", None))
    return (
        _are_numbers(intercept)
        and intercept.shape in ((), coef.shape[:-1])
        and (names is None or (isinstance(names, np.ndarray) and names.shape == (columns,)))
        and (first_index is None or (isinstance(first_index, int) and first_index in (0, 1)))
        and (not hasattr(model, "predict_proba") or classes.shape == (max(2, len(coef)),))
    )


def _are_categories(categories: Any) -> bool:
    return isinstance(categories, dict) and all(
        isinstance(name, str) and isinstance(values, list) and all(v is None or isinstance(v, str) for v in values)
        for name, values in categories.items()
    )


def _are_texts(texts: Any) -> bool:
    return isinstance(texts, dict) and all(isinstance(text, str) for pair in texts.items() for text in pair)


def _are_numbers(values: np.ndarray[Any, Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())
