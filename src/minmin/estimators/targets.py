"""What a target must be, said before scikit-learn says it in other words."""

from __future__ import annotations

from typing import Any

from minmin.errors import InputError, show


def refuse_text(y: Any) -> None:
    """Raise if the target of a regression begins with text; anything else is left to scikit-learn's checks."""
    if hasattr(y, "columns") or not hasattr(y, "__iter__"):
        return
    try:
        first = next(iter(y), None)
    except TypeError:  # an array without an axis
        return
    if isinstance(first, str):
        raise InputError(
            f"y holds text, such as {show(first)}, and this model predicts numbers; for classes use "
            "BlockLogisticRegression"
        )
