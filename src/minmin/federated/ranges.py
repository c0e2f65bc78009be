"""The ranges of the numbers that clients send: a server computes with no others."""

from __future__ import annotations

import math

from minmin.federated.protocol import IN_Y, Message

_LARGE = 1e100
"""Numbers up to this may be multiplied, divided and squared, and the results are finite."""
_FINITE = math.nextafter(math.inf, 0.0)
_MOST_VARIABLES = 10**9
"""8 GB in double precision, so more would not fit into most servers."""

WEIGHTS = 1.0 / _LARGE, _LARGE
_RANGES: dict[str, tuple[float, ...]] = {
    # in a Description
    **dict.fromkeys(("d_x", "d_y"), (1, _MOST_VARIABLES)),
    "weight": WEIGHTS,
    # in its constants
    **dict.fromkeys(("L_x", "L_y"), (*WEIGHTS, math.inf)),
    **dict.fromkeys(("mu_x", "mu_y"), (*WEIGHTS, 0.0)),
    # in a Description, of its term in y
    "convexity": (0.0, _LARGE),
    # in a Reply
    **dict.fromkeys(("grad_y_square", "y_square"), (0.0, _FINITE)),
    "fixed_terms": (0.0, _LARGE),
    "eps": (0.0, 1.0),
    "calls": (0, 10**12),
    "seconds": (0.0, 1e9),
    # in a Reply, of a term in y
    **dict.fromkeys(IN_Y, (0.0, _FINITE, math.inf)),
    "term": (-_FINITE, _FINITE),
}
"""By the name of a field: the least number, the largest, and perhaps one more. A metric may
be any number. The session checks what else depends on the request: f, and the numbers in a task's memory."""


def find_number_outside(message: Message) -> str | None:
    """The first number of a message that is out of its range, as the end of a sentence that begins with "client 3"."""
    constants = getattr(message, "constants", None)
    content = vars(message) | ({} if constants is None else vars(constants))
    content |= getattr(message, "term_y", {}) | getattr(message, "in_y", {})
    for name, (low, high, *others) in _RANGES.items():
        value = content.get(name)
        for number in value.values() if isinstance(value, dict) else [value]:
            if number is not None and not (low <= number <= high or number in others):
                allowed = " or ".join([f"from {low:g} to {high:g}", *(f"{other:g}" for other in others)])
                return f"sent {name} = {number:g}, which must be {allowed if math.isfinite(number) else 'finite'}"
    return None
