"""The methods that minimize() takes, by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from minmin.errors import InputError, near_names
from minmin.methods.bam import Bam
from minmin.methods.base import Answer, Method
from minmin.methods.nag import Nag
from minmin.oracle import Problem

_METHODS: dict[str, type[Method]] = {"bam": Bam, "nag": Nag}

__all__ = ["Answer", "Bam", "Method", "Nag", "build", "names"]


def names() -> list[str]:
    """The names that ``minimize(method=...)`` takes."""
    return ["auto", *_METHODS]


def build(name: object, problem: Problem, options: dict[str, Any], seed: int | None) -> tuple[Method, str]:
    """The method of that name with these options, checked against the problem, and why "auto" took it."""
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0):
        raise InputError(f"seed = {seed!r} must be a whole number >= 0")
    if name not in names():
        raise InputError(f"unknown method {name!r}: {near_names(name, names())}")
    why = ""
    if name == "auto":
        name, why = "bam", "auto took bam: the problem's constants are known"
        options = {"outer": "auto", **options}
    kind = _METHODS[str(name)]
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"method {name!r} has no option {option!r}: {near_names(option, known)}")
    method = kind(**options)
    method.check(problem)
    return method, why
