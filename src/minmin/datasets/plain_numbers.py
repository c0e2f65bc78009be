"""What counts as a number in a text file."""

from __future__ import annotations

import math
import re

_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_LIKE = re.compile(r"[-−+$€£]?\s?[.,]?\d[\d.,'’_\s]*(e[-+]?\d+)?\s?[%$€£]?", re.IGNORECASE)


def parse_number(text: str, decimal: str = ".") -> float | None:
    """The number that a text is; None if it is not a finite number in ASCII digits, such as -1, .5 or 1.5e-3.

    Blanks and tabs around it do not matter. What separates thousands is no part of a number.
    """
    text = text.strip(" \t").translate({ord(decimal): ".", ord("."): decimal})
    number = float(text) if _PLAIN.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def looks_like_number(text: str) -> bool:
    """Whether a text is a number or seems meant as one: with marks of thousands, a unit, or unusual digits."""
    return _LIKE.fullmatch(text.strip()) is not None
