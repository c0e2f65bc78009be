"""Penalties of blocks: those that a user gives, and grids with the order in which a path of warm starts visits them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from minmin.errors import InputError, as_count, as_number, show
from minmin.estimators.blocks import ColumnBlocks
from minmin.estimators.features import Features

Alphas = dict[Hashable, float]
_Matrix = np.ndarray[Any, Any]

_LARGEST, _SMALLEST = 1e-1, 1e-7
"""The ends of the default grid, in units of the mean |row|² of the block. The curvature of a logistic loss is at most
¼ of that unit, so the largest penalty is as strong as the loss, and the smallest has hardly any effect."""
_DEFAULT_COUNTS = {1: 10, 2: 5}
_DEFAULT_COUNT = 3
"""The default number of values per block, for one, two and more blocks: 10, 25, and for three blocks 27 fits."""
_ZERO_PLACE = 1e-3
"""A penalty of 0 has no logarithm. To order the fits, it is placed at this times the smallest positive penalty."""
_TIE = 1e-9
"""Two distances with a smaller relative difference count as equal: the difference is due to rounding."""


def resolve_alphas(alpha: Any, names: Sequence[Hashable]) -> Alphas:
    """One penalty per block, from one number for all, a sequence in the order of the blocks, or a mapping by name."""
    if hasattr(alpha, "to_dict"):  # a pandas Series: its labels count if any of them is the name of a block
        labelled = alpha.to_dict()
        alpha = labelled if set(labelled) & set(names) else list(labelled.values())
    if isinstance(alpha, Mapping):
        return {name: _check_alpha(value, name) for name, value in _put_in_order(alpha, names, "alpha").items()}
    if isinstance(alpha, str) or not (isinstance(alpha, Sequence) or getattr(alpha, "ndim", 0) == 1):
        return {name: _check_alpha(alpha, name) for name in names}
    if len(alpha) != len(names):
        raise InputError(f"alpha has {len(alpha)} entries for {len(names)} blocks: {_join(names)}")
    return {name: _check_alpha(value, name) for name, value in zip(names, alpha, strict=True)}


def _check_alpha(value: Any, block: Hashable) -> float:
    number = as_number(value, f"alpha of block {show(block)}")
    if not 0.0 <= number < math.inf:
        raise InputError(f"alpha of block {show(block)} = {number} must be finite and >= 0")
    return number


def _put_in_order(given: Mapping[Hashable, Any], names: Sequence[Hashable], parameter: str) -> dict[Hashable, Any]:
    """The values of a mapping in the order of the blocks; it must have one for each block and no others."""
    unknown = [name for name in given if name not in names]
    missing = [name for name in names if name not in given]
    if unknown or missing:
        problem = (
            f"names {show(unknown[0])}, which is not a block"
            if unknown
            else f"has nothing for block {show(missing[0])}"
        )
        raise InputError(f"{parameter} {problem}; the blocks are {_join(names)}")
    return {name: given[name] for name in names}


def _join(names: Iterable[Hashable]) -> str:
    return ", ".join(repr(name) for name in names)


def resolve_grid(alphas: Any, blocks: ColumnBlocks, features: Features, weights: Any) -> _Matrix:
    """The penalties to try: one row per combination, one column per block.

    None or a number of values gives a grid in units of the data. A mapping has the values of each block, of which all
    combinations are tried. In a sequence of numbers, each is the penalty of all blocks at once. Any other sequence
    lists combinations, each in a form that ``alpha`` of a single fit accepts.
    """
    names = list(blocks)
    if alphas is None or not isinstance(alphas, Mapping | Sequence | np.ndarray):
        count = _DEFAULT_COUNTS.get(len(names), _DEFAULT_COUNT) if alphas is None else as_count(alphas, "alphas")
        if count == 0:
            raise InputError("alphas = 0: give at least one value per block")
        factors = np.geomspace(_LARGEST, _SMALLEST, count)
        return _combine([unit * factors for unit in _row_squares(features, weights, blocks)])
    if len(alphas) == 0:
        raise InputError("alphas is empty; give penalties to try, or leave it out")
    if isinstance(alphas, Mapping):
        by_block = _put_in_order(alphas, names, "alphas")
        return _combine([_check_values(values, name) for name, values in by_block.items()])
    return np.array([list(resolve_alphas(alpha, names).values()) for alpha in alphas])


def path_order(points: _Matrix, sizes: Sequence[int]) -> list[int]:
    """The order of the fits: from the largest penalties, always to the nearest untried ones on a logarithmic scale.

    ``sizes`` are the numbers of columns of the blocks: the larger a block, the more a change of its penalty costs.
    """
    positive = points[points > 0.0]
    least = positive.min() if positive.size else 1.0
    places = np.log(np.where(points > 0.0, points, _ZERO_PLACE * least))
    heights = places.sum(axis=1)
    order = [int(heights.argmax())]
    left = [i for i in range(len(points)) if i != order[0]]
    while left:
        distances = np.square(places[left] - places[order[-1]]) @ np.array(sizes)
        nearest = np.flatnonzero(distances <= distances.min() * (1.0 + _TIE))
        order.append(left.pop(int(nearest[heights[left][nearest].argmax()])))
    return order


def _check_values(values: Any, block: Hashable) -> list[float]:
    listed = values if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else [values]
    if len(listed) == 0:
        raise InputError(f"alphas has no value for block {show(block)}; give at least one")
    return [_check_alpha(value, block) for value in listed]


def _combine(values: list[Any]) -> _Matrix:
    return np.array(list(product(*values)))


def _row_squares(features: Features, weights: Any, blocks: ColumnBlocks) -> list[float]:
    """The weighted mean of |row|² in each block; 1 if that is 0, or overflows."""
    weights = np.ones(features.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    squares = features.column_squares(weights)
    sums = [float(squares[columns].sum()) / float(weights.sum()) for columns in blocks.values()]
    return [size if 0.0 < size < math.inf else 1.0 for size in sums]
