"""Proved constants of a quadratic with several blocks: block-diagonal bounds on its Hessian."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from minmin.errors import InputError
from minmin.problems.spectrum import Matrix, largest_eigenvalue, least_eigenvalue, rounding_margin

_BARRIER_WEIGHT = 0.1
"""The weight of the barrier in :func:`_largest_diagonal`, for all variables together. It hardly matters: on 20 random
quadratics with three blocks the geometric mean of all L/mu is 48.9 to 49.1 with 0.004 to 0.5."""
_MOST_STEPS = 60
"""A limit for Newton's method; the same quadratics took 13 steps on average."""
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
        raise InputError(
            f"H has the eigenvalue {least_eigenvalue(H):g}: f is not convex and has no minimum; "
            "give a positive semidefinite H"
        )
    units = np.concatenate([np.full(s, np.sqrt(u)) for s, u in zip(sizes, _norms(H, sizes), strict=True)])
    scaled = H / units / units[:, None]
    squares = [units[end - 1] ** 2 for end in np.cumsum(sizes)]
    margin, tiny = rounding_margin(scaled), float(np.finfo(np.float64).tiny)  # L must be positive, for H = 0, too
    L = _least_bounds(scaled, sizes, margin)
    mu = [0.0] * len(sizes)
    if least_eigenvalue(scaled) > 4.0 * margin:
        mu = _greatest_bounds(scaled, sizes, margin)
    return (
        tuple(max(float(a * square), tiny) for a, square in zip(L, squares, strict=True)),
        tuple(float(a * square) for a, square in zip(mu, squares, strict=True)),
    )


def _norms(H: Matrix, sizes: Sequence[int]) -> list[float]:
    """The largest eigenvalue of every diagonal block; one where it is zero."""
    ends = np.cumsum(sizes)
    blocks = [H[end - size : end, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return [largest or 1.0 for largest in (float(np.linalg.norm(block, 2)) for block in blocks)]


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
