"""Fitted models as files. Loading one runs no code of the file's: only the types named here are made from it."""

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
"""What a file may hold beside NumPy arrays, Python's own numbers, strings and containers."""


def dump(model: Any) -> bytes:
    """A fitted estimator as the content of a file."""
    content: bytes = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    return content


def load(file: Path) -> Any:
    """The estimator in a file, or an error that says why there is none."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    try:
        strange = set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED)
        if not strange:
            model = skops.io.loads(content, trusted=list(TRUSTED))
    except Exception as error:  # what a damaged or foreign file makes the readers raise is anything
        raise InputError(f"{file} is no model that 'minmin fit --save' wrote, or is damaged") from error
    if strange:
        raise InputError(
            f"{file} was not loaded, since it holds types that no model of minmin has and that could run code: "
            f"{', '.join(sorted(strange))}"
        )
    if not isinstance(model, BlockModel) or not _is_fitted(model):
        raise InputError(f"{file} holds no fitted model of minmin, but {type(model).__name__}")
    return model


def _is_fitted(model: Any) -> bool:
    """Whether the parts that predictions need are there and fit together."""
    coef, count = getattr(model, "coef_", None), getattr(model, "n_features_in_", None)
    if not (isinstance(coef, np.ndarray) and coef.ndim in (1, 2) and coef.shape[-1] == count and _are_numbers(coef)):
        return False
    intercept = np.asarray(getattr(model, "intercept_", None))
    names, first_index = getattr(model, "feature_names_in_", None), getattr(model, "first_index_", None)
    classes = np.asarray(getattr(model, "classes_", None))
    return (
        _are_numbers(intercept)
        and intercept.shape in ((), coef.shape[:-1])
        and (names is None or (isinstance(names, np.ndarray) and names.shape == (count,)))
        and (first_index is None or (isinstance(first_index, int) and first_index in (0, 1)))
        and (not hasattr(model, "predict_proba") or classes.shape == (max(2, len(coef)),))
    )


def _are_numbers(values: np.ndarray[Any, Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())
