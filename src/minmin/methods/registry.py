"""The methods by name: which there are, what each is, and a method from its name and options."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from minmin.core.problem import Problem
from minmin.deprecation import warn_renamed
from minmin.errors import InputError, as_count, as_number, near_names
from minmin.methods.alternating import Alternating
from minmin.methods.bam import Bam
from minmin.methods.base import Method
from minmin.methods.coordinate import Acdm, LinCoupling
from minmin.methods.cutting_plane import CuttingPlane
from minmin.methods.inexact_outer import InexactOuter
from minmin.methods.keywords import OF_MINIMIZE, Keywords
from minmin.methods.nag import Nag
from minmin.methods.needs import Feature, refuse_misfit
from minmin.methods.reduced_lbfgs import ReducedLbfgs
from minmin.methods.reduced_newton import ReducedNewton
from minmin.methods.sliding import Sliding, explain_sliding

_KINDS = (ReducedNewton, ReducedLbfgs, Bam, Nag, Acdm, LinCoupling, InexactOuter, Alternating, CuttingPlane, Sliding)
_METHODS: dict[str, type[Method]] = {kind.name: kind for kind in _KINDS}
_OTHERS = [kind() for kind in (ReducedLbfgs, ReducedNewton, *_KINDS[2:])]
"""What is recommended where a method does not work, the best one first."""
_RENAMED_OPTIONS = {"looseness": "inner_tolerance_ratio"}


def check_method(method: Method, problem: Problem) -> None:
    """Raise, before any work, if a method cannot minimise the problem, whose outer block is x."""
    refuse_misfit(method, problem, _OTHERS)
    method.check(problem)


def names() -> list[str]:
    """The names that ``minimize(method=...)`` takes."""
    return ["auto", *_METHODS]


def names_for(feature: Feature) -> tuple[str, ...]:
    """The names of the methods that take problems with this feature."""
    return tuple(name for name, kind in _METHODS.items() if feature in kind().takes)


def describe() -> dict[str, str]:
    """One line about each method."""
    lines = {name: (kind.__doc__ or "").splitlines()[0] for name, kind in _METHODS.items()}
    return {"auto": "Chooses the method that should need the fewest calls of the more expensive gradient.", **lines}


def build(
    method: object,
    problem: Problem,
    options: dict[str, Any],
    seed: int | None,
    keywords: Keywords = OF_MINIMIZE,
) -> tuple[Method, str]:
    """The method as an object, and why "auto" chose it (empty for another method).

    Parameters
    ----------
    method : Method or str
    problem : Problem
    options : dict
        Parameters of a method that is given by name.
    seed : int or None
        For methods that draw random numbers.
    keywords : Keywords
        Of the function that was called, to suggest where an option is unknown.
    """
    seed_number = 0 if seed is None else as_count(seed, "seed")
    if isinstance(method, Method):
        if not hasattr(method, "__dataclass_fields__"):
            raise InputError(f"{type(method).__name__} must be a dataclass of its parameters: @dataclass(frozen=True)")
        known = [field.name for field in fields(method)]  # type: ignore[arg-type]
        if options:
            first = next(iter(options))
            if first in known:
                raise InputError(f"{first!r} is an option of a method given by name; set it in {method!r} instead")
            raise InputError(f"{method!r} has no option {first!r}: {keywords.explain(first, known)}")
        if seed is not None and hasattr(method, "seed"):
            raise InputError(f"seed = {seed} is for a method given by name; set it in {method!r} instead")
        return method, ""
    if not isinstance(method, str) or method not in names():
        raise InputError(f"unknown method {method!r}: {near_names(method, names())}")
    name, why = method, ""
    if name == "auto":
        name, options, why = _choose(problem, options)
    kind = _METHODS[name]
    for old, new in _RENAMED_OPTIONS.items():
        if old in options and new in options:
            raise InputError(f"{old!r} is the former name of {new!r}; give {new!r} alone")
    options = {_rename(option): value for option, value in options.items()}
    parameters = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in parameters or option == "seed":  # the seed is an argument of its own
            raise InputError(f"method {name!r} has no option {option!r}: {keywords.explain(option, parameters)}")
    if "seed" in parameters:
        options = {**options, "seed": seed_number}
    return kind(**options), why


def _rename(option: str) -> str:
    if option not in _RENAMED_OPTIONS:
        return option
    new = _RENAMED_OPTIONS[option]
    warn_renamed(f"the option {option!r}", repr(new), stacklevel=5)
    return new


def _choose(problem: Problem, options: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """What "auto" chooses: a method on the reduced function of the more expensive block.

    reduced-newton if x is the more expensive block, no other option is given, and the problem has Hessian products and
    a bound that needs no constants. Otherwise reduced-lbfgs. A quadratic has no such bound; there a Hessian product
    costs as much as ∇ₓ, and reduced-lbfgs takes fewer of both together. For a Split with known constants it is sliding
    if g is clearly less smooth than f, and no option is given.
    """
    why_sliding = "" if options else explain_sliding(problem)
    if why_sliding:
        return Sliding.name, {}, f"auto took sliding, since {why_sliding}"
    ratio = as_number(options.get("cost_ratio", 1.0), "cost_ratio")
    if not 0.0 < ratio < math.inf:
        raise InputError(f"cost_ratio = {ratio} must be positive and finite: what ∇ₓf costs in units of ∇ᵧf")
    outer = "x" if ratio >= 1.0 else "y"
    given = {name: value for name, value in options.items() if name != "cost_ratio"}
    by = "" if "cost_ratio" in options else " by convention"
    why = f"in {outer}, the more expensive block{by}"
    if outer == "x" and not given and problem.is_second_order and problem.bounds_by_data:
        return ReducedNewton.name, {}, f"auto took reduced-newton {why}"
    return ReducedLbfgs.name, {"outer": outer, **given}, f"auto took reduced-lbfgs {why}"
