"""The start of a run: what the user gave, checked, and zeros for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from minmin.core.arrays import Array, as_real, describe_kind, require_finite, same_kind, to_like, zeros
from minmin.core.blocks import BlockLayout
from minmin.core.orientation import Swapped
from minmin.core.problem import Problem
from minmin.core.structure import Structure
from minmin.core.vectors import Parts, Vector, first_array, parts_of
from minmin.errors import InputError, name_type, show


def make_start(problem: Problem, x0: Any = None, y0: Any = None) -> tuple[Vector, Vector]:
    """Check a user's start, complete it with zeros, and move it to where the problem's terms are finite: a copy."""
    return problem.project_start(*_check_start(problem, x0, y0))


def describe_projection(problem: Problem, x0: Any, y0: Any) -> str:
    """Which block of a user's start is not allowed by its term and so was moved; empty if none is."""
    if not problem.has_terms:
        return ""
    x, y = _check_start(problem, x0, y0)
    if problem.blocks is None:
        triples = ("x0", x0, problem.term_x, x), ("y0", y0, problem.term_y, y)
    else:
        triples = ("the start", x0, problem.term_x, x), ("the start", x0, problem.term_y, y)
    moved = [
        name for name, given, term, v in triples if given is not None and term is not None and math.isinf(term.value(v))
    ]
    if not moved:
        return ""
    names = " and ".join(dict.fromkeys(moved))
    return f"{names} did not meet the constraints; the run started at the nearest point that does"


def _check_start(problem: Problem, x0: Any, y0: Any) -> tuple[Vector, Vector]:
    """A checked copy of a user's start, completed with zeros."""
    if isinstance(problem, Swapped):
        y, x = _check_start(problem.original, y0, x0)
        return x, y
    if problem.blocks is not None:
        return _check_blocks(problem, problem.blocks, x0, y0)
    prototype = problem.prototype
    x = _make_block(x0, problem.d_x, "x0", prototype, problem.structure_x)
    y = _make_y(problem, y0, prototype if x is None else x)
    if x is None:
        x = zeros(problem.d_x, first_array(y))
    for part in parts_of(y):
        if not same_kind(x, part):
            raise InputError(
                f"x0 is {describe_kind(x)} and y0 is {describe_kind(part)}; "
                "give both in one dtype and library, on one device"
            )
    return x, y


def _check_blocks(problem: Problem, layout: BlockLayout, blocks: Any, y0: Any) -> tuple[Array, Array]:
    """x and y from a start that is a list of blocks."""
    if y0 is not None:
        raise InputError("give all blocks of the start in one list: minimize(problem, [block_0, block_1, ...])")
    sizes = layout.sizes
    if blocks is None:
        blocks = [zeros(size, problem.prototype) for size in sizes]
    if not isinstance(blocks, list | tuple) or len(blocks) != len(sizes):
        got = f"{len(blocks)} blocks" if isinstance(blocks, list | tuple) else show(blocks)
        raise InputError(f"the start must be a list of {len(sizes)} blocks, as the problem has, got {got}")
    arrays = [
        check_start_array(block, size, f"block {i} of the start", problem.prototype)
        for i, (block, size) in enumerate(zip(blocks, sizes, strict=True))
    ]
    for i, array in enumerate(arrays):
        if not same_kind(array, arrays[0]):
            raise InputError(
                f"block 0 of the start is {describe_kind(arrays[0])} and block {i} is {describe_kind(array)}; "
                "give all in one dtype and library, on one device"
            )
    return layout.join([to_like(array, problem.prototype) if problem.structure_x else array for array in arrays])


def _make_y(problem: Problem, y0: Any, prototype: Array) -> Vector:
    sizes = problem.part_sizes
    if not sizes:
        y = _make_block(y0, problem.d_y, "y0", prototype, problem.structure_y)
        return zeros(problem.d_y, prototype) if y is None else y
    if y0 is not None and not hasattr(y0, "__iter__"):
        raise InputError(f"y0 must be a sequence of arrays, one per term, got {show(y0)}")
    given = [None] * len(sizes) if y0 is None else list(y0)
    if len(given) != len(sizes):
        raise InputError(f"y0 has {len(given)} arrays; give one per term, and this sum has {len(sizes)} terms")
    parts, structures = [], problem.part_structures or (None,) * len(sizes)
    for i, (value, size, structure) in enumerate(zip(given, sizes, structures, strict=True)):
        part = _make_block(value, size, f"term {i}: y0", prototype, structure)
        parts.append(zeros(size, prototype) if part is None else part)
    return Parts(parts, problem.part_weights)


def _make_block(value: Any, size: int, name: str, prototype: Array, structure: Structure | None) -> Array | None:
    """One block of a user's start, checked and flat; None if there is none."""
    if structure is None:
        return None if value is None else check_start_array(value, size, name, prototype)
    return to_like(structure.start.copy(), prototype) if value is None else structure.flatten(value, name, prototype)


def is_flat(start: Any) -> bool:
    """Whether a block of a user's start is one flat array of NumPy, or reads as one."""
    if is_array_api_obj(start):
        return isinstance(start, np.ndarray) and start.ndim == 1
    if isinstance(start, list | tuple):
        return not hasattr(start, "_fields") and all(isinstance(number, int | float | np.number) for number in start)
    return not isinstance(start, Mapping) and getattr(start, "ndim", 0) == 1


def check_start_array(value: Any, size: int, name: str, prototype: Array) -> Array:
    """A checked copy of one array of the user's start."""
    has_arrays = isinstance(value, list | tuple) and any(getattr(part, "ndim", 0) > 0 for part in value)
    if isinstance(value, Mapping) or has_arrays:
        kind = name_type(value) + (" of arrays" if has_arrays else "")
        raise InputError(
            f"{name} is {kind}; this problem needs one flat array of shape ({size},): "
            "minmin.problems.Function(..., x0=, y0=), from_jax and from_torch take nested arrays"
        )
    array = as_real(value, name, prototype)
    if array.shape != (size,):
        flatten = "; flatten it with reshape(-1)" if array.ndim != 1 and math.prod(array.shape) == size else ""
        raise InputError(f"{name} has shape {tuple(array.shape)}; this problem needs ({size},){flatten}")
    require_finite(array, name)
    return array_namespace(array).asarray(array, copy=True)
