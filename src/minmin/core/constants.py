"""The four constants of a two-block problem, and the bound that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from minmin.core.bound import UNKNOWN, Bound, half_square_over
from minmin.core.rounding import RoundingScale, rounding_error
from minmin.errors import InputError, as_number

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
