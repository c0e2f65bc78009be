"""Functions of several blocks with known constants and minima."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from minmin.problems import Function, Quadratic


class Case(NamedTuple):
    H: np.ndarray
    b: np.ndarray
    sizes: tuple[int, ...]
    L: np.ndarray
    mu: np.ndarray

    @property
    def minimum(self) -> float:
        return float(0.5 * self.b @ self.minimiser)

    @property
    def minimiser(self) -> np.ndarray:
        return np.linalg.solve(self.H, -self.b)

    def quadratic(self, **given) -> Quadratic:
        return Quadratic(self.H, self.b, sizes=self.sizes, L=self.L, mu=self.mu, **given)

    def function(self, counts=None, with_constants: bool = True, **given) -> Function:
        """The same through callables, which count their calls themselves."""
        spans = np.split(np.arange(len(self.b)), np.cumsum(self.sizes)[:-1])

        def grad(number):
            def function(*blocks):
                assert [len(block) for block in blocks] == list(self.sizes)
                if counts is not None:
                    counts[number] += 1
                return self.H[spans[number]] @ np.concatenate(blocks) + self.b[spans[number]]

            return function

        def value(*blocks):
            z = np.concatenate(blocks)
            return 0.5 * z @ self.H @ z + self.b @ z

        constants = {"L": self.L, "mu": self.mu} if with_constants else {}
        return Function(value, grads=[grad(i) for i in range(len(self.sizes))], sizes=self.sizes, **constants, **given)


def make_case(kappas, seed=0, coupling=0.3, sizes=None, mu=None) -> Case:
    """diag(mu) ⪯ H ⪯ diag(L) exactly, up to rounding, with spectra that fill what they allow."""
    rng = np.random.default_rng(seed)
    count = len(kappas)
    sizes = tuple(sizes or rng.integers(3, 9, size=count))
    mu = np.asarray(mu if mu is not None else 10 ** rng.uniform(-1, 1, size=count), float)
    L = mu * np.asarray(kappas, float)
    whole = _contract(rng, sum(sizes))
    S = (1 - coupling) * scipy.linalg.block_diag(*(_contract(rng, size) for size in sizes)) + coupling * whole
    root = np.sqrt(np.repeat(L - mu, sizes))
    H = np.diag(np.repeat(mu, sizes)) + root[:, None] * S * root
    margin = 1e-9
    return Case((H + H.T) / 2, rng.standard_normal(sum(sizes)), sizes, (1 + margin) * L, (1 - margin) * mu)


def _contract(rng: np.random.Generator, size: int) -> np.ndarray:
    eigenvalues = np.r_[0.0, 1.0, rng.uniform(size=max(size - 2, 0))][:size]
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    return (basis * eigenvalues) @ basis.T
