"""The four constants of a two-block problem, and what the paper derives from them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from minmin.errors import InputError, as_number

Source = Literal["given", "proved", "estimated"]


@dataclass(frozen=True)
class Constants:
    """Smoothness and strong convexity of f, block by block.

    f is (L_x, L_y)-smooth and (mu_x, mu_y)-strongly convex in the paper's joint sense (Assumptions
    1.1 and 1.2): for every pair of points, with dx and dy their differences,
    ``mu_x/2 |dx|² + mu_y/2 |dy|² <= f(new) - f(old) - <∇f(old), new - old> <= L_x/2 |dx|² + L_y/2 |dy|²``.
    For the Hessian this means diag(mu_x, mu_y) ⪯ H ⪯ diag(L_x, L_y). Where x and y interact, the eigenvalues
    of the two diagonal blocks are *not* enough. A recipe that always holds: where f is a convex g plus
    a_x/2 |x|² + a_y/2 |y|², take mu = a and L = 2·(Lipschitz constant of g's gradient in the block alone) + a.

    Parameters
    ----------
    L_x, L_y : float
        Smoothness; ``inf`` where there is none.
    mu_x, mu_y : float
        Strong convexity; 0 where there is none.
    source : {"given", "proved", "estimated"}
        Who vouches for them; a bound that rests on estimated constants is not certified.
    blocks : tuple of str
        What the user calls the two blocks; exchanged where a method exchanges their roles.
    """

    L_x: float
    L_y: float
    mu_x: float
    mu_y: float
    source: Source = "given"
    blocks: tuple[str, str] = field(default=("x", "y"), repr=False, compare=False)

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
        if self.source not in ("given", "proved", "estimated"):
            raise InputError(f"source must be given, proved or estimated, got {self.source!r}")

    @property
    def kappa_x(self) -> float:
        """Condition number of the x block."""
        return self.L_x / self.mu_x if self.mu_x > 0 else math.inf

    @property
    def kappa_y(self) -> float:
        """Condition number of the y block."""
        return self.L_y / self.mu_y if self.mu_y > 0 else math.inf

    def swapped(self) -> Constants:
        """The constants with the roles of x and y exchanged."""
        return Constants(self.L_y, self.L_x, self.mu_y, self.mu_x, self.source, self.blocks[::-1])

    def gap_bound(self, grad_x_norm: float, grad_y_norm: float, eps: float) -> float:
        """f - f* at a point with gradients of these norms, by strong convexity.

        Minimising the lower bound of Assumption 1.2 over the second point gives
        f - f* <= |∇ₓf|²/(2 mu_x) + |∇ᵧf|²/(2 mu_y). Stored in floating point, f has curvature that is off by
        about eps·L, so each mu is lowered by 4·eps·L, though never by more than a hundredth.
        """
        in_x = _half_square_over(grad_x_norm, self.mu_x, 4.0 * eps * self.L_x)
        return in_x + _half_square_over(grad_y_norm, self.mu_y, 4.0 * eps * self.L_y)

    def gradient_rounding(self, eps: float, x_norm: float, y_norm: float, other_terms: float) -> tuple[float, float]:
        """How large rounding errors in ∇ₓf and ∇ᵧf are expected to be at a point of these norms.

        H ⪯ diag(L_x, L_y) bounds the terms that are summed in ∇ₓf by √L_x (√L_x |x| + √L_y |y|); terms that do not
        depend on x and y add √L_x times ``other_terms``. Without finite constants there is no such scale, and
        the answer is zero.
        """
        if math.isinf(self.L_x) or math.isinf(self.L_y):
            return 0.0, 0.0
        root_x, root_y = math.sqrt(self.L_x), math.sqrt(self.L_y)
        scale = 4.0 * eps * (root_x * x_norm + root_y * y_norm + other_terms)
        return root_x * scale, root_y * scale


def _half_square_over(norm: float, mu: float, rounding: float) -> float:
    if norm == 0.0:
        return 0.0
    return norm * norm / (2.0 * max(mu - rounding, 0.99 * mu)) if mu > 0 else math.inf


class BlockParameters(NamedTuple):
    """Theorem 2.2's parameters of BAM.

    Attributes
    ----------
    alpha, eta_x, eta_y : float
        α = √(μ_x/L_x), η_x = 1/√(μ_x L_x), η_y = α/μ_y.
    lam : float
        λ = η_y α: the inner problem's proximal term is |y - y_under|²/(2λ).
    constants : Constants
        What they were derived from.
    """

    alpha: float
    eta_x: float
    eta_y: float
    lam: float
    constants: Constants


@functools.cache
def block_parameters(constants: Constants) -> BlockParameters:
    """Theorem 2.2's parameters for these constants, which must be positive and finite."""
    alpha = math.sqrt(constants.mu_x / constants.L_x)
    eta_y = alpha / constants.mu_y
    return BlockParameters(
        alpha=alpha,
        eta_x=1.0 / math.sqrt(constants.mu_x * constants.L_x),
        eta_y=eta_y,
        lam=eta_y * alpha,
        constants=constants,
    )


class Metric(NamedTuple):
    """The constants in the inner product <x, x'> + w·<y, y'>.

    Attributes
    ----------
    weight_y : float
        w; the gradient in y, in this inner product, is ∇ᵧf/w.
    L_x, L_y : float
        Smoothness of the blocks: that of y is divided by w.
    mu : float
        Strong convexity of f as a whole.
    """

    weight_y: float
    L_x: float
    L_y: float
    mu: float

    @property
    def smoothness(self) -> float:
        """L of f as a whole."""
        return max(self.L_x, self.L_y)

    @property
    def root_sum(self) -> float:
        """S = √L_x + √L_y."""
        return math.sqrt(self.L_x) + math.sqrt(self.L_y)


@functools.cache
def metric(constants: Constants, rescale: bool) -> Metric:
    """The plain inner product, or that of the paper's block rescaling y' = √(μ_y/μ_x)·y, which has w = μ_y/μ_x."""
    weight = constants.mu_y / constants.mu_x if rescale else 1.0
    return Metric(weight, constants.L_x, constants.L_y / weight, min(constants.mu_x, constants.mu_y / weight))
