"""Names that a module does not define: old ones, with one warning for all, and those loaded when asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

_REMOVED_IN = "0.3"


def warn_renamed(old: str, new: str, *, stacklevel: int) -> None:
    """Warn that a name has changed; ``stacklevel`` counts from the caller, which is 1."""
    _warn_old(old, f"called {new}", stacklevel=stacklevel + 1)


def names_elsewhere(
    module: str,
    *,
    in_extend: Sequence[str] = (),
    renamed: Mapping[str, str] = {},
    lazy: Mapping[str, str] = {},
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, for names that it does not define.

    Parameters
    ----------
    module : str
        The module's ``__name__``.
    in_extend : sequence of str
        Names that were public here, and are now in ``minmin.extend``. They work, with a warning.
    renamed : dict
        Other former names, and where each is now, as "module:name". They work, with a warning.
    lazy : dict
        Names that are loaded when asked for, and where each is defined, as "module:name", or "module:" for a module.
    """
    old = {**{name: f"minmin.extend:{name}" for name in in_extend}, **renamed}

    def find(name: str) -> Any:
        if name not in old and name not in lazy:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = resolve_name(old[name] if name in old else lazy[name])
        if name in old:  # only now: what is loaded can change the filters of warnings, and so bring a warning back
            place, new = old[name].split(":")
            _warn_old(f"{module}.{name}", f"called {new}" if place == module else f"{place}.{new}", stacklevel=2)
        return found

    return find


def _warn_old(old: str, now: str, *, stacklevel: int) -> None:
    message = f"{old} is now {now}; the old name will be removed in minmin {_REMOVED_IN}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)
