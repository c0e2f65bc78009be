"""The random quadratics on which the relatives of BAM are counted, each with its exact minimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from minmin.core.bound import Constants
from minmin.core.problem import Problem
from minmin.problems import Quadratic, Split

_MARGIN = 1e-9
"""Constants allow for rounding errors of this relative size."""

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Instance:
    """A problem, its minimum, and the options that every method takes on it."""

    problem: Problem
    minimum: float
    options: Mapping[str, Any] = field(default_factory=dict)


def papers_quadratic(seed: int, L_y: float, coupling: float) -> Instance:
    """Those of the paper's Figure 1."""
    problem = Quadratic.random(d_x=100, d_y=10, mu_x=0.1, L_x=50.0, mu_y=0.1, L_y=L_y, coupling=coupling, seed=seed)
    return Instance(problem, _find_minimum(problem.H, problem.b))


def tight_quadratic(
    seed: int, kappa_x: float, kappa_y: float, d_x: int = 20, d_y: int = 20, near: bool = False
) -> Instance:
    """Coupled blocks whose spectra fill what the constants allow.

    The linear part is random, so that the minimiser is far away where the condition numbers are large; if ``near``, the
    minimiser is random instead.

    Pairs of eigenvectors of H_xx and H_yy are coupled by half of what keeps H positive definite. So H lies between half
    of diag(H_xx, H_yy) and 3/2 of it.
    """
    rng = np.random.default_rng(seed)
    (a, U), (b, V) = ((_spread(rng, d, kappa / 3.0), _basis(rng, d)) for d, kappa in ((d_x, kappa_x), (d_y, kappa_y)))
    pairs = min(d_x, d_y)
    coupling = (U[:, :pairs] * (0.5 * np.sqrt(a[:pairs] * b[:pairs]))) @ V[:, :pairs].T
    H = _symmetric(np.block([[(U * a) @ U.T, coupling], [coupling.T, (V * b) @ V.T]]))
    L, mu = 1.5 * (1.0 + _MARGIN), 1.5 * (1.0 - _MARGIN)
    constants = Constants(L_x=L, L_y=L, mu_x=mu / kappa_x, mu_y=mu / kappa_y, source="proved")
    linear = rng.standard_normal(d_x + d_y)
    if near:
        linear = -H @ linear
    return Instance(Quadratic(H, linear, d_x, constants), _find_minimum(H, linear))


def three_blocks(seed: int, spread: float, size: int = 20) -> Instance:
    """Coupled blocks with the condition numbers 100, 100·s and 100·s², s being the spread.

    μ = 1 in every block, and the spectrum of H fills the range between diag(μ) and diag(L).
    """
    rng = np.random.default_rng(seed)
    L = 1e2 * np.array([1.0, spread, spread**2])
    alone = scipy.linalg.block_diag(*(_fraction(rng, size) for _ in L))
    together = _fraction(rng, size * len(L))
    root = np.sqrt(np.repeat(L - 1.0, size))
    H = _symmetric(np.eye(len(root)) + root[:, None] * (0.5 * alone + 0.5 * together) * root)
    linear = rng.standard_normal(len(root))
    mu = np.full(len(L), 1.0 - _MARGIN)
    problem = Quadratic(H, linear, sizes=[size] * len(L), L=list((1.0 + _MARGIN) * L), mu=list(mu))
    return Instance(problem, _find_minimum(H, linear))


def aligned_split(seed: int, L_f: float, L_g: float, d: int = 60) -> Instance:
    """f + g with μ = 1, half of it from each; f is hard in one half of the directions and g in the other."""
    rng = np.random.default_rng(seed)
    Q = _basis(rng, d)
    parts = []
    for L, half in ((L_f, slice(None, d // 2)), (L_g, slice(d // 2, None))):
        spectrum = np.full(d, 0.5)
        spectrum[half] += np.geomspace(1.0, L, d // 2) - 1.0
        L = (1.0 + _MARGIN) * float(spectrum.max())
        constants = Constants(L_x=L, L_y=L, mu_x=0.5, mu_y=0.5)
        parts.append(Quadratic(_symmetric((Q * spectrum) @ Q.T), rng.standard_normal(d), d // 2, constants))
    f, g = parts
    return Instance(Split(f, g), _find_minimum(f.H + g.H, f.b + g.b))


def unit_blocks(seed: int, inverse: float, d: int = 20) -> Instance:
    """H_xx = H_yy = I, and the largest singular value ρ of H_xy has 1/(1 - ρ²) = ``inverse``."""
    rng = np.random.default_rng(seed)
    rho = np.sqrt(1.0 - 1.0 / inverse)
    U, V = _basis(rng, d), _basis(rng, d)
    coupling = (U * np.r_[rho, rho * rng.uniform(size=d - 1)]) @ V.T
    H = np.block([[np.eye(d), coupling], [coupling.T, np.eye(d)]])
    linear = rng.standard_normal(2 * d)
    return Instance(Quadratic(H, linear, d), _find_minimum(H, linear))


def flat_squares(seed: int, rows: int = 60, d_x: int = 24, d_y: int = 10, rank: int = 16) -> Instance:
    """½|Az - b|²/n with a null space that reaches into both blocks; the radius is the distance of a minimiser."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, d_x + d_y)) / np.sqrt(rank)
    target = A @ rng.standard_normal(d_x + d_y) + 0.1 * rng.standard_normal(rows)
    H, linear = _symmetric(A.T @ A / rows), -A.T @ target / rows
    L_x, L_y = (2.0 * float(np.linalg.norm(block, 2)) for block in (H[:d_x, :d_x], H[d_x:, d_x:]))
    z = np.linalg.lstsq(A, target)[0]
    problem = Quadratic(H, linear, d_x, Constants(L_x=L_x, L_y=L_y, mu_x=0.0, mu_y=0.0))
    return Instance(problem, 0.5 * float(linear @ z), {"radius": float(np.linalg.norm(z))})


def _find_minimum(H: _Array, linear: _Array) -> float:
    return 0.5 * float(linear @ np.linalg.solve(H, -linear))


def _basis(rng: np.random.Generator, d: int) -> _Array:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def _spread(rng: np.random.Generator, d: int, kappa: float) -> _Array:
    """Eigenvalues between 1/κ and 1, both included."""
    return np.asarray(kappa ** (rng.permutation(np.r_[0.0, 1.0, rng.uniform(size=d - 2)]) - 1.0))


def _fraction(rng: np.random.Generator, d: int) -> _Array:
    """A matrix with eigenvalues between 0 and 1, both included."""
    Q = _basis(rng, d)
    return np.asarray((Q * np.r_[0.0, 1.0, rng.uniform(size=d - 2)]) @ Q.T)


def _symmetric(H: _Array) -> _Array:
    return np.asarray((H + H.T) / 2.0)
