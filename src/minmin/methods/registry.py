"""The methods by name: which there are, what each is, and a method from its name and options."""

from __future__ import annotations

from dataclasses import fields
from pkgutil import resolve_name
from typing import Any

from minmin.core.problem import Problem
from minmin.deprecation import warn_renamed
from minmin.errors import InputError, as_count, as_positive, near_names
from minmin.methods.base import Method
from minmin.methods.keywords import OF_MINIMIZE, Keywords
from minmin.methods.needs import Feature, fits, refuse_misfit
from minmin.methods.sliding import explain_sliding

METHODS = {
    "reduced-newton": "minmin.methods.reduced_newton:ReducedNewton",
    "reduced-lbfgs": "minmin.methods.reduced_lbfgs:ReducedLbfgs",
    "bam": "minmin.methods.bam:Bam",
    "nag": "minmin.lab.nag:Nag",
    "acdm": "minmin.lab.coordinate:Acdm",
    "lincoupling": "minmin.lab.coordinate:LinCoupling",
    "inexact-outer": "minmin.lab.inexact_outer:InexactOuter",
    "alternating": "minmin.lab.alternating:Alternating",
    "cutting-plane": "minmin.methods.cutting_plane:CuttingPlane",
    "sliding": "minmin.methods.sliding:Sliding",
}
"""Where every method is. Those of the lab are loaded when they are asked for."""
_RECOMMENDED = "reduced-lbfgs"
"""What is recommended where another method does not work, if it does."""
_RENAMED_OPTIONS = {"looseness": "inner_tolerance_ratio"}


def find_kind(name: str) -> type[Method]:
    """The class of the method with this name."""
    kind: type[Method] = resolve_name(METHODS[name])
    return kind


def check_method(method: Method, problem: Problem) -> None:
    """Raise, before any work, if a method cannot minimise the problem, whose outer block is x."""
    refuse_misfit(method, problem, lambda: [find_kind(name)() for name in sorted(METHODS, key=_RECOMMENDED.__ne__)])
    method.check(problem)


def names() -> list[str]:
    """The names that ``minimize(method=...)`` takes."""
    return ["auto", *METHODS]


def names_for(feature: Feature) -> tuple[str, ...]:
    """The names of the methods that take problems with this feature."""
    return tuple(name for name in METHODS if feature in find_kind(name)().takes)


def describe() -> dict[str, str]:
    """One line about each method."""
    lines = {name: (find_kind(name).__doc__ or "").splitlines()[0] for name in METHODS}
    return {"auto": "Chooses the method that should need the fewest calls of the more expensive gradient.", **lines}


def build(
    method: object, problem: Problem, options: dict[str, Any], seed: int | None, keywords: Keywords = OF_MINIMIZE
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
        if not hasattr(method, "name"):
            raise InputError(f"{type(method).__name__} has no name; give it one: name: ClassVar[str] = '...'")
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
    kind = find_kind(name)
    for old, new in _RENAMED_OPTIONS.items():
        if old in options and new in options:
            raise InputError(f"{old!r} is the former name of {new!r}; give {new!r} alone")
        if old in options:
            warn_renamed(f"the option {old!r}", repr(new), stacklevel=3)
            options = {new if option == old else option: value for option, value in options.items()}
    parameters = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for option in options:
        if option not in parameters or option == "seed":  # the seed is an argument of its own
            raise InputError(f"method {name!r} has no option {option!r}: {keywords.explain(option, parameters)}")
    if "seed" in parameters:
        options = {**options, "seed": seed_number}
    return kind(**options), why


def _choose(problem: Problem, options: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """What "auto" chooses: a method on the reduced function of the more expensive block.

    reduced-newton if x is the more expensive block, no other option is given, and the problem has Hessian products
    and a bound that needs no constants, with terms, too, if it takes them. Otherwise reduced-lbfgs. A quadratic has
    no such bound; there a Hessian product costs as much as ∇ₓ, and reduced-lbfgs takes fewer of both together. For
    a Split with known constants it is sliding if g is clearly less smooth than f, and no option is given.
    """
    why_sliding = "" if options else explain_sliding(problem)
    if why_sliding:
        return "sliding", {}, f"auto took sliding, since {why_sliding}"
    ratio = as_positive(options.get("cost_ratio", 1.0), "cost_ratio", ": what ∇ₓf costs in units of ∇ᵧf")
    outer = "x" if ratio >= 1.0 else "y"
    given = {name: value for name, value in options.items() if name != "cost_ratio"}
    by = "" if "cost_ratio" in options else " by convention"
    why = f"in {outer}, the more expensive block{by}"
    can = problem.is_second_order and problem.without_terms().bounds_by_data
    if outer == "x" and not given and can and (not problem.has_terms or fits(find_kind("reduced-newton")(), problem)):
        return "reduced-newton", {}, f"auto took reduced-newton {why}"
    return "reduced-lbfgs", {"outer": outer, **given}, f"auto took reduced-lbfgs {why}"
