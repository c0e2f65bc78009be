"""How far f is above its minimum: bounds, the constants that prove them, and how large rounding errors are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from minmin.core.vectors import LEAST, Vector, norm
from minmin.errors import InputError, as_number

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


Basis = Literal["data", "constants", "estimate"]


class Bound(NamedTuple):
    """f(x, y) - f* is at most ``value`` if that is proved; otherwise ``value`` is an estimate of it.

    Attributes
    ----------
    value : float
        Infinite if nothing is known.
    floor : float
        What ``value`` would be if both gradients were as small as their rounding errors.
    basis : {"data", "constants", "estimate"}
        What the bound is based on. "data": the problem's data prove it. "constants": it is proved if the problem's
        constants hold. "estimate": it is estimated from what the run has seen, if f is convex, and not proved.
    """

    value: float
    floor: float = 0.0
    basis: Basis = "estimate"

    @property
    def is_proved(self) -> bool:
        """Whether the bound is finite and based on data or constants."""
        return self.basis != "estimate" and math.isfinite(self.value)

    def describe(self) -> str:
        """How far f is above the minimum, in words."""
        if math.isinf(self.value):
            return "how far above the minimum is not known"
        if self.is_proved:
            return f"at most {self.value:.3g} above the minimum (certified)"
        return f"about {self.value:.3g} above the minimum, if f is convex (estimated)"

    def lower(self, decrease: float) -> Bound:
        """The bound at a point where f is lower by this much."""
        return Bound(self.value - decrease, self.floor, self.basis)


UNKNOWN = Bound(math.inf)


def half_square_over(norm: float, curvature: float) -> float:
    """norm²/2m for the curvature m; zero if the norm is, and infinite if no curvature is known."""
    if norm == 0.0:
        return 0.0
    return max(norm * norm, LEAST) / (2.0 * curvature) if 0.0 < curvature < math.inf else math.inf


Source = Literal["given", "proved", "estimated", "adapted"]

_LEAST_MU_FRACTION = 0.99
"""Rounding never lowers mu below this fraction of it. Otherwise nothing of mu, and so no bound, would be left if κ is
above 1/(4·eps). The limit applies from κ = 10¹³ in double precision, and from 2·10⁴ in single."""


class Estimates(tuple[float, ...]):
    """Constants of several blocks that were estimated, so that a bound based on them is not certified."""


@dataclass(frozen=True)
class Constants:
    """Smoothness and strong convexity of f in each block.

    f is (L_x, L_y)-smooth and (mu_x, mu_y)-strongly convex in the joint sense of Assumptions 1.1 and 1.2 of Kovalev,
    Gasnikov and Malinovsky, arXiv:2212.14439: for every pair of points, with dx and dy their differences,
    ``mu_x/2 |dx|² + mu_y/2 |dy|² <= f(new) - f(old) - <∇f(old), new - old> <= L_x/2 |dx|² + L_y/2 |dy|²``.
    For the Hessian this means diag(mu_x, mu_y) ⪯ H ⪯ diag(L_x, L_y). If x and y interact, the eigenvalues
    of the two diagonal blocks are not enough. A rule that always works: if f is a convex g plus
    a_x/2 |x|² + a_y/2 |y|², take mu = a and L = 2·(Lipschitz constant of g's gradient in the block alone) + a.
    Where no rule helps, :func:`minmin.estimate_constants` estimates them at a point.

    Parameters
    ----------
    L_x, L_y : float
        Smoothness; ``inf`` if f is not smooth in the block.
    mu_x, mu_y : float
        Strong convexity; 0 if f is not strongly convex in the block.
    source : {"given", "proved", "estimated", "adapted"}
        Where they come from; a bound based on estimated or adapted constants is not certified. Adapted ones change
        during a run that fits them to what it sees, so it does not check them.
    blocks : tuple of str
        The user's names of the two blocks, for error messages; exchanged with the blocks.

    Attributes
    ----------
    at : pair of vectors or None
        The point (x, y) where estimates hold. It is no field, since fields are sent in messages: a client's y is not.
    L, mu : tuples of float, or None
        If f has several blocks, those of every block, in the user's order.
    """

    L_x: float
    L_y: float
    mu_x: float
    mu_y: float
    source: Source = "given"
    blocks: tuple[str, str] = field(default=("x", "y"), repr=False, compare=False)
    at: ClassVar[tuple[Any, Any] | None] = None
    L: ClassVar[tuple[float, ...] | None] = None
    mu: ClassVar[tuple[float, ...] | None] = None

    def __post_init__(self) -> None:
        for name in ("L_x", "L_y", "mu_x", "mu_y"):
            number = as_number(getattr(self, name), name)
            object.__setattr__(self, name, number)
            if math.isnan(number) or number < 0:
                raise InputError(f"{name} = {number} must not be negative or NaN")
        for block in "xy":
            L, mu = getattr(self, f"L_{block}"), getattr(self, f"mu_{block}")
            if mu > L:
                raise InputError(
                    f"mu_{block} = {mu:g} is above L_{block} = {L:g}; strong convexity never exceeds smoothness"
                )
            if L == 0 or math.isinf(mu):
                raise InputError(f"L_{block} = {L:g} and mu_{block} = {mu:g}: give 0 <= mu < inf and L > 0")
        if self.source not in ("given", "proved", "estimated", "adapted"):
            raise InputError(f"source must be given, proved, estimated or adapted, got {self.source!r}")

    @property
    def kappa_x(self) -> float:
        """Condition number of the x block."""
        return self.L_x / self.mu_x if self.mu_x > 0 else math.inf

    @property
    def kappa_y(self) -> float:
        """Condition number of the y block."""
        return self.L_y / self.mu_y if self.mu_y > 0 else math.inf

    def name(self, kind: str, in_y: bool) -> str:
        """A constant in the user's words: "L_x", "L_x of g" in a Split, or "L of block 0"."""
        block = self.blocks[in_y]
        return f"{kind}_{block}" if block[0] in "xy" else f"{kind} of {block}"

    def swapped(self) -> Constants:
        """The constants with the roles of x and y exchanged."""
        swapped = Constants(self.L_y, self.L_x, self.mu_y, self.mu_x, self.source, self.blocks[::-1])
        return swapped if self.at is None else swapped.estimated_at(*self.at[::-1])

    def with_blocks(self, L: tuple[float, ...], mu: tuple[float, ...]) -> Constants:
        """The same constants, which know those of every block, too."""
        twin, kind = replace(self), Estimates if self.source == "estimated" else tuple
        for name, value in {"at": self.at, "L": kind(L), "mu": kind(mu)}.items():
            object.__setattr__(twin, name, value)
        return twin

    def estimated_at(self, x: Any, y: Any) -> Constants:
        """The same constants, marked as estimates at this point."""
        marked = replace(self, source="estimated")
        object.__setattr__(marked, "at", (x, y))
        return marked

    def bound(self, norms: tuple[float, float], noise: tuple[float, float], eps: float) -> Bound:
        """A bound on f - f* by strong convexity, at a point with gradients of these norms and rounding errors.

        Minimising the lower bound of Assumption 1.2 over the second point gives
        f - f* <= |∇ₓf|²/(2 mu_x) + |∇ᵧf|²/(2 mu_y).
        """
        mu_x, mu_y = self.lower_mu(eps)
        value = half_square_over(norms[0] + noise[0], mu_x) + half_square_over(norms[1] + noise[1], mu_y)
        floor = half_square_over(noise[0], mu_x) + half_square_over(noise[1], mu_y)
        return self.to_bound(value, floor if mu_x > 0.0 and mu_y > 0.0 else 0.0)

    def to_bound(self, value: float, floor: float) -> Bound:
        """A bound that these constants prove, or that is an estimate, as they are."""
        if not math.isfinite(value):
            return UNKNOWN
        return Bound(value, floor, "estimate" if self.source in ("estimated", "adapted") else "constants")

    def lower_mu(self, eps: float) -> tuple[float, float]:
        """Both mu, lowered by eps·L, by which rounding of the data changes curvature."""
        mu_x, mu_y = self.mu_x, self.mu_y
        return (
            max(mu_x - rounding_error(eps, self.L_x), _LEAST_MU_FRACTION * mu_x),
            max(mu_y - rounding_error(eps, self.L_y), _LEAST_MU_FRACTION * mu_y),
        )

    def gradient_noise(self, rounding: RoundingScale, x_norm: float) -> tuple[float, float]:
        """The expected size of rounding errors in ∇ₓf and ∇ᵧf; zero if L_x or L_y is infinite."""
        if math.isinf(self.L_x) or math.isinf(self.L_y):
            return 0.0, 0.0
        in_x, in_y = rounding.term_sizes(self.L_x, self.L_y, x_norm)
        relative = rounding_error(rounding.eps, 1.0)
        return relative * in_x, relative * in_y
