"""Which columns belong to which block: turns column selectors into column numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from minmin.errors import InputError, near_names, shorten, show

Columns = np.ndarray[Any, np.dtype[np.intp]]
ColumnBlocks = dict[Hashable, Columns]
"""Column numbers by the name of the block."""

ALL, REST = "all", "rest"
"""Names of blocks: of all columns if the user gives no blocks, and of the columns that no selector takes."""


def resolve_blocks(blocks: Any, X: Any, n_features: int, names: Sequence[str] | None) -> ColumnBlocks:
    """The columns of every block, in ascending order, by the name of the block.

    ``blocks`` is the parameter of the estimators. Callables in it are called with X as the user gave it. ``names`` are
    the names of the columns of X, or None if it has none.
    """
    if blocks is None:
        return {ALL: np.arange(n_features)}
    named = _name_blocks(blocks)
    columns = {name: _find_columns(selector, name, X, n_features, names) for name, selector in named.items()}
    owner = np.full(n_features, -1)
    for number, (name, chosen) in enumerate(columns.items()):
        if len(chosen) == 0:
            raise InputError(f"block {show(name)} is empty: {shorten(show(named[name]))} selects no column")
        taken = chosen[owner[chosen] >= 0]
        if len(taken):
            column = taken[0] if names is None else repr(str(names[taken[0]]))
            other = list(columns)[owner[taken[0]]]
            raise InputError(f"blocks overlap: column {column} is in block {show(other)} and in block {show(name)}")
        owner[chosen] = number
    rest = np.flatnonzero(owner < 0)
    if len(rest) and REST in columns:
        raise InputError(
            f"{len(rest)} columns are in no block and would form a block called {REST!r}, but you gave a block of that "
            "name; rename it"
        )
    return {**columns, REST: rest} if len(rest) else columns


def _name_blocks(blocks: Any) -> dict[Hashable, Any]:
    if isinstance(blocks, Mapping):
        named = dict(blocks)
    elif isinstance(blocks, Sequence) and not isinstance(blocks, str):
        named = {f"block{i}": selector for i, selector in enumerate(blocks)}
    else:
        raise InputError(f"blocks must be a dict or a list of column selectors, got {blocks!r}")
    if not named:
        raise InputError("blocks is empty; leave it out for one block of all columns")
    return named


def _find_columns(selector: Any, block: Hashable, X: Any, n_features: int, names: Sequence[str] | None) -> Columns:
    if callable(selector):
        selector = selector(X)
    if isinstance(selector, slice):
        return _find_slice(selector, block, n_features, names)
    if isinstance(selector, str):
        return _match(selector, block, names)
    listed = np.asarray(selector)
    if listed.ndim > 1:
        raise InputError(f"block {show(block)}: a selector must be one-dimensional, got shape {listed.shape}")
    listed = listed.reshape(-1)
    if listed.size == 0:
        return np.zeros(0, dtype=np.intp)
    if listed.dtype == bool:
        if len(listed) != n_features:
            raise InputError(f"block {show(block)}: a mask has {len(listed)} entries, but X has {n_features} features")
        return np.flatnonzero(listed)
    if listed.dtype.kind in "iu":
        return _check_numbers(listed, block, n_features)
    if all(isinstance(name, str) for name in listed.tolist()):
        return np.unique(np.concatenate([_match(name, block, names) for name in listed.tolist()]))
    raise InputError(
        f"block {show(block)}: {shorten(show(selector))} is not a column selector; give a slice, column numbers or "
        "names, or a boolean mask"
    )


def _find_slice(selector: slice, block: Hashable, n_features: int, names: Sequence[str] | None) -> Columns:
    """Slice like NumPy; a slice between two names includes both ends, as in pandas."""
    start, stop = selector.start, selector.stop
    if isinstance(start, str):
        start = _match(start, block, names)[0]
    if isinstance(stop, str):
        stop = _match(stop, block, names)[-1] + 1
    try:
        columns = np.arange(n_features)[slice(start, stop, selector.step)]
    except TypeError:
        raise InputError(f"block {show(block)}: {selector} is not a slice of columns; give numbers or names") from None
    return columns if selector.step is None or selector.step > 0 else columns[::-1]


def _check_numbers(listed: np.ndarray[Any, Any], block: Hashable, n_features: int) -> Columns:
    outside = listed[(listed < -n_features) | (listed >= n_features)]
    if outside.size:
        raise InputError(f"block {show(block)}: there is no column {outside[0]}; X has {n_features} features")
    numbers = listed.astype(np.intp)  # the sum below could overflow in a small integer type
    return np.unique(np.where(numbers < 0, numbers + n_features, numbers))


def _match(name: str, block: Hashable, names: Sequence[str] | None) -> Columns:
    """The column of that name; if there is none, all columns whose names match it as a pattern."""
    if names is None:
        raise InputError(
            f"block {show(block)}: the selector {name!r} is a name, but X has no column names; give X as a data frame "
            "(set_output makes transformers return frames), or columns by number"
        )
    matching = [i for i, column in enumerate(names) if column == name]
    matching = matching or [i for i, column in enumerate(names) if fnmatchcase(column, name)]
    if not matching:
        raise InputError(f"block {show(block)}: no column is called, or matches, {name!r}: {near_names(name, names)}")
    return np.array(matching, dtype=np.intp)
