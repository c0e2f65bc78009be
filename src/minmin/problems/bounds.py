"""Bounds on variables as users give them: scipy.optimize.Bounds, pairs (low, high), or these for every array of x."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minmin.core.structure import Leaf, Structure
from minmin.errors import InputError, show
from minmin.terms import Box


def make_box(bounds: Any, name: str, shape: tuple[int, ...] | None, structure: Structure | None = None) -> Box | None:
    """A box from a user's bounds; None if there are none.

    Parameters
    ----------
    bounds : scipy.optimize.Bounds, or pair, or sequence of pairs, or a structure of these
        One pair (low, high) for all variables, or one per variable; None leaves a side free.
    name : str
        The argument, "bounds_x" or "bounds_y", for error messages.
    shape : tuple of int or None
        That of the variables; None if the box is for several parts of different sizes.
    structure : Structure, optional
        How the user sees the block; bounds may be given in the same way.
    """
    if bounds is None:
        return None
    leaves = None if structure is None else _pair_leaves(bounds, name, structure)
    if leaves is not None:
        boxes = [make_box(inside, name + leaf.place, leaf.shape) or Box(None, None) for leaf, inside in leaves]
        sizes = [leaf.size for leaf, _ in leaves]
        return Box(_join([box.lower for box in boxes], sizes), _join([box.upper for box in boxes], sizes))
    try:
        sides = _split(bounds, name)
        box = Box(*(side.reshape(-1) if np.ndim(side) > 1 and side.shape == shape else side for side in sides))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if shape is not None:
        box.check_size(math.prod(shape), name)
    return box


def _pair_leaves(bounds: Any, name: str, structure: Structure) -> list[tuple[Leaf, Any]] | None:
    """The bounds of every array; None if the bounds do not have the structure of the block."""
    if _is_pair(bounds):
        return None
    try:
        return list(structure.pair_leaves(bounds, name))
    except InputError:
        if isinstance(bounds, Mapping):
            raise
        return None  # bounds of all variables, whatever their structure


def _join(sides: Sequence[Any], sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.broadcast_to(side, size) for side, size in zip(sides, sizes, strict=True)])


def _is_pair(bounds: Any) -> bool:
    """Whether this is (low, high) for all variables; a dict with two keys has a length, too."""
    has_two = not isinstance(bounds, Mapping) and hasattr(bounds, "__len__") and len(bounds) == 2
    return has_two and all(np.ndim(side) == 0 for side in bounds)


def _split(bounds: Any, name: str) -> tuple[Any, Any]:
    """The lower and the upper bounds."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds: its sides may be lists, or of length 1
        lower, upper = (np.asarray(side, dtype=np.float64) for side in (bounds.lb, bounds.ub))
        return _shorten(lower), _shorten(upper)
    if isinstance(bounds, str | Mapping) or not hasattr(bounds, "__len__"):
        raise InputError(
            f"{show(bounds)} are no bounds; give a scipy.optimize.Bounds, a pair (low, high), or one pair per variable"
        )
    if _is_pair(bounds):
        return bounds[0], bounds[1]
    for i, pair in enumerate(bounds):
        if pair is not None and (not hasattr(pair, "__len__") or len(pair) != 2):
            raise InputError(f"entry {i} is {show(pair)}; give a pair (low, high), with None for a free side")
    pairs = [(None, None) if pair is None else tuple(pair) for pair in bounds]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _shorten(side: np.ndarray[Any, Any]) -> Any:
    """One number instead of an array that holds only one."""
    return float(side.reshape(())) if side.size == 1 else side
