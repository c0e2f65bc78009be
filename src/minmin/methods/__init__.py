"""The methods that minimize() takes, by name."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from minmin.errors import InputError, as_count, as_number, near_names
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
from minmin.methods.reconstruct import YMemory
from minmin.methods.reduced_lbfgs import ReducedLbfgs, ReducedState
from minmin.methods.reduced_newton import NewtonState, ReducedNewton
from minmin.methods.watch import Seen
from minmin.oracle import Ability, Problem

_METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (ReducedNewton, ReducedLbfgs, Bam, Nag, Acdm, LinCoupling)
}

__all__ = [
    "Acdm",
    "Answer",
    "Bam",
    "LinCoupling",
    "Method",
    "Nag",
    "ReducedLbfgs",
    "ReducedNewton",
    "build",
    "described",
    "nag_ogm_g",
    "names",
    "ogm_g",
]


_KEYWORDS = (
    "tol",
    "target_value",
    "max_grad_x",
    "max_grad_y",
    "max_seconds",
    "callback",
    "progress",
    "seed",
    "checkpoint",
)
"""What minimize() takes for every method, to suggest where an option is unknown."""


STATE_TYPES: tuple[type, ...] = (
    Answer,
    BamState,
    CoordinateState,
    LbfgsMemory,
    NagState,
    NewtonState,
    Nothing,
    Offset,
    Pair,
    Pairs,
    ReducedState,
    Seen,
    XState,
    YMemory,
    YState,
)
"""What the states of all methods are made of."""


def names() -> list[str]:
    """The names that ``minimize(method=...)`` takes."""
    return ["auto", *_METHODS]


def described() -> dict[str, str]:
    """A line on each of them."""
    lines = {name: (kind.__doc__ or "").splitlines()[0] for name, kind in _METHODS.items()}
    return {"auto": "What is expected to ask for the dearer gradient the fewest times.", **lines}


def build(name: object, problem: Problem, options: dict[str, Any], seed: int | None) -> tuple[Method, str]:
    """The method of that name with these options, checked against the problem, and why "auto" took it."""
    draws = 0 if seed is None else as_count(seed, "seed")
    if not isinstance(name, str) or name not in names():
        raise InputError(f"unknown method {name!r}: {near_names(name, names())}")
    why = ""
    if name == "auto":
        name, options, why = _chosen(problem, options)
    kind = _METHODS[str(name)]
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"method {name!r} has no option {option!r}: {near_names(option, [*known, *_KEYWORDS])}")
    if "seed" in known:
        options = {**options, "seed": draws}
    method = kind(**options)
    method.check(problem)
    return method, why


def _chosen(problem: Problem, options: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """What "auto" takes: a method on the reduced function of the dearer block.

    Newton's where x is dear and the problem has Hessian products and a bound that needs no constants; else
    quasi-Newton with BAM as its guard, also where an option asks for what only that has. On a quadratic, where a
    product costs what ∇ₓ costs, quasi-Newton takes fewer of both together.
    """
    ratio = as_number(options.get("cost_ratio", 1.0), "cost_ratio")
    if not 0.0 < ratio < math.inf:
        raise InputError(f"cost_ratio = {ratio} must be positive and finite: what ∇ₓf costs in units of ∇ᵧf")
    outer = "x" if ratio >= 1.0 else "y"
    given = {name: value for name, value in options.items() if name != "cost_ratio"}
    whose_word = "" if "cost_ratio" in options else " by convention"
    if outer == "x" and not given and Ability.HESS_PRODUCT | Ability.GAP in problem.abilities:
        return ReducedNewton.name, {}, f"auto took reduced-newton in x, the dearer block{whose_word}"
    return (
        ReducedLbfgs.name,
        {"outer": outer, **given},
        f"auto took reduced-lbfgs in {outer}, the dearer block{whose_word}",
    )
