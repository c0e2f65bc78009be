"""The expected size of rounding errors, defined in this one place."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from minmin.core.vectors import Vector, norm

_ERROR_FACTOR = 4.0
"""The expected error of a sum is this times eps times the size of its terms, which is |a||b| for a product a·b.
Measured: docs/benchmarks/tuning.md."""


VALUE_PRECISION = 1e-5
"""Values of f may be computed in single precision, whatever the dtype of x and y: they may be off by this times |f| +
L|z|². Measured: docs/benchmarks/tuning.md."""


SINGLE_EPS = float(np.finfo(np.float32).eps)
_COARSE = 1e-13
"""Numbers on a grid of decimals that is wider than this, relative to them, were rounded to it."""


class Grid(NamedTuple):
    """Numbers that all lie on one grid: they may be rounded, although their type does not say so.

    Attributes
    ----------
    single : bool
        Whether single precision holds all of them. A number of double precision has a chance of 2⁻²⁹.
    step : float
        The largest power of ten of which all, as Python prints them, are multiples.
    """

    single: bool = True
    step: float = math.inf

    def add(self, number: float) -> Grid:
        """The grid of one more number. Zero, and what is not finite, says nothing."""
        if number == 0.0 or not math.isfinite(number):
            return self
        decimals = Decimal(repr(float(number))).as_tuple().exponent
        return Grid(self.single and float(np.float32(number)) == number, min(self.step, 10.0 ** int(decimals)))

    def error(self, number: float, size: float, eps: float) -> float:
        """The expected error of a number on this grid: a sum of terms of this size, computed with this precision.

        A weighted sum of rounded numbers may have a step of a tenth of theirs.
        """
        rounded = 10.0 * self.step if _COARSE * abs(number) < self.step < math.inf else 0.0
        return max(rounding_error(max(eps, SINGLE_EPS) if self.single else eps, size), rounded)


def rounding_error(eps: float, size: float) -> float:
    """The expected error of a sum whose terms have this size."""
    return _ERROR_FACTOR * eps * size


def is_clearly_negative(product: float, size: float, eps: float) -> bool:
    """Whether a product that convexity makes positive is negative by more than rounding errors explain.

    ``size`` is the distance between two points times the largest gradient of the run: gradients may be sums of terms
    that large. Of changes below √eps of that, less than half of the digits are right.
    """
    return product < -math.sqrt(eps) * size


def is_same_point(old: Vector, new: Vector, eps: float) -> bool:
    """Whether two points differ only by rounding."""
    return norm(new - old) <= rounding_error(eps, norm(old))


class RoundingScale(NamedTuple):
    """What determines the rounding errors in an evaluation's gradients.

    Attributes
    ----------
    eps : float
        The precision in which the gradients were computed.
    y_norm : float
        |y|.
    fixed_terms : float
        The size of the terms in the gradients that do not depend on x and y; see :meth:`Constants.gradient_noise`.
    value_eps : float
        The precision in which f was computed, where that is lower.
    difference_terms : float
        What else is like fixed terms in ∇ᵧf alone, if it is a difference of values.
    """

    eps: float
    y_norm: float
    fixed_terms: float = 0.0
    value_eps: float = 0.0
    difference_terms: float = 0.0

    def term_sizes(self, L_x: float, L_y: float, x_norm: float) -> tuple[float, float]:
        """The size of the terms that are summed in ∇ₓf and ∇ᵧf, if H ⪯ diag(L_x, L_y).

        That bounds those in ∇ₓf by √L_x (√L_x |x| + √L_y |y|); terms that do not depend on x and y add √L_x times
        ``fixed_terms``.
        """
        root_x, root_y = math.sqrt(L_x), math.sqrt(L_y)
        size = root_x * x_norm + root_y * self.y_norm + self.fixed_terms
        return root_x * size, root_y * (size + self.difference_terms)
