"""The groups of coordinates that a user gave, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from minmin.core.arrays import to_numpy
from minmin.errors import InputError, show

_WANTED = "give a sequence of groups, each a sequence of indices: [[0, 1], [2, 3, 4]]"

Indices = np.ndarray[Any, np.dtype[np.int64]]


def make_groups(groups: Any) -> tuple[Indices, ...]:
    """The indices of every group; an index may be in one group at most."""
    if isinstance(groups, str | bytes) or not hasattr(groups, "__len__") or len(groups) == 0:
        raise InputError(f"groups must hold at least one group, got {show(groups)}; {_WANTED}")
    made = tuple(_make_group(group, f"groups[{number}]") for number, group in enumerate(groups))
    _check_overlap(made)
    return made


def _make_group(group: Any, name: str) -> Indices:
    try:
        indices = to_numpy(group) if is_array_api_obj(group) else np.asarray(group)
    except ValueError as error:
        raise InputError(f"{name} cannot be read as indices: {error}") from None
    if indices.ndim != 1:
        raise InputError(f"{name} = {show(group)} is no sequence of indices; {_WANTED}")
    if indices.size == 0:
        raise InputError(f"{name} is empty; leave it out, and its weight if there is one per group")
    if indices.dtype.kind not in "iu":
        hint = "; for a mask, give np.flatnonzero(mask)" if indices.dtype.kind == "b" else ""
        raise InputError(f"{name} holds {indices.dtype} values; give whole numbers, counted from 0{hint}")
    if indices.min() < 0:
        raise InputError(f"{name} holds index {indices.min()}; indices are counted from 0")
    return np.array(indices, dtype=np.int64)


def _check_overlap(groups: tuple[Indices, ...]) -> None:
    indices = np.concatenate(groups)
    owners = np.repeat(np.arange(len(groups)), [group.size for group in groups])
    order = np.argsort(indices, kind="stable")
    again = np.flatnonzero(np.diff(indices[order]) == 0)
    if again.size == 0:
        return
    first, second = order[again[0]], order[again[0] + 1]
    if owners[first] == owners[second]:
        raise InputError(f"groups[{owners[first]}] holds index {indices[first]} twice")
    raise InputError(
        f"index {indices[first]} is in groups[{owners[first]}] and in groups[{owners[second]}]; "
        "a coordinate may be in one group at most"
    )
