"""Compares the values of f that a run has seen with what its constants prove of them."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.constants import Constants
from minmin.core.rounding import VALUE_PRECISION
from minmin.core.vectors import Vector, norm, square
from minmin.errors import GRADIENT_MAY_BE_WRONG, ConstantsError
from minmin.result import Record

_LOWER, _UPPER = 0.98, 1.02
"""Constants may be off by 1 %, as between two points of a run; a square doubles that."""


class SeenValue(NamedTuple):
    """A value of f, and the norms of the point where it was seen."""

    value: float = math.inf
    x_norm: float = 0.0
    y_norm: float = 0.0

    def size(self, constants: Constants) -> float:
        """The size of the terms that are summed in it, as far as L tells, or else mu."""
        c = constants
        L_x, L_y = (c.mu_x, c.mu_y) if math.isinf(c.L_x + c.L_y) else (c.L_x, c.L_y)
        return abs(self.value) + L_x * (self.x_norm * self.x_norm) + L_y * (self.y_norm * self.y_norm)


class SeenValues(NamedTuple):
    """The value at the start, the lowest value, and the highest proved lower bound on f."""

    start: SeenValue = SeenValue()
    lowest: SeenValue = SeenValue()
    lower_bound: float = -math.inf

    def add(self, value: float, x: Vector, y: Vector) -> SeenValues:
        """With one more value; the first is that of the start. NaN, for a function without values, changes nothing."""
        if not value < self.lowest.value:
            return self
        seen = SeenValue(value, norm(x), norm(y))
        return SeenValues(seen if math.isinf(self.start.value) else self.start, seen, self.lower_bound)

    def error(self, seen: SeenValue, constants: Constants) -> float:
        """How far a value may be off, in the lowest precision that f may have.

        Where terms cancel, as in log(eˣ + e⁻ˣ) - log 2 near 0, their size shows at the start alone.
        """
        return VALUE_PRECISION * (seen.size(constants) + self.start.size(constants))

    def prove(self, record: Record, constants: Constants) -> SeenValues:
        """With the lower bound that a record's bound proves by the constants; raise if a value is below it."""
        here, c = SeenValue(record.value, norm(record.x), norm(record.y)), constants
        lower_bound = max(self.lower_bound, here.value - record.gap_bound - self.error(here, c))
        if self.lowest.value + self.error(self.lowest, c) < lower_bound:
            _report(self.lowest.value, f", below {lower_bound:.10g}, a lower bound", c, "mu")
        return SeenValues(self.start, self.lowest, lower_bound)

    def check_start(self, record: Record, start: tuple[Vector, Vector], constants: Constants, *, smooth: bool) -> None:
        """Raise if f at the start does not fit to a record whose bound is proved by the constants.

        Let a be the start, b the record's point, g its bound, z* the minimiser, and |v|_μ² = μ_x|v_x|² + μ_y|v_y|². By
        Assumption 1.2 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, |b - z*|_μ² <= 2g and
        f(a) >= f* + |a - z*|_μ²/2, so f(a) >= f(b) - g + (|a - b|_μ - √(2g))²/2. In the same way Assumption 1.1 bounds
        f(a) from above, for an f without terms (``smooth``).
        """
        here, gap, c = SeenValue(record.value, norm(record.x), norm(record.y)), max(record.gap_bound, 0.0), constants
        value, error = self.start.value, self.error(self.start, c) + self.error(here, c)
        in_x, in_y = square(norm(record.x - start[0])), square(norm(record.y - start[1]))
        rise = max(math.sqrt(c.mu_x * in_x + c.mu_y * in_y) - math.sqrt(2.0 * gap), 0.0)
        least = here.value - gap + 0.5 * _LOWER * square(rise)
        if value + error < least:
            _report(value, f" at its start, below {least:.10g}, the least that it can be there", c, "mu")
        most_curved = max(L / mu if mu > 0.0 else math.inf for L, mu in ((c.L_x, c.mu_x), (c.L_y, c.mu_y)))
        rise = math.sqrt(c.L_x * in_x + c.L_y * in_y) + (math.sqrt(2.0 * gap * most_curved) if gap > 0.0 else 0.0)
        most = here.value + 0.5 * _UPPER * square(rise)
        if smooth and value - error > most:
            _report(value, f" at its start, above {most:.10g}, the most that it can be there", c, "L")


def _report(value: float, told: str, constants: Constants, kind: str) -> None:
    named = " and ".join(
        f"{constants.name(kind, bool(y))} = {getattr(constants, f'{kind}_{block}'):g}" for y, block in enumerate("xy")
    )
    raise ConstantsError(
        f"this run saw f = {value:.10g}{told} if {named} hold and the gradients belong to f; "
        f"a constant or {GRADIENT_MAY_BE_WRONG}"
    )
