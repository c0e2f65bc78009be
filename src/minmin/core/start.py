"""The start of a run: what the user gave, checked, and zeros for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from array_api_compat import array_namespace

from minmin.core.arrays import Array, as_real, describe_kind, require_finite, same_kind, zeros
from minmin.core.orientation import Swapped
from minmin.core.problem import Problem
from minmin.core.vectors import Parts, Vector, first_array, parts_of
from minmin.errors import InputError, show


def make_start(problem: Problem, x0: Any = None, y0: Any = None) -> tuple[Vector, Vector]:
    """Check a user's start, complete it with zeros, and move it to where the problem's terms are finite: a copy."""
    return problem.project_start(*_check_start(problem, x0, y0))


def explain_moved_start(problem: Problem, x0: Any, y0: Any) -> str:
    """Which block of a user's start is not allowed by its term and so was moved; empty if none is."""
    if not problem.has_terms:
        return ""
    x, y = _check_start(problem, x0, y0)
    triples = ("x0", x0, problem.term_x, x), ("y0", y0, problem.term_y, y)
    moved = [
        name for name, given, term, v in triples if given is not None and term is not None and math.isinf(term.value(v))
    ]
    if not moved:
        return ""
    return f"{' and '.join(moved)} did not meet the constraints; the run started at the nearest point that does"


def _check_start(problem: Problem, x0: Any, y0: Any) -> tuple[Vector, Vector]:
    """A checked copy of a user's start, completed with zeros."""
    if isinstance(problem, Swapped):
        y, x = _check_start(problem.original, y0, x0)
        return x, y
    prototype = problem.prototype
    x = None if x0 is None else check_start_array(x0, problem.d_x, "x0", prototype)
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


def _make_y(problem: Problem, y0: Any, prototype: Array) -> Vector:
    if not problem.part_sizes:
        return zeros(problem.d_y, prototype) if y0 is None else check_start_array(y0, problem.d_y, "y0", prototype)
    sizes = problem.part_sizes
    if y0 is not None and not hasattr(y0, "__iter__"):
        raise InputError(f"y0 must be a sequence of arrays, one per term, got {show(y0)}")
    given = [None] * len(sizes) if y0 is None else list(y0)
    if len(given) != len(sizes):
        raise InputError(f"y0 has {len(given)} arrays; give one per term, and this sum has {len(sizes)} terms")
    parts = [
        zeros(size, prototype) if value is None else check_start_array(value, size, f"term {i}: y0", prototype)
        for i, (value, size) in enumerate(zip(given, sizes, strict=True))
    ]
    return Parts(parts, problem.part_weights)


def count_variables(value: Any, name: str) -> int:
    """The number of variables in one array of a user's start, for a problem that does not know it."""
    _require_one_array(value, name, "")
    return math.prod(as_real(value, name).shape)


def _has_arrays(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(getattr(part, "ndim", 0) > 0 for part in value)


def check_start_array(value: Any, size: int, name: str, prototype: Array) -> Array:
    """A checked copy of one array of the user's start."""
    _require_one_array(value, name, f" of shape ({size},)")
    array = as_real(value, name, prototype)
    if array.shape != (size,):
        flatten = "; flatten it with reshape(-1)" if array.ndim != 1 and math.prod(array.shape) == size else ""
        raise InputError(f"{name} has shape {tuple(array.shape)}; this problem needs ({size},){flatten}")
    require_finite(array, name)
    return array_namespace(array).asarray(array, copy=True)


def _require_one_array(value: Any, name: str, shape: str) -> None:
    if isinstance(value, Mapping) or _has_arrays(value):
        kind = type(value).__name__ + ("" if isinstance(value, Mapping) else " of arrays")
        raise InputError(
            f"{name} is a {kind}; it must be one flat array{shape}: "
            "minmin.federated.Layout makes one of a model of named arrays"
        )
