"""Proved bounds on eigenvalues, and the constants of two or more blocks that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from minmin.core.bound import Constants
from minmin.errors import InputError
from minmin.numerics.lanczos import ritz_values
from minmin.numerics.row_pieces import Matrix, gram

EXACT_UP_TO = 1500
"""Up to this size eigenvalues are computed exactly, above it by Lanczos with a margin.
Measured: docs/benchmarks/tuning.md."""

COST_RATIO = 10.0
"""The assumed cost of ∇ₓ in units of ∇ᵧ, for the choice between valid constants.
Measured: docs/benchmarks/tuning.md."""

_LAPACK_MARGIN = 8
"""Eigenvalues may be off by this times n·eps times the Frobenius norm. Measured: docs/benchmarks/tuning.md."""

_LANCZOS_STEPS = 60
"""With 60 steps the margin ε of :func:`bound_largest_eigenvalue` is 0.07 for 1500 variables, and 0.09 for 10⁶."""
_FAILURE_PROBABILITY = 1e-12
"""The probability that a bound by Lanczos fails. ε depends on its logarithm: with 1e-6, ε would be 0.02, not 0.07."""
_LARGEST_ROOT = 0.9
"""The limit of √ε, since ε must stay below 1. With 60 steps √ε is 0.3 for 10⁶ variables; fewer steps reach the
limit."""
_SHORTEST_DIRECTION = 1e-14
"""A new direction of Lanczos shorter than this times the largest Ritz value is only rounding error. It is 45 times
eps."""
_LEAST_RATIO = 1e-14
"""In estimated costs, mu is at least this times L. So costs are finite, and smaller L still means lower cost."""

_TRADE_OFFS = np.geomspace(1e-3, 1e3, 61)
"""Values of t in :func:`norm_pairs`, ten per decade: the best t is missed by a factor of 1.12 at most."""
_EXCESSES = np.geomspace(1e-4, 1e1, 41)
"""Half of how far L_x lies above the largest eigenvalue of the scaled H_xx. Measured: docs/benchmarks/tuning.md."""
_FRACTIONS = np.linspace(0.02, 0.98, 49)
"""mu_x as a fraction of the largest mu_x that leaves mu_y >= 0. Measured: docs/benchmarks/tuning.md."""


def rounding_margin(symmetric: Matrix) -> float:
    """The largest expected error of LAPACK's eigenvalues of a symmetric matrix."""
    return float(_LAPACK_MARGIN * symmetric.shape[0] * np.finfo(np.float64).eps * np.linalg.norm(symmetric))


def bound_largest_eigenvalue(apply: Callable[[Matrix], Matrix], size: int) -> float:
    """Upper bound on the largest eigenvalue of a positive semidefinite operator, by Lanczos.

    After k steps from a random start the largest Ritz value θ satisfies θ ≥ (1 - ε)·λ_max, except with
    probability 1.648·√n·exp(-√ε(2k-1)) (Kuczyński and Woźniakowski 1992, Theorem 4.1). ε is chosen
    so that this probability is ``_FAILURE_PROBABILITY``, and θ/(1-ε) is returned.
    """
    steps = min(_LANCZOS_STEPS, size)
    start = np.random.default_rng(0).standard_normal(size)
    ritz = ritz_values(
        apply, start, steps, shortest_direction=lambda scale: _SHORTEST_DIRECTION * scale, orthogonalize=False
    )
    root_epsilon = math.log(1.648 * math.sqrt(size) / _FAILURE_PROBABILITY) / (2 * steps - 1)
    return float(ritz[-1]) / (1.0 - min(root_epsilon, _LARGEST_ROOT) ** 2)


def bound_squared_norm(matrix: Any, weights: Matrix) -> tuple[float, int]:
    """Upper bound on the largest eigenvalue of Aᵀ diag(w) A, and how many products with A or Aᵀ it took."""
    columns = matrix.shape[1]
    if columns <= EXACT_UP_TO:
        return largest_eigenvalue(gram(matrix, weights)), columns
    transposed, passes = matrix.T, 0

    def apply(v: Matrix) -> Matrix:
        nonlocal passes
        passes += 2
        return np.asarray(transposed @ (weights * (matrix @ v)))

    return bound_largest_eigenvalue(apply, columns), passes


def largest_eigenvalue(symmetric: Matrix) -> float:
    """The largest eigenvalue, plus a margin for its error."""
    top = symmetric.shape[0] - 1
    value = scipy.linalg.eigvalsh(symmetric, subset_by_index=[top, top])[0]
    return float(value) + rounding_margin(symmetric)


def least_eigenvalue(symmetric: Matrix) -> float:
    """The least eigenvalue, without a margin."""
    return float(scipy.linalg.eigvalsh(symmetric, subset_by_index=[0, 0])[0])


def choose_cheapest(
    pairs_L: Iterable[tuple[float, float]], pairs_mu: Iterable[tuple[float, float]], cost_ratio: float = COST_RATIO
) -> tuple[float, ...]:
    """The L_x, L_y, mu_x and mu_y with the lowest estimated cost, from valid (L_x, L_y) and (mu_x, mu_y).

    That is BAM's cost up to a factor: √κ_x calls of ∇ₓ and max(√κ_x, √κ_y) of ∇ᵧ, by Theorem 2.2 of Kovalev, Gasnikov
    and Malinovsky, arXiv:2212.14439.
    """

    def estimate_cost(c: tuple[float, ...]) -> float:
        kappa_x, kappa_y = _condition_number(c[0], c[2]), _condition_number(c[1], c[3])
        return cost_ratio * math.sqrt(kappa_x) + math.sqrt(max(kappa_x, kappa_y))

    lowers = list(pairs_mu)
    return min(((*L, *mu) for L in pairs_L for mu in lowers), key=estimate_cost)


def _condition_number(L: float, mu: float) -> float:
    return L / max(mu, _LEAST_RATIO * L) if L > 0.0 else 1.0


class ValidPairs(NamedTuple):
    """Valid (L_x, L_y), valid (mu_x, mu_y), and how many products with X and with Y they took."""

    smoothness: list[tuple[float, float]]
    convexity: list[tuple[float, float]]
    passes: tuple[int, int] = (0, 0)


class ProvedConstants:
    """The constants of a problem, computed when first needed.

    Copies of the problem share them, also copies in another library or dtype.

    Parameters
    ----------
    find_pairs : callable
        Without arguments; it can be pickled.
    """

    def __init__(self, find_pairs: Callable[[], ValidPairs]):
        self._find_pairs = find_pairs
        self._chosen: dict[float, Constants] = {}

    @cached_property
    def valid(self) -> ValidPairs:
        """What the constants are chosen from."""
        return self._find_pairs()

    def choose(self, cost_ratio: float) -> Constants:
        """The constants with the lowest expected cost if ∇ₓ costs ``cost_ratio`` times as much as ∇ᵧ."""
        if cost_ratio not in self._chosen:
            tiny = float(np.finfo(np.float64).tiny)  # for data that are all zero, as L must be positive
            smoothness = [(max(L_x, tiny), max(L_y, tiny)) for L_x, L_y in self.valid.smoothness]
            L_x, L_y, mu_x, mu_y = choose_cheapest(smoothness, self.valid.convexity, cost_ratio)
            self._chosen[cost_ratio] = Constants(L_x, L_y, mu_x, mu_y, "proved")
        return self._chosen[cost_ratio]


def norm_pairs(norm_x: float, norm_y: float) -> list[tuple[float, float]]:
    """(L_x, L_y) that are valid for every H whose blocks H_xx and H_yy have these norms.

    2<dx, H_xy dy> <= t·norm_x |dx|² + norm_y/t |dy|² gives ((1+t)·norm_x, (1+1/t)·norm_y) for every t > 0.
    """
    return [((1 + t) * norm_x, (1 + 1 / t) * norm_y) for t in _TRADE_OFFS.tolist()]


def smoothness_frontier(H: Matrix, d_x: int) -> list[tuple[float, float]]:
    """The smallest (L_x, L_y) with diag(L_x, L_y) ⪰ H: some points of that frontier.

    For L_x above the largest eigenvalue of H_xx the least L_y is the largest eigenvalue of
    H_yy + H_yx (L_x - H_xx)⁻¹ H_xy (a Schur complement).
    """
    blocks = _ScaledBlocks(H, d_x)
    top = max(float(blocks.eigenvalues[-1]), 0.0) + blocks.margin
    if not blocks.coupling.any():
        return [blocks.in_original_units(top, max(largest_eigenvalue(blocks.H_yy), blocks.margin))]
    pairs = []
    for L_x in (top + 2.0 * _EXCESSES).tolist():
        complement, error = blocks.complement(L_x - blocks.eigenvalues - blocks.margin)
        L_y = largest_eigenvalue(blocks.H_yy + complement) + blocks.margin + error
        pairs.append(blocks.in_original_units(_OFF_THE_FRONTIER * L_x, _OFF_THE_FRONTIER * L_y))
    return pairs


def convexity_frontier(H: Matrix, d_x: int) -> list[tuple[float, float]]:
    """The largest (mu_x, mu_y) with diag(mu_x, mu_y) ⪯ H: some points; none if H is not positive semidefinite."""
    blocks = _ScaledBlocks(H, d_x)
    least, margin = least_eigenvalue(blocks.H), blocks.margin
    if least < -margin:
        return []
    if least <= margin:
        return [(0.0, 0.0)]
    if not blocks.coupling.any():
        least_x, least_y = float(blocks.eigenvalues[0]) - margin, least_eigenvalue(blocks.H_yy) - margin
        return [blocks.in_original_units(max(least_x, 0.0), max(least_y, 0.0))]
    schur = blocks.H[:d_x, :d_x] - blocks.H[:d_x, d_x:] @ np.linalg.solve(blocks.H_yy, blocks.H[d_x:, :d_x])
    pairs = [blocks.in_original_units(least - margin, least - margin)]
    for mu_x in (least_eigenvalue(schur) * _FRACTIONS).tolist():
        gaps = blocks.eigenvalues - mu_x - margin
        if gaps[0] <= 0.0:  # rounding hides whether mu_x is below the eigenvalues of H_xx
            break
        complement, error = blocks.complement(gaps)
        mu_y = least_eigenvalue(blocks.H_yy - complement) - margin - error
        if mu_x > margin and mu_y > 0.0:
            pairs.append(blocks.in_original_units((mu_x - margin) / _OFF_THE_FRONTIER, mu_y / _OFF_THE_FRONTIER))
    return pairs


_OFF_THE_FRONTIER = 1.0 + 1e-12
"""Points on a frontier are moved by this factor to the valid side, so that they hold in exact arithmetic, too. It
exceeds 1 by 4500 times eps."""


class _ScaledBlocks:
    """H with both diagonal blocks scaled to norm one, and H_xx in its eigenbasis."""

    def __init__(self, H: Matrix, d_x: int):
        self.scales = [_norm_or_one(H[:d_x, :d_x]), _norm_or_one(H[d_x:, d_x:])]
        roots = np.sqrt(np.repeat(self.scales, [d_x, H.shape[0] - d_x]))
        self.H = H / roots / roots[:, None]
        self.eigenvalues, vectors = scipy.linalg.eigh(self.H[:d_x, :d_x])
        self.coupling = self.H[d_x:, :d_x] @ vectors
        self.H_yy = self.H[d_x:, d_x:]
        self.margin = rounding_margin(self.H)

    def complement(self, gaps: Matrix) -> tuple[Matrix, float]:
        """H_yx D⁻¹ H_xy, where D has these positive numbers in the eigenbasis, and the error in it.

        A gap may be so small that the error of the coupling, at most the margin per column, is not.
        """
        errors = self.margin * (2.0 * np.linalg.norm(self.coupling, axis=0) + self.margin) / gaps
        return (self.coupling / gaps) @ self.coupling.T, float(errors.sum())

    def in_original_units(self, for_x: float, for_y: float) -> tuple[float, float]:
        return self.scales[0] * for_x, self.scales[1] * for_y


def _norm_or_one(block: Matrix) -> float:
    return float(np.linalg.norm(block, 2)) or 1.0


_BARRIER_WEIGHT = 0.1
"""The weight of the barrier in :func:`_largest_diagonal`, for all variables together.
Measured: docs/benchmarks/tuning.md."""
_MOST_STEPS = 60
"""A limit for Newton's method. Measured: docs/benchmarks/tuning.md."""
_LONGEST_STEP = 2.0
"""In the logarithms, so that exp does not overflow. Newton's method needs few steps with any such limit."""
_ENOUGH = 1e-6
"""Newton's steps end once none of them changes a logarithm by more than this."""


def prove_constants(H: Matrix, sizes: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """L and mu of every block with diag(mu) ⪯ H ⪯ diag(L).

    There are many such numbers. Those are taken whose product is about as small, and as large, as possible, whatever
    the units of the blocks.
    """
    if not least_eigenvalue(H) >= -rounding_margin(H):
        raise not_convex(H)
    units = np.concatenate([np.full(s, np.sqrt(u)) for s, u in zip(sizes, _norms(H, sizes), strict=True)])
    scaled = H / units / units[:, None]
    squares = [units[end - 1] ** 2 for end in np.cumsum(sizes)]
    margin, tiny = rounding_margin(scaled), float(np.finfo(np.float64).tiny)  # L must be positive, for H = 0, too
    L = _least_bounds(scaled, sizes, margin)
    mu = _greatest_bounds(scaled, sizes, margin) if least_eigenvalue(scaled) > 4.0 * margin else [0.0] * len(sizes)
    return (
        tuple(max(float(a * square), tiny) for a, square in zip(L, squares, strict=True)),
        tuple(float(a * square) for a, square in zip(mu, squares, strict=True)),
    )


def not_convex(H: Matrix) -> InputError:
    """The error for a Hessian with an eigenvalue below zero."""
    return InputError(
        f"H has the eigenvalue {least_eigenvalue(H):g}: f is not convex and has no minimum; "
        "give a positive semidefinite H"
    )


def _norms(H: Matrix, sizes: Sequence[int]) -> list[float]:
    """The largest eigenvalue of every diagonal block; one where it is zero."""
    ends = np.cumsum(sizes)
    return [_norm_or_one(H[end - size : end, end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _greatest_bounds(H: Matrix, sizes: Sequence[int], margin: float) -> list[float]:
    """A diagonal D, constant in every block, with D ⪯ H: large, and then shrunk until it surely holds."""
    diagonal = _largest_diagonal(H, sizes)
    roots = np.sqrt(np.repeat(diagonal, sizes))
    holds = H / roots / roots[:, None]
    shrink = least_eigenvalue(holds) - rounding_margin(holds)
    if not shrink > 0.0:
        return [least_eigenvalue(H) - margin] * len(sizes)
    return [float(shrink * d) for d in diagonal]


def _least_bounds(H: Matrix, sizes: Sequence[int], margin: float) -> list[float]:
    """A diagonal D, constant in every block, with H ⪯ D: D⁻¹ ⪯ H⁻¹ for a slightly shifted H, then stretched."""
    shifted = H + (4.0 * margin + _ENOUGH) * np.eye(H.shape[0])
    inverse = scipy.linalg.inv(shifted)
    diagonal = 1.0 / _largest_diagonal(0.5 * (inverse + inverse.T), sizes)
    roots = np.sqrt(np.repeat(diagonal, sizes))
    stretch = largest_eigenvalue(H / roots / roots[:, None])
    return [float(max(stretch, margin) * d) for d in diagonal]


def _largest_diagonal(H: Matrix, sizes: Sequence[int]) -> Matrix:
    """About the D ⪯ H, constant in every block, with the largest product of its entries.

    Maximises Σ log d_i + w·log det(H - D) by Newton's method in the logarithms of d. The second term keeps D away from
    the boundary of what is allowed.
    """
    ends = np.cumsum(sizes)
    spans = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    weight = _BARRIER_WEIGHT / H.shape[0]
    logs = np.full(len(sizes), np.log(0.5 * least_eigenvalue(H)))

    def objective(logs: Matrix) -> float:
        try:
            factor = np.linalg.cholesky(H - np.diag(np.repeat(np.exp(logs), sizes)))
        except np.linalg.LinAlgError:
            return -np.inf
        return float(logs.sum() + 2.0 * weight * np.log(np.diag(factor)).sum())

    value = objective(logs)
    for _ in range(_MOST_STEPS):
        d = np.exp(logs)
        inverse = np.linalg.inv(H - np.diag(np.repeat(d, sizes)))
        traces = np.array([np.trace(inverse[s, s]) for s in spans])
        squares = np.array([[np.sum(inverse[s, t] * inverse[t, s].T) for t in spans] for s in spans])
        gradient = 1.0 - weight * d * traces
        curvature = weight * (d[:, None] * squares * d + np.diag(d * traces))
        step = np.clip(np.linalg.solve(curvature, gradient), -_LONGEST_STEP, _LONGEST_STEP)
        length = 1.0
        while length > _ENOUGH and not (new := objective(logs + length * step)) > value:
            length *= 0.5
        if length <= _ENOUGH:
            break
        logs, value = logs + length * step, new
        if np.abs(length * step).max() < _ENOUGH:
            break
    return np.asarray(np.exp(logs))
