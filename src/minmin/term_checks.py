"""check_term(): tests whether a term's value, proximal map and conjugate belong to one convex function."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array, array_eps, describe_kind, same_kind, to_like, to_numpy
from minmin.core.term import Term
from minmin.core.vectors import norm
from minmin.errors import UserCodeError
from minmin.findings import Finding

_STEPS = (0.1, 1.0, 10.0)
_SIZES = (0.1, 10.0, 1000.0)
"""The steps of the proximal map, and the sizes of the entries of random points; a term may have any scale."""
_LADDER = tuple(0.01 * 3.0**k for k in range(12))
"""Distances from 0 of points on one ray. A map that jumps does so between two of them."""
_RAYS_OF_EACH_KIND = 2
_RELATIVE_ERROR = 1e-3
"""What two sides of an inequality may differ by, relative to their size: an error that matters is larger."""
_ACCURACY = 1e-6
"""How accurate a proximal map must be, relative to its points: some come from an iteration of their own."""
_NOISE_FACTOR = 100.0
"""Rounding errors in units of eps·√size; the terms of :mod:`minmin.terms` allow up to 10 in a sum."""
_LEAST_TOLERANCE = 1e-300
"""The least tolerance, to avoid 0/0."""

_Point = np.ndarray[Any, np.dtype[np.float64]]


def check_term(term: Term, size: int, rng: np.random.Generator, prototype: Array) -> Iterator[Finding]:
    """Check whether a term's value, proximal map and conjugate belong to one convex function.

    If u = prox(v, step), then s = (v - u)/step is a subgradient: t(w) >= t(u) + <s, w - u> for every w. So it is seen
    if prox belongs to another function than value.

    Parameters
    ----------
    term : Term
    size : int
        The length of the vectors to check with.
    rng : numpy.random.Generator
        Draws the points to check at.
    prototype : array
        An array of the library, dtype and device to check with.
    """
    checks = _TermChecks(term, size, rng, prototype)
    try:
        yield from checks.run()
    except UserCodeError as error:
        yield Finding("term", False, str(error))


class _Sample(NamedTuple):
    """A point v, and its proximal point u."""

    v: _Point
    step: float
    u: _Point
    value: float

    @property
    def subgradient(self) -> _Point:
        return (self.v - self.u) / self.step


class _Worst:
    """The inequality that is violated most, in units of its tolerance."""

    def __init__(self) -> None:
        self.ratio, self.detail = -math.inf, "nothing to compare"

    def see(self, violation: float, tolerance: float, detail: str) -> None:
        ratio = math.inf if math.isnan(violation) else violation / max(tolerance, _LEAST_TOLERANCE)
        if ratio > self.ratio:
            self.ratio, self.detail = ratio, detail

    def finding(self, name: str) -> Finding:
        return Finding(name, self.ratio <= 1.0, self.detail)


class _TermChecks:
    """The checks of one term. Points are NumPy arrays in double precision, converted for every call of the term."""

    def __init__(self, term: Term, size: int, rng: np.random.Generator, prototype: Array):
        self.term, self.size, self.rng, self.prototype = term, size, rng, prototype
        self.noise = _NOISE_FACTOR * array_eps(prototype) * math.sqrt(size)
        self.accuracy = max(_ACCURACY, self.noise)
        self.changed: set[str] = set()
        self.samples: list[_Sample] = []
        self.spread = 0.0

    def run(self) -> Iterator[Finding]:
        output = self.check_output()
        yield output
        if not output.ok:
            return
        values = self.check_values()
        yield values
        if values.ok:
            yield self.check_minimiser()
            yield self.check_nonexpansiveness()
            yield self.check_convexity()
            yield self.check_projection()
            yield from self.check_conjugate()
        wrong = " and ".join(sorted(self.changed))
        yield Finding("arguments", not wrong, f"changed by {wrong}, which must work on a copy" if wrong else "kept")

    def check_output(self) -> Finding:
        v = self._like(self._random())
        u = self._call("prox", v, 1.0)
        given, got = _describe(v), _describe(u)
        same = given == got and same_kind(u, v)
        return Finding("output of prox", same, got if same else f"{got}, and must be {given}")

    def check_values(self) -> Finding:
        for step, size in itertools.product(_STEPS, _SIZES):
            v = self._round(size * self._random())
            for _ in range(2):  # also near the points where t is finite, which may be far from 0
                u = self._prox(v, step)
                self.samples.append(_Sample(v, step, u, self._value(u)))
                v = self._round(u + size * self._random())
        self.spread = max(norm(sample.u) for sample in self.samples)
        for sample in self.samples:
            if not math.isfinite(sample.value):
                return Finding("t at proximal points", False, f"it is {sample.value} at step {sample.step:g}")
        return Finding("t at proximal points", True, "finite")

    def check_minimiser(self) -> Finding:
        worst = _Worst()
        for sample in self.samples:
            s, u = sample.subgradient, sample.u
            for w in self._others(sample):
                value = self._value(w)
                if value == math.inf:
                    continue
                growth, least = value - sample.value, float(s @ (w - u))
                tolerance = (
                    _RELATIVE_ERROR * (abs(growth) + abs(least))
                    + self._blur(sample.v, u) * (norm(w - u) / sample.step + norm(s))
                    + self.noise * (abs(value) + abs(sample.value) + norm(s) * norm(w))
                )
                detail = (
                    f"from prox(v, {sample.step:g}) to another point t grows by {growth:.3g}; it must by {least:.3g}"
                )
                worst.see(least - growth, tolerance, detail)
        return worst.finding("prox against other points")

    def _others(self, sample: _Sample) -> Iterator[_Point]:
        """Points to compare a proximal point with: other proximal points, and some in several directions."""
        yield from (other.u for other in self.samples)
        u, scale = sample.u, 1.0 + np.abs(sample.u).max()
        directions = [u, -u, sample.v - u]
        directions += [sign * scale * d for d in self._directions() for sign in (1.0, -1.0)]
        for direction, length in itertools.product(directions, (0.01, 1.0)):
            yield u + length * direction

    def check_nonexpansiveness(self) -> Finding:
        worst = _Worst()
        for step in _STEPS:
            pairs = [(sample.v, sample.u) for sample in self.samples if sample.step == step]
            for direction in self._directions():
                pairs += [(r * direction, self._prox(r * direction, step)) for r in _LADDER]
            for (v, p), (w, q) in itertools.pairwise(pairs):
                square, product = float((p - q) @ (p - q)), float((p - q) @ (v - w))
                apart, moved = norm(v - w), norm(p - q)
                tolerance = _RELATIVE_ERROR * apart * moved + self._blur(v, w, p, q) * (apart + moved)
                detail = f"|p - q|² is {square:.3g} for two proximal points; <p - q, v - w> is {product:.3g}"
                worst.see(square - product, tolerance, detail)
        return worst.finding("firm non-expansiveness")

    def check_convexity(self) -> Finding:
        worst = _Worst()
        points = [sample.u for sample in self.samples]
        points += [r * d for d in self._directions() for r in _LADDER]
        known = [(point, value) for point in points if (value := self._value(point)) < math.inf]
        for ((a, at_a), (b, at_b)), t in itertools.product(itertools.pairwise(known), (0.5, 0.1)):
            between = self._value(a + t * (b - a))
            curvature = 0.5 * self.term.convexity * t * (1.0 - t) * float((b - a) @ (b - a))
            most = (1.0 - t) * at_a + t * at_b - curvature
            tolerance = self.noise * (abs(at_a) + abs(at_b) + curvature) + _RELATIVE_ERROR * curvature
            worst.see(between - most, tolerance, f"between two points t is {between:.6g}; at most {most:.6g} is convex")
        return worst.finding("convexity of t")

    def check_projection(self) -> Finding:
        worst = _Worst()
        for sample in self.samples:
            nearest = to_numpy(self._call("project", self._like(sample.v))).astype(np.float64)
            value = self._value(nearest)
            if not math.isfinite(value):
                return Finding("projection", False, f"t is {value} at project(v)")
            far, allowed = norm(nearest - sample.v), norm(sample.u - sample.v)
            tolerance = _RELATIVE_ERROR * allowed + self._blur(sample.v)
            worst.see(far - allowed, tolerance, f"project(v) is {far:.3g} from v, and a proximal point {allowed:.3g}")
        return worst.finding("projection")

    def check_conjugate(self) -> Iterator[Finding]:
        name, worst = "conjugate", _Worst()
        slopes = [sample.subgradient for sample in self.samples]
        slopes += [size * self._random() for size in _SIZES]
        for number, slope in enumerate(slopes):
            scale = float(self._call("dual_scale", self._like(slope)))
            s = scale * slope
            conjugate = self._call("conjugate", scale * self._like(slope))
            if conjugate is None:
                yield Finding(name, True, "none stated")
                return
            if not (0.0 <= scale <= 1.0 and math.isfinite(conjugate)):
                yield Finding(name, False, f"it is {conjugate} at s times dual_scale(s) = {scale:g}")
                return
            for index, sample in enumerate(self.samples):
                product, total = float(s @ sample.u), sample.value + float(conjugate)
                blur = self._blur(sample.v, sample.u)
                tolerance = _RELATIVE_ERROR * (abs(product) + abs(sample.value) + abs(conjugate)) + blur * norm(s)
                worst.see(product - total, tolerance, f"t(v) + t*(s) is {total:.3g}; it must be at least {product:.3g}")
                if index == number and scale >= 1.0 - _RELATIVE_ERROR:  # s is a subgradient at u, up to rounding
                    tolerance += blur * (norm(sample.v) + norm(sample.u)) / sample.step
                    worst.see(total - product, tolerance, f"t(u) + t*(s) is {total:.3g}; it must be {product:.3g}")
        yield worst.finding(name)

    def _blur(self, *points: _Point) -> float:
        """How far a proximal point may be off; a term that subtracts numbers of its own scale has their errors."""
        return self.accuracy * sum(norm(point) for point in points) + self.noise * self.spread

    def _directions(self) -> list[_Point]:
        """Random directions, and directions of single coordinates."""
        dense = [self._random() for _ in range(_RAYS_OF_EACH_KIND)]
        count = min(_RAYS_OF_EACH_KIND, self.size)
        return dense + [np.eye(1, self.size, i)[0] for i in self.rng.choice(self.size, count, replace=False)]

    def _random(self) -> _Point:
        return self.rng.standard_normal(self.size)

    def _like(self, point: _Point) -> Array:
        with np.errstate(over="ignore"):
            return to_like(point.copy(), self.prototype)

    def _round(self, point: _Point) -> _Point:
        """The point as the term will see it."""
        return to_numpy(self._like(point)).astype(np.float64)

    def _value(self, point: _Point) -> float:
        return float(self._call("value", self._like(point)))

    def _prox(self, point: _Point, step: float) -> _Point:
        return to_numpy(self._call("prox", self._like(point), step)).astype(np.float64)

    def _call(self, name: str, v: Array, *others: float) -> Any:
        """Call a method of the term, and note whether it changes its argument."""
        before = np.array(to_numpy(v))
        try:
            result = getattr(self.term, name)(v, *others)
        except Exception as error:
            raise UserCodeError(f"{name} raised {type(error).__name__}: {error}") from error
        if not np.array_equal(to_numpy(v), before):
            self.changed.add(name)
        return result


def _describe(array: Any) -> str:
    if not hasattr(array, "dtype") or not hasattr(array, "shape"):
        return type(array).__name__
    return f"shape {tuple(array.shape)}, {describe_kind(array)}"
