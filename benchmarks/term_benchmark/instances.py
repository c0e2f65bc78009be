"""The instances: f and its terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

import minmin
from minmin.terms import L1, Box, GroupL2, Simplex, Term
from term_benchmark.functions import Function, LogisticFunction, QuadraticFunction
from term_benchmark.inner import minimise_in_y

Array = np.ndarray[Any, Any]
_PAIRS = (
    ("L1", "free"),
    ("L1", "box"),
    ("L1", "simplex"),
    ("box", "free"),
    ("box", "box"),
    ("group", "free"),
    ("group", "box"),
    ("group", "simplex"),
)
"""The terms in x and in y."""
_QUICK_PAIRS = (("L1", "free"), ("box", "box"), ("group", "simplex"))
_FRACTIONS = (0.1, 0.03, 0.01)
"""The weight of L1 and of groups for every seed, relative to the least weight that makes x zero."""
_GROUP_SIZE = 5


@dataclass(frozen=True)
class Instance:
    """f + p + q, from x = 0 and y = 0, or the nearest point that p and q allow."""

    kind: str
    details: str
    in_x: str
    in_y: str
    f: Function = field(repr=False)
    term_x: Term = field(repr=False)
    term_y: Term | None = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.details}; x: {self.in_x}, y: {self.in_y}"

    @cached_property
    def composite(self) -> minmin.problems.Composite:
        return minmin.problems.Composite(self.f.problem, self.term_x, self.term_y)

    @cached_property
    def start(self) -> Array:
        return np.concatenate(self.composite.project_start(np.zeros(self.f.d_x), np.zeros(self.f.d_y)))

    def value(self, z: Array) -> float:
        x, y = z[: self.f.d_x], z[self.f.d_x :]
        return self.f.value(z) + self.term_x.value(x) + (0.0 if self.term_y is None else self.term_y.value(y))


class Source(NamedTuple):
    """A function, and the relative weight of the terms that are added to it."""

    kind: str
    details: str
    fraction: float
    make: Callable[[], Function]


def make_instances(quick: bool) -> Iterator[Instance]:
    """All instances; only small ones if ``quick``."""
    for kind, details, fraction, make in _list_sources(quick):
        f = make()
        without = minmin.minimize(f.problem, method="reduced-lbfgs", tol=1e-9)
        slope = _find_slope(f)
        for in_x, in_y in _QUICK_PAIRS if quick else _PAIRS:
            term_x = _make_box(without.x) if in_x == "box" else _make_penalty(in_x, fraction, slope)
            yield Instance(kind, details, in_x, in_y, f, term_x, _make_term_y(in_y, without.y))


def _list_sources(quick: bool) -> Iterator[Source]:
    fractions = _FRACTIONS[:1] if quick else _FRACTIONS
    for L_y in (500.0,) if quick else (500.0, 50_000.0):
        for d_x, d_y in ((10, 5),) if quick else ((100, 10), (100, 100)):
            for seed, fraction in enumerate(fractions):
                make = partial(_make_quadratic, d_x, d_y, L_y, seed)
                yield Source(f"quadratic, κ_y = {10.0 * L_y:g}", f"{d_x} + {d_y}, seed {seed}", fraction, make)
    d_x, d_y = (10, 5) if quick else (100, 20)
    for seed, fraction in enumerate(fractions):
        yield Source("logistic", f"{d_x} + {d_y}, seed {seed}", fraction, partial(_make_logistic, d_x, d_y, seed))
    if not quick:
        yield Source("logistic", "a1a", _FRACTIONS[-1], _load_a1a)


def _make_quadratic(d_x: int, d_y: int, L_y: float, seed: int) -> Function:
    """κ_x is 500, and x and y are fully coupled."""
    return QuadraticFunction(minmin.problems.Quadratic.random(d_x=d_x, d_y=d_y, L_y=L_y, coupling=1.0, seed=seed))


def _make_logistic(d_x: int, d_y: int, seed: int) -> Function:
    """Columns of x with sizes from 1 to 1/30, and columns of y with sizes from 10 to 0.1 that depend on those of x."""
    rng = np.random.default_rng(seed)
    n = 5 * (d_x + d_y)
    X = rng.standard_normal((n, d_x)) * np.geomspace(1.0, 1.0 / 30.0, d_x)
    Y = (rng.standard_normal((n, d_y)) + X[:, :d_y]) * np.geomspace(10.0, 0.1, d_y)
    margins = X @ rng.standard_normal(d_x) + 0.3 * Y @ rng.standard_normal(d_y)
    labels = np.where(rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)
    return LogisticFunction(X, Y, labels, alpha_x=1e-3, alpha_y=1e-4)


def _load_a1a() -> Function:
    X, labels = minmin.datasets.load_a1a()
    X = X.toarray()
    return LogisticFunction(X[:, :100], X[:, 100:], labels, alpha_x=1e-3, alpha_y=1e-4)


def _find_slope(f: Function) -> Array:
    """The gradient of min_y f(x, y) at x = 0."""
    y = minimise_in_y(f, None, np.zeros(f.d_x), np.zeros(f.d_y))
    return f.gradient(np.concatenate([np.zeros(f.d_x), y]))[: f.d_x]


def _make_penalty(name: str, fraction: float, slope: Array) -> Term:
    if name == "L1":
        return L1(fraction * float(np.abs(slope).max()))
    groups = [range(i, min(i + _GROUP_SIZE, len(slope))) for i in range(0, len(slope), _GROUP_SIZE)]
    return GroupL2(fraction * max(float(np.linalg.norm(slope[group])) for group in groups), groups)


def _make_term_y(name: str, y: Array) -> Term | None:
    if name == "free":
        return None
    return _make_box(y) if name == "box" else Simplex(0.5 * float(np.abs(y).sum()))


def _make_box(v: Array) -> Box:
    """A box that about half of the coordinates of the minimum without terms are outside of."""
    size = float(np.median(np.abs(v)))
    return Box(-size, size)
