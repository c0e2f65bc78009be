"""Bounds on variables as users give them: scipy.optimize.Bounds, or pairs (low, high)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minmin.errors import InputError, show
from minmin.terms import Box


def make_box(bounds: Any, name: str, size: int | None) -> Box | None:
    """A box from a user's bounds; None if there are none.

    Parameters
    ----------
    bounds : scipy.optimize.Bounds, or pair, or sequence of pairs
        One pair (low, high) for all variables, or one per variable; None leaves a side free.
    name : str
        The argument, "bounds_x" or "bounds_y", for error messages.
    size : int or None
        The number of variables; None if the box is for several parts of different sizes.
    """
    if bounds is None:
        return None
    try:
        box = Box(*_split(bounds, name))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if size is not None:
        box.check_size(size, name)
    return box


def _split(bounds: Any, name: str) -> tuple[Any, Any]:
    """The lower and the upper bounds."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds: its sides may be lists, or of length 1
        lower, upper = (np.asarray(side, dtype=np.float64) for side in (bounds.lb, bounds.ub))
        return _shorten(lower), _shorten(upper)
    if isinstance(bounds, str) or not hasattr(bounds, "__len__"):
        raise InputError(
            f"{show(bounds)} are no bounds; give a scipy.optimize.Bounds, a pair (low, high), or one pair per variable"
        )
    if len(bounds) == 2 and all(np.ndim(side) == 0 for side in bounds):
        return bounds[0], bounds[1]
    for i, pair in enumerate(bounds):
        if pair is not None and (not hasattr(pair, "__len__") or len(pair) != 2):
            raise InputError(f"entry {i} is {show(pair)}; give a pair (low, high), with None for a free side")
    pairs = [(None, None) if pair is None else tuple(pair) for pair in bounds]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _shorten(side: np.ndarray[Any, Any]) -> Any:
    """One number instead of an array that holds only one."""
    return float(side.reshape(())) if side.size == 1 else side
