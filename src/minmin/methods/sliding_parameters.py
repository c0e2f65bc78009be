"""What sliding derives from the constants of f and g: the space of z = (x, y), and its parameters."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Constants, rounding_error
from minmin.core.evaluation import Evaluation
from minmin.core.term import Term
from minmin.core.vectors import Parts, norm
from minmin.terms.parts import weigh_terms

_ACCURACY = 0.2
"""σ. The calls of ∇f grow like 1/√(1 - σ²), and inner solves take more of ∇g if it is small.
Measured: docs/benchmarks/tuning.md."""


class SlidingParameters(NamedTuple):
    """The parameters of sliding. f̃ is f without its strong convexity, which g̃ has in addition to that of g.

    Attributes
    ----------
    mu : pair of float
        μ_x and μ_y of f + g. They are the weights of the blocks in the inner product on z, in which μ is 1.
    shift : pair of float
        μ_x and μ_y of f: f̃ = f - shift_x/2 |x|² - shift_y/2 |y|², and g̃ = g + the same.
    smoothness : float
        L of f̃, at least 1.
    alpha, lam : float
        λ = (1 - σ²)/L, and α with α² = λ(1 - α).
    constants : Constants
        1 and L of g̃, as those of a block y that is all of z. They are marked as adapted, so that inner solves do not
        check them: no message could tell which constant of f or g is wrong.
    of_f, of_g : Constants
        Those that they were derived from.
    accuracy : float
        σ.
    """

    mu: tuple[float, float]
    shift: tuple[float, float]
    smoothness: float
    alpha: float
    lam: float
    constants: Constants
    of_f: Constants
    of_g: Constants
    accuracy: float = _ACCURACY

    def extrapolate(self, point: Parts, bar: Parts) -> Parts:
        """z_under = αz + (1-α)z̄."""
        return self.alpha * point + (1.0 - self.alpha) * bar

    def y_half(self, before: tuple[Parts, Parts], z_bar: Parts, gradient: Parts) -> tuple[Parts, Parts]:
        """z⁺ = (1-α)z + αz̄⁺ - (1-α)(λ/α)v, and z̄⁺; ``before`` holds z and z̄."""
        rest = 1.0 - self.alpha
        return rest * before[0] + self.alpha * z_bar - (rest * self.lam / self.alpha) * gradient, z_bar

    def join(self, x: Array, y: Array) -> Parts:
        """z = (x, y)."""
        return Parts((x, y), self.mu)

    def split(self, gradient: Parts) -> list[Array]:
        """Both blocks of a gradient in the space of z as gradients in x and in y."""
        return [mu * part for mu, part in zip(self.mu, gradient, strict=True)]

    def join_terms(self, term_x: Term | None, term_y: Term | None) -> Term | None:
        """A term in x and a term in y as a term in z."""
        return weigh_terms((term_x, term_y), self.mu)

    def find_gradient(self, evaluation: Evaluation, sign: float) -> Parts:
        """The gradient of f or g in the space of z, with ``sign`` times that of the shift."""
        shift_x, shift_y = self.shift
        in_x = evaluation.grad_x + (sign * shift_x) * evaluation.x
        in_y = evaluation.grad_y + (sign * shift_y) * evaluation.y
        return self.join(in_x * (1.0 / self.mu[0]), in_y * (1.0 / self.mu[1]))

    def find_noise(self, evaluation: Evaluation, constants: Constants) -> tuple[float, float]:
        """The expected rounding errors in both gradients of f or g, and in that of the shift."""
        eps, x_norm, y_norm = evaluation.rounding.eps, norm(evaluation.x), norm(evaluation.y)
        in_x, in_y = constants.gradient_noise(evaluation.rounding, x_norm)
        shift_x, shift_y = self.shift
        return in_x + rounding_error(eps, shift_x * x_norm), in_y + rounding_error(eps, shift_y * y_norm)

    def join_norms(self, in_x: float, in_y: float) -> float:
        """The norm of a gradient in the space of z, from the usual norms of its blocks."""
        return math.hypot(in_x / math.sqrt(self.mu[0]), in_y / math.sqrt(self.mu[1]))

    def split_norm(self, gradient: Parts) -> tuple[float, float]:
        """The usual norms of both blocks of a gradient in the space of z."""
        return self.mu[0] * norm(gradient[0]), self.mu[1] * norm(gradient[1])


@functools.lru_cache(maxsize=64)
def sliding_parameters(of_f: Constants, of_g: Constants) -> SlidingParameters:
    """The parameters for these constants, whose L must be finite and whose mu must not be zero in both."""
    mu_x, mu_y = of_f.mu_x + of_g.mu_x, of_f.mu_y + of_g.mu_y
    smoothness = max((of_f.L_x - of_f.mu_x) / mu_x, (of_f.L_y - of_f.mu_y) / mu_y, 1.0)
    of_inner = max((of_g.L_x + of_f.mu_x) / mu_x, (of_g.L_y + of_f.mu_y) / mu_y)
    lam = (1.0 - _ACCURACY**2) / smoothness
    return SlidingParameters(
        mu=(mu_x, mu_y),
        shift=(of_f.mu_x, of_f.mu_y),
        smoothness=smoothness,
        alpha=0.5 * (math.sqrt(lam * lam + 4.0 * lam) - lam),
        lam=lam,
        constants=Constants(L_x=1.0, L_y=of_inner, mu_x=1.0, mu_y=1.0, source="adapted"),
        of_f=of_f,
        of_g=of_g,
    )
