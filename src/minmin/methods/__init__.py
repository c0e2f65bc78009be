"""The methods that minimize() takes, by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from minmin.errors import InputError, as_count, near_names
from minmin.methods.acdm import Acdm
from minmin.methods.bam import Bam, BamState, XState, YState
from minmin.methods.base import Answer, Method
from minmin.methods.coordinate import CoordinateState, Pair
from minmin.methods.curvature import Pairs
from minmin.methods.inner.base import Offset
from minmin.methods.inner.curved import LbfgsMemory
from minmin.methods.inner.nag_ogmg import Nothing
from minmin.methods.lincoupling import LinCoupling
from minmin.methods.nag import Nag, NagState
from minmin.methods.ogmg import nag_ogm_g, ogm_g
from minmin.methods.watch import Seen
from minmin.oracle import Problem

_METHODS: dict[str, type[Method]] = {kind.name: kind for kind in (Bam, Nag, Acdm, LinCoupling)}

__all__ = ["Acdm", "Answer", "Bam", "LinCoupling", "Method", "Nag", "build", "nag_ogm_g", "names", "ogm_g"]


_KEYWORDS = ("tol", "target_value", "max_grad_x", "max_grad_y", "max_seconds", "callback", "progress", "seed")
"""What minimize() takes for every method, to suggest where an option is unknown."""


STATE_TYPES: tuple[type, ...] = (
    Answer,
    BamState,
    CoordinateState,
    LbfgsMemory,
    NagState,
    Nothing,
    Offset,
    Pair,
    Pairs,
    Seen,
    XState,
    YState,
)
"""What the states of all methods are made of."""


def names() -> list[str]:
    """The names that ``minimize(method=...)`` takes."""
    return ["auto", *_METHODS]


def build(name: object, problem: Problem, options: dict[str, Any], seed: int | None) -> tuple[Method, str]:
    """The method of that name with these options, checked against the problem, and why "auto" took it."""
    draws = 0 if seed is None else as_count(seed, "seed")
    if not isinstance(name, str) or name not in names():
        raise InputError(f"unknown method {name!r}: {near_names(name, names())}")
    asked = name
    if name == "auto":
        name, options = "bam", {"outer": "auto", **options}
    kind = _METHODS[str(name)]
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"method {name!r} has no option {option!r}: {near_names(option, [*known, *_KEYWORDS])}")
    if "seed" in known:
        options = {**options, "seed": draws}
    method = kind(**options)
    method.check(problem)
    if asked == "auto" and isinstance(method, Bam):
        return method, f"auto took bam with outer={method.outer_block(problem)!r}"
    return method, ""
