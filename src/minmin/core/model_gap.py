"""How far f + t is above its minimum in one block, from a gradient of f and the proximal map of the term t."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.core.bound import half_square_over, rounding_error
from minmin.core.term import Term
from minmin.core.vectors import Vector, dot, norm, square


class BlockGap(NamedTuple):
    """What one block adds to a bound, and what rounding errors alone would add."""

    value: float
    floor: float


class Reached(NamedTuple):
    """A point v̄ that a step from v has reached, where the smoothness L of f bounds how much f has changed."""

    v: Vector
    smoothness: float


def find_gap(
    term: Term | None,
    v: Vector,
    gradient: Vector,
    curvature: float,
    *,
    noise: float = 0.0,
    eps: float = 0.0,
    reached: Reached | None = None,
) -> BlockGap:
    """A bound on what one block adds to f + t - (f + t)*, for an f with at least this curvature μ.

    For every u, f(u) >= f(v) + <g, u - v> + μ/2 |u - v|². So f + t at v is above its minimum by at most
    t(v) - min_u (<g, u - v> + μ/2 |u - v|² + t(u)). A proximal step of length 1/μ finds that minimum; if μ is zero, the
    conjugate of t does: it is t(v) + <g, v> + t*(-g). Without a term this is |g|²/(2μ). It never exceeds
    |g + s|²/(2μ), for any subgradient s of t at v.

    At a point v̄ that a step has reached, f is at most <g, v̄ - v> + L/2 |v̄ - v|² above f(v), which is added.

    Parameters
    ----------
    term : Term or None
    v, gradient : vectors
        The point, and ∇f there.
    curvature : float
        μ, 0 or above; infinite if nothing is known of it. Then the gap is zero at a minimum, and infinite elsewhere.
    noise : float
        The expected size of rounding errors in the gradient.
    eps : float
        The precision of v.
    reached : Reached, optional
        The point that the bound is for, if it is not v.
    """
    if term is None:
        descent = 0.0 if reached is None else square(norm(gradient)) / (2.0 * reached.smoothness)
        return BlockGap(
            half_square_over(norm(gradient) + noise, curvature) - descent, half_square_over(noise, curvature)
        )
    if math.isinf(curvature):
        # The step is so long that rounding does not hide it, however far v is.
        step = max(1.0, norm(v)) / norm(gradient) if norm(gradient) > 0.0 else 1.0
        return BlockGap(0.0 if norm(term.prox(v - step * gradient, step) - v) == 0.0 else math.inf, 0.0)
    at = v if reached is None else reached.v
    of_term = term.value(at)
    if not math.isfinite(of_term):
        return BlockGap(math.inf, 0.0)
    moved = at - v
    rise = 0.0 if reached is None else dot(gradient, moved) + 0.5 * reached.smoothness * dot(moved, moved)
    sizes = norm(gradient) * norm(moved)
    if curvature > 0.0:
        u = term.prox(v - (1.0 / curvature) * gradient, 1.0 / curvature)
        away, change = u - v, term.change(at, u)
        distance = norm(away)
        gap = rise - (dot(gradient, away) + 0.5 * curvature * square(distance) + change.value)
        by_noise = noise * (distance + norm(moved)) + square(noise) / curvature
        sizes += change.size + norm(gradient) * distance
        # u may be outside of a constraint, where the model is lower.
        outside = (norm(gradient) + curvature * distance) * term.slack(u)
    else:
        conjugate = term.conjugate(-gradient)
        if conjugate is None or math.isinf(conjugate):
            return BlockGap(math.inf, 0.0)
        gap = rise + of_term + dot(gradient, v) + conjugate
        by_noise = _gap_by_noise(term, v, noise, max(gap, 0.0)) + noise * norm(moved)
        sizes += abs(of_term) + abs(conjugate) + norm(gradient) * norm(v)
        outside = 0.0
    rounding = rounding_error(eps, sizes) + outside
    least = square(noise) / curvature if curvature > 0.0 else _gap_by_noise(term, v, noise, 0.0)
    return BlockGap(max(gap, 0.0) + by_noise + rounding, least + rounding)


def find_residual(term: Term | None, v: Vector, gradient: Vector, curvature: float) -> Vector:
    """L(v - prox(v - ∇f/L, 1/L)) for this curvature L, or 1 if it is 0 or infinite; without a term it is ∇f.

    It is zero at a minimum of f and the term.
    """
    if term is None:
        return gradient
    L = curvature if 0.0 < curvature < math.inf else 1.0
    return L * (v - term.prox(v - (1.0 / L) * gradient, 1.0 / L))


def _gap_by_noise(term: Term, v: Vector, noise: float, gap: float) -> float:
    """How much larger a gap without curvature of f may be because of rounding errors in the gradient.

    The minimum over u is at most the diameter away, or √(2·gap/c) if the term has the convexity c.
    """
    if noise == 0.0:
        return 0.0
    if term.convexity > 0.0:
        return noise * (math.sqrt(2.0 * gap / term.convexity) + noise / term.convexity)
    return noise * term.diameter(v)
