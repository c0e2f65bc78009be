"""The errors that users can get. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

GRADIENT_MAY_BE_WRONG = "a gradient may be wrong: check the gradients with minmin.check(problem)"
"""The end of a message about a run that a wrong gradient may have ended."""


DATA_LOST = "rows on the cluster were lost: "
"""The start of the message of a run that a :class:`DataLostError` has ended."""


class MinMinError(Exception):
    """Base of every error that a user of minmin can cause.

    Attributes
    ----------
    result : minmin.Result or None
        If the error ended a run: the last finite result of that run.
    """

    result: Any = None


class InputError(MinMinError, ValueError):
    """An argument is wrong in itself: a shape, a dtype, a range, a name."""


class UnsupportedError(InputError):
    """A method needs something that the problem does not have, or two options exclude each other."""


class NonFiniteError(MinMinError, ArithmeticError):
    """f or a gradient was NaN or infinite during a run."""


class ConstantsError(MinMinError, ArithmeticError):
    """A run has seen that a stated constant of the problem is wrong."""


class NoMinimumError(MinMinError, ArithmeticError):
    """f has no minimum: along some direction it keeps falling."""


class DataLostError(MinMinError):
    """Rows on a cluster are gone, and cannot be computed again."""


class CheckpointError(MinMinError, ValueError):
    """A checkpoint cannot be read, cannot be written, or belongs to another run."""


class UserCodeError(MinMinError):
    """A user's callable raised an exception, which is the ``__cause__`` of this one."""


class SolverError(MinMinError, ArithmeticError):
    """The solver of semidefinite programs did not reach its accuracy."""


def show(value: Any) -> str:
    """A user's value in a message; NumPy's numbers and text look like Python's."""
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    return repr(value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value)


def shorten(text: str, longest: int = 60) -> str:
    """The text, or its beginning if it is longer than this."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def name_type(value: Any) -> str:
    """The name of a value's type, with its article: "a dict", "an Adam", "an ndarray"."""
    name = type(value).__name__
    return f"{'an' if name.startswith((*'AEIOUaeiou', 'nd')) else 'a'} {name}"


def as_number(value: Any, name: str) -> float:
    """A number that a user gave; text, booleans and arrays are errors."""
    if isinstance(value, str | bytes | bool) or getattr(value, "ndim", 0) != 0:
        raise InputError(f"{name} must be a number, got {show(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {show(value)}") from None


def as_positive(value: Any, name: str, why: str = "") -> float:
    """A positive and finite number that a user gave; ``why`` ends the message of the error for any other."""
    number = as_number(value, name)
    if not 0.0 < number < math.inf:
        raise InputError(f"{name} = {show(value)} must be positive and finite{why}")
    return number


def require_values(value: Any, name: str) -> None:
    """Raise for a user's array that looks like numbers, but holds none at some or all places."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(
            f"{name} is a masked array with masked entries; fill them, as by numpy.ma.filled, or leave them out"
        )
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(value, polars.LazyFrame):
        raise InputError(f"{name} is a LazyFrame of polars, which holds no values yet; give {name}.collect()")


def as_count(value: Any, name: str) -> int:
    """A whole number >= 0 that a user gave; anything else is an error."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool) and getattr(value, "ndim", 0) == 0
    if not whole or int(value) < 0:
        raise InputError(f"{name} = {show(value)} must be a whole number >= 0")
    return int(value)


def near_names(name: object, known: Iterable[str]) -> str:
    """A hint for an error message: the known names that are similar to an unknown one."""
    choices = sorted(known)
    lowered = {choice.lower(): choice for choice in choices}
    near = [lowered[n] for n in difflib.get_close_matches(str(name).lower(), lowered, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    listed = choices if len(choices) <= 20 else [*choices[:20], f"and {len(choices) - 20} more"]
    return f"{hint}Known: {', '.join(listed) if listed else 'none'}."


def needs_extra(what: str, package: str, extra: str) -> str:
    """An error message that says how to install a missing package. Double quotes work in every shell."""
    return f'{what} needs {package}; in the clone of minmin: pip install ".[{extra}]"'


def import_extra(module: str, what: str, package: str, extra: str) -> Any:
    """A module of a package that may be missing; the error says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnsupportedError(needs_extra(what, package, extra)) from error
