"""Old names that still work: one warning for all, with the release that removes them."""

from __future__ import annotations

import warnings

_REMOVED_IN = "0.3"


def warn_renamed(old: str, new: str, *, stacklevel: int) -> None:
    """Warn that a name has changed; ``stacklevel`` counts from the caller, which is 1."""
    message = f"{old} is now called {new}; the old name will be removed in minmin {_REMOVED_IN}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)
