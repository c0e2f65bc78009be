"""What losses demand of targets and offsets."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.core.arrays import Array, to_like, to_numpy
from minmin.errors import InputError


def check_labels(target: Array, name: str) -> Array:
    """Labels of two classes, as -1 and 1."""
    values = to_numpy(target)
    labels = set(np.unique(values).tolist())
    if labels <= {-1.0, 1.0}:
        return target
    if labels <= {0.0, 1.0}:
        return to_like(2.0 * values - 1.0, target)
    other = ~np.isin(values, [-1.0, 0.0, 1.0])
    _require(~other if other.any() else values != 0.0, values, f"the {name} loss takes labels in {{-1, 1}} or {{0, 1}}")
    return target


def check_not_negative(target: Array, name: str, what: str) -> Array:
    values = to_numpy(target)
    _require(values >= 0.0, values, f"the {name} loss takes {what} >= 0")
    return target


def check_positive(target: Array, name: str) -> Array:
    values = to_numpy(target)
    _require(values > 0.0, values, f"the {name} loss takes numbers > 0")
    return target


def check_classes(target: Array, count: int) -> Array:
    values = to_numpy(target)
    allowed = (values >= 0) & (values < count) & (values == np.floor(values))
    _require(allowed, values, f"give classes as whole numbers, 0 to {count - 1}")
    return target


def check_offset_shape(shape: tuple[int, ...], rows: int, outputs: int) -> None:
    wanted = (rows,) if outputs == 1 else (rows, outputs)
    if shape != wanted:
        what = "one number for each row" if outputs == 1 else "one number for each row and class"
        raise InputError(f"offset has shape {tuple(shape)}; give {what}, so {wanted}")


def _require(allowed: np.ndarray[Any, Any], values: np.ndarray[Any, Any], wanted: str) -> None:
    """Raise at the first target that is not allowed."""
    wrong = np.flatnonzero(~allowed)
    if wrong.size:
        raise InputError(f"target[{wrong[0]}] = {values[wrong[0]]:g}: {wanted}")
