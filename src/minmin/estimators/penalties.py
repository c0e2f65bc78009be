"""Turns the parameter ``alpha`` into one penalty per block."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from minmin.errors import InputError, as_number, show

Alphas = dict[Hashable, float]


def resolve_alphas(alpha: Any, names: Sequence[Hashable]) -> Alphas:
    """One penalty per block, from one number for all, a sequence in the order of the blocks, or a mapping by name."""
    if hasattr(alpha, "to_dict"):  # a pandas Series: its labels count if any of them is the name of a block
        labelled = alpha.to_dict()
        alpha = labelled if set(labelled) & set(names) else list(labelled.values())
    if isinstance(alpha, Mapping):
        return {name: check_alpha(value, name) for name, value in put_in_order(alpha, names, "alpha").items()}
    if isinstance(alpha, str) or not (isinstance(alpha, Sequence) or getattr(alpha, "ndim", 0) == 1):
        return {name: check_alpha(alpha, name) for name in names}
    if len(alpha) != len(names):
        raise InputError(f"alpha has {len(alpha)} entries for {len(names)} blocks: {_join(names)}")
    return {name: check_alpha(value, name) for name, value in zip(names, alpha, strict=True)}


def check_alpha(value: Any, block: Hashable) -> float:
    number = as_number(value, f"alpha of block {show(block)}")
    if not 0.0 <= number < math.inf:
        raise InputError(f"alpha of block {show(block)} = {number} must be finite and >= 0")
    return number


def put_in_order(given: Mapping[Hashable, Any], names: Sequence[Hashable], parameter: str) -> dict[Hashable, Any]:
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
