"""check(): tests whether a problem's gradients, slices, constants and Hessians are right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array, array_eps, to_like, to_numpy
from minmin.core.evaluation import Evaluation
from minmin.core.precision import full_float32
from minmin.core.problem import Problem, require_problem
from minmin.core.rows import RowVector
from minmin.core.start import make_start
from minmin.core.vectors import (
    Parts,
    Vector,
    dot,
    first_array,
    from_flat,
    machine_eps,
    norm,
    parts_of,
    to_flat,
)
from minmin.errors import InputError, MinMinError
from minmin.findings import Finding, Report
from minmin.numerics.lanczos import ritz_values
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel
from minmin.term_checks import check_term
from minmin.terms.parts import PartsTerm

_LANCZOS_STEPS = 60
"""How many steps of Lanczos check given constants. Measured: docs/benchmarks/tuning.md."""
_SHORTEST_DIRECTION = 1e-6
"""A new direction of Lanczos shorter than this times the largest Ritz value is only the error of differences of
gradients: about eps^⅔, which is 4e-11 in double precision. In single precision that is 2e-5, and the rounding error
that is added to this decides."""
_REPEAT_TOLERANCE = 1e3
"""Two gradients at the same point may differ by this times eps times their size: a user's callables may add in another
order each time. Measured: docs/benchmarks/tuning.md."""
_RELATIVE_ERROR, _ERROR_MARGIN = 1e-3, 10.0
"""Derivatives may differ from finite differences by ``_RELATIVE_ERROR`` times their size plus ``_ERROR_MARGIN`` times
the expected error of the differences. Measured: docs/benchmarks/tuning.md."""
_MOST_OF_L, _LEAST_OF_MU = 1.001, 0.999
"""Measured curvatures may violate the constants by a thousandth, since differences are not exact; runs allow 1 %."""
_MOST_OF_M, _LEAST_M = 1.01, 1e-2
"""The same for the self-concordance of a loss: logarithms of curvatures may be off by 1e-3 in single precision."""
_TRIED_ROWS = 100
_TRIED_SIZES = (0.0, 0.1, 1.0, 10.0)
"""How many rows a loss is tried on, and how far from zero margins are."""
_TRIED_DISTANCES = (0.1, 1.0)
_SEGMENT_LENGTHS = (1e-3, 1.0, 10.0)
"""The lengths of the segments along which convexity is checked, in units of the point's size: short and long ones."""
_NOISE_FACTOR = 8.0
"""The error of a gradient in units of eps times its size: twice what :mod:`minmin.core.bound` expects for a sum."""
_LEAST_TOLERANCE = 1e-300
"""The least tolerance, to avoid 0/0 if f and all its slopes are zero."""


def check(problem: Problem, x0: Any = None, y0: Any = None, *, seed: int = 0) -> Report:
    """Check whether a problem's gradients, slices, constants and Hessians are right.

    Gradients are compared with finite differences of f, with steps that fit the dtype. Constants are compared with the
    extreme curvatures that Lanczos finds from differences of gradients. Values and proximal maps of terms are compared
    with each other.

    Parameters
    ----------
    problem : Problem
    x0, y0 : arrays, optional
        The point around which to check; zero by default.
    seed : int
        The seed of the random points and directions.

    Returns
    -------
    Report
        ``print(report)`` shows what fails and by how much; ``report.ok`` is True if nothing fails.
    """
    require_problem(problem, "problem")
    x, y = make_start(problem, x0, y0)
    rng = np.random.default_rng(seed)
    with full_float32(problem.prototype_at(x)):
        return Report(tuple(_run_checks(problem, _Point(x, y), rng)))


def _run_checks(problem: Problem, start: _Point, rng: np.random.Generator) -> Iterator[Finding]:
    checks = _Checks(problem.without_terms().to_like(first_array(start.x)), start, rng)
    by_name: dict[str, Callable[[], Iterator[Finding]]] = {
        "determinism": checks.check_determinism,
        "gradients": checks.check_gradients,
        "slices": checks.check_slices,
        "exchanged blocks": checks.check_swapped,
        "convexity": checks.check_convexity,
        "constants": checks.check_constants,
        "y-Hessian": checks.check_y_hessian,
        "Hessian products": checks.check_hessian_products,
        "self_concordance": checks.check_self_concordance,
    }
    for name, run in by_name.items():
        try:
            yield from run()
        except MinMinError as error:
            yield Finding(name, False, str(error))
    yield from _check_terms(problem, start, rng)


def _check_terms(problem: Problem, point: _Point, rng: np.random.Generator) -> Iterator[Finding]:
    """Check every term of a problem; a finding is named after the term's class and its block."""
    for block, term, vector in (("x", problem.term_x, point.x), ("y", problem.term_y, point.y)):
        if term is None:
            continue
        terms = term.terms if isinstance(term, PartsTerm) else (term,)
        for part_term, part in zip(terms, parts_of(vector), strict=True):
            if part_term is not None:
                name = f"{type(part_term).__name__} in {block}"
                for finding in check_term(part_term, part.shape[0], rng, part):
                    yield Finding(f"{name}: {finding.name}", finding.ok, finding.detail)


class _Point(NamedTuple):
    x: Vector
    y: Vector

    def move(self, direction: _Point, t: float) -> _Point:
        """self + t·direction."""
        return _Point(self.x + t * direction.x, self.y + t * direction.y)

    def dot(self, other: _Point) -> float:
        return dot(self.x, other.x) + dot(self.y, other.y)

    def scale(self, x: float, y: float) -> _Point:
        """Each block times its own factor."""
        return _Point(x * self.x, y * self.y)

    @property
    def size(self) -> float:
        return float(np.hypot(norm(self.x), norm(self.y)))


class _Checks:
    """The checks of one problem, around one point."""

    def __init__(self, problem: Problem, start: _Point, rng: np.random.Generator):
        self.problem = problem
        self.rng = rng
        self.start = start
        self.eps = machine_eps(start.x)
        scale = 1.0 + start.size / math.sqrt(problem.d_x + problem.d_y)
        self.points = [start, *(start.move(self._random(start), scale) for _ in range(2))]

    def _random(self, prototype: _Point) -> _Point:
        return _Point(*(_random_like(block, self.rng) for block in prototype))

    def _unit(self, in_x: float = 1.0, in_y: float = 1.0) -> _Point:
        direction = self._random(self.start).scale(in_x, in_y)
        return direction.scale(*(2 * (1.0 / direction.size,)))

    def _at(self, point: _Point) -> Evaluation:
        return self.problem.fix(point.x).at(point.y)

    def _gradient(self, point: _Point) -> _Point:
        evaluation = self._at(point)
        return _Point(evaluation.grad_x, evaluation.grad_y)

    def check_determinism(self) -> Iterator[Finding]:
        point = self.points[1]
        copies = [np.array(to_numpy(part)) for block in point for part in parts_of(block)]
        first = self._gradient(point)
        copy = first.scale(1.0, 1.0)
        again = self._gradient(point)
        self._gradient(self.points[2])
        difference = again.move(copy, -1.0).size
        yield Finding(
            "the same gradients twice",
            difference <= _REPEAT_TOLERANCE * self.eps * copy.size,
            f"gradients at one point differ by {difference:.2g} of {copy.size:.2g}",
        )
        changed = first.move(copy, -1.0).size
        yield Finding(
            "gradients stay unchanged", changed == 0.0, f"a gradient changed by {changed:.2g} when another was computed"
        )
        same = all(
            np.array_equal(a, to_numpy(part))
            for a, part in zip(copies, (p for block in point for p in parts_of(block)), strict=True)
        )
        yield Finding("arguments stay unchanged", same, "x and y are unchanged" if same else "x or y was modified")

    def check_gradients(self) -> Iterator[Finding]:
        if not self.problem.has_value:
            yield Finding("gradients", True, "not compared: the problem has no values")
            return
        layout = self.problem.blocks
        names = ("∇ₓf", "∇ᵧf") if layout is None else [f"∇f in {block}" for block in layout.names]
        for name, in_x, in_y in zip(names, (1.0, 0.0), (0.0, 1.0), strict=True):
            worst = max(self._slope_error(point, self._unit(in_x, in_y)) for point in self.points for _ in range(3))
            excess, stated, measured = worst
            yield Finding(
                f"{name} against differences",
                excess <= 1.0,
                f"a slope of {stated:.6g}, and differences of f give {measured:.6g}",
            )

    def _slope_error(self, point: _Point, direction: _Point) -> tuple[float, float, float]:
        """The slope's error in units of the tolerance, the slope by the gradient, and the slope by differences."""
        stated = self._gradient(point).dot(direction)
        h = self.eps ** (1 / 3) * (1.0 + point.size)
        values = {t: self._at(point.move(direction, t * h)).value for t in (-2.0, -1.0, 1.0, 2.0)}
        near, far = (values[1.0] - values[-1.0]) / (2 * h), (values[2.0] - values[-2.0]) / (4 * h)
        rounding = self.eps * max(abs(v) for v in values.values()) / h
        tolerance = _RELATIVE_ERROR * max(abs(stated), abs(near)) + _ERROR_MARGIN * (abs(near - far) + rounding)
        return abs(stated - near) / max(tolerance, _LEAST_TOLERANCE), stated, near

    def check_slices(self) -> Iterator[Finding]:
        first, second, third = self.points
        slice_ = self.problem.fix(second.x)
        for other in (first, third):
            reused, fresh = slice_.at(other.y), self.problem.fix(second.x).at(other.y)
            gap = norm(reused.grad_x - fresh.grad_x) + norm(reused.grad_y - fresh.grad_y)
            size = norm(fresh.grad_x) + norm(fresh.grad_y)
            ok = gap <= _REPEAT_TOLERANCE * self.eps * size
            yield Finding("a reused slice", ok, f"its gradients are off by {gap:.2g} of {size:.2g}")

    def check_swapped(self) -> Iterator[Finding]:
        point = self.points[1]
        here, there = self._at(point), self.problem.swapped().fix(point.y).at(point.x)
        gap = norm(here.grad_x - there.grad_y) + norm(here.grad_y - there.grad_x)
        size = norm(here.grad_x) + norm(here.grad_y)
        ok = gap <= _REPEAT_TOLERANCE * self.eps * size
        yield Finding("swapped()", ok, f"its gradients are off by {gap:.2g} of {size:.2g}")

    def check_convexity(self) -> Iterator[Finding]:
        _, least = self._extreme_curvatures(1.0, 1.0)
        for point in self.points:
            for length in _SEGMENT_LENGTHS:
                curvature, error = self._secant(point, self._unit(), length * (1.0 + point.size))
                least = min(least, curvature + error)
        yield Finding("convexity", least >= 0.0, f"the least curvature measured is {least:.3g}")

    def _secant(self, point: _Point, direction: _Point, length: float) -> tuple[float, float]:
        """The curvature along a segment of this length, and its rounding error; the direction has length one."""
        a, b = (self._gradient(point.move(direction, t * length)) for t in (-0.5, 0.5))
        return b.move(a, -1.0).dot(direction) / length, self._noise(a, b) / length

    def check_self_concordance(self) -> Iterator[Finding]:
        if not isinstance(self.problem, LinearModel) or isinstance(self.problem.target, RowVector):
            return
        loss = self.problem.loss
        if loss.outputs == 1 and math.isfinite(loss.self_concordance):
            least = _measure_self_concordance(loss, self.problem.target, self.rng)
            ok = least <= _MOST_OF_M * loss.self_concordance + _LEAST_M
            yield Finding("self_concordance", ok, f"stated {loss.self_concordance:.6g}, measured {least:.6g}")

    def check_constants(self) -> Iterator[Finding]:
        c = self.problem.constants
        if c is None:
            yield Finding("constants", True, "none stated")
            return
        for in_y, L, mu in ((False, c.L_x, c.mu_x), (True, c.L_y, c.mu_y)):
            most, least = self._extreme_curvatures(float(not in_y), float(in_y))
            alone = f"in {c.blocks[in_y]} alone"
            detail = f"stated {L:.6g}, measured {most:.6g} {alone}"
            yield Finding(c.name("L", in_y), most <= _MOST_OF_L * L, detail)
            detail = f"stated {mu:.6g}, measured {least:.6g} {alone}"
            yield Finding(c.name("mu", in_y), least >= _LEAST_OF_MU * mu, detail)
        if np.isfinite([c.L_x, c.L_y]).all():
            most, _ = self._extreme_curvatures(c.L_x**-0.5, c.L_y**-0.5)
            both = f"{c.name('L', False)} and {c.name('L', True)} together"
            yield Finding(both, most <= _MOST_OF_L, f"the largest curvature is {most:.6g} of what they allow")
        if c.mu_x > 0.0 and c.mu_y > 0.0:
            _, least = self._extreme_curvatures(c.mu_x**-0.5, c.mu_y**-0.5)
            both = f"{c.name('mu', False)} and {c.name('mu', True)} together"
            yield Finding(both, least >= _LEAST_OF_MU, f"the least curvature is {least:.6g} of what they promise")

    def _extreme_curvatures(self, in_x: float, in_y: float) -> tuple[float, float]:
        """The largest and the least curvature of f with scaled blocks, by Lanczos at every point.

        Both are corrected by the rounding error, so that rounding alone never violates the constants.
        """
        most, least = -np.inf, np.inf
        for point in self.points:
            ritz, error = self._ritz_values(point, in_x, in_y)
            most, least = max(most, float(ritz[-1]) - error), min(least, float(ritz[0]) + error)
        return most, least

    def _ritz_values(self, point: _Point, in_x: float, in_y: float) -> tuple[np.ndarray[Any, Any], float]:
        """Approximate eigenvalues of the scaled Hessian at a point, and the rounding error in them."""
        h = self.eps ** (1 / 3) * (1.0 + point.size) / max(in_x, in_y)
        error = 0.0

        def apply(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            nonlocal error
            image, noise = self._hessian_times(point, self._unpack(v).scale(in_x, in_y), h)
            error = max(error, noise * max(in_x, in_y))
            product = self._pack(image.scale(in_x, in_y))
            if not np.isfinite(product).all():
                raise InputError(
                    "close to a point that check() tries, a gradient of f is NaN or infinite; give x0 and y0 well "
                    "inside the domain of f"
                )
            return product

        start = self._pack(self._unit(float(in_x > 0), float(in_y > 0)))
        steps = min(_LANCZOS_STEPS, (self.problem.d_x if in_x else 0) + (self.problem.d_y if in_y else 0))

        def shortest_direction(scale: float) -> float:
            return _SHORTEST_DIRECTION * scale + error

        return ritz_values(apply, start, steps, shortest_direction=shortest_direction, orthogonalize=True), error

    def _pack(self, point: _Point) -> np.ndarray[Any, Any]:
        """A point as one NumPy vector with the same inner products."""
        return np.concatenate([to_flat(block) for block in point])

    def _unpack(self, v: np.ndarray[Any, Any]) -> _Point:
        parts = np.split(v, [to_flat(self.start.x).size])
        return _Point(*(from_flat(part, block) for part, block in zip(parts, self.start, strict=True)))

    def _hessian_times(self, point: _Point, direction: _Point, h: float) -> tuple[_Point, float]:
        """The Hessian times a direction by differences of gradients, and the rounding error in it."""
        a, b = self._gradient(point.move(direction, -h)), self._gradient(point.move(direction, h))
        return b.move(a, -1.0).scale(*(2 * (0.5 / h,))), self._noise(a, b) / (2.0 * h)

    def _noise(self, a: _Point, b: _Point) -> float:
        """The expected rounding error in the difference of two gradients."""
        stated = sum(self.problem.gradient_noise(self._at(self.points[1])))
        return _NOISE_FACTOR * self.eps * (a.size + b.size) + 2.0 * stated

    def check_y_hessian(self) -> Iterator[Finding]:
        if not self.problem.is_second_order or isinstance(self.start.y, Parts):
            return
        point, direction = self.points[1], self._unit(0.0, 1.0)
        here: Any = self.problem.evaluate(*point)
        stated = here.hess_yy() @ direction.y
        measured, error = self._hessian_times(point, direction, self.eps ** (1 / 3) * (1.0 + point.size))
        gap = norm(stated - measured.y)
        ok = gap <= _RELATIVE_ERROR * norm(stated) + _ERROR_MARGIN * error
        yield Finding("y-Hessian against differences", ok, f"off by {gap:.2g} of {norm(stated):.2g}")

    def check_hessian_products(self) -> Iterator[Finding]:
        if not self.problem.is_second_order:
            return
        point, direction = self.points[1], self._unit(1.0, 1.0)
        here: Any = self.problem.evaluate(*point)
        stated = here.hess_product(here.slice.along(direction.x), direction.y)
        measured, error = self._hessian_times(point, direction, self.eps ** (1 / 3) * (1.0 + point.size))
        gap = norm(stated - measured.x)
        ok = gap <= _RELATIVE_ERROR * norm(stated) + _ERROR_MARGIN * error
        yield Finding("Hessian products against differences", ok, f"off by {gap:.2g} of {norm(stated):.2g}")


def _random_like(vector: Vector, rng: np.random.Generator) -> Vector:
    if isinstance(vector, Parts):
        return vector.map(lambda part: _random_like(part, rng))
    return to_like(rng.standard_normal(vector.shape[0]), vector)


def _measure_self_concordance(loss: Loss, target: Array, rng: np.random.Generator) -> float:
    """The largest |log ℓ''(m + v) - log ℓ''(m)|/|v| of some rows: no M below it is right."""
    rows = target[: min(_TRIED_ROWS, target.shape[0])]
    most = 0.0
    for size in _TRIED_SIZES:
        margins = to_like(size * rng.standard_normal(rows.shape[0]), rows)
        here = _curvature(loss, margins, rows)
        for distance in _TRIED_DISTANCES:
            there = _curvature(loss, margins + distance, rows)
            # A curvature far below the others may be a rounding error, as in 1 - tanh².
            clear = np.minimum(here, there) > math.sqrt(array_eps(rows)) * max(here.max(), there.max())
            changes = np.abs(np.log(there[clear]) - np.log(here[clear])) / distance
            most = max(most, *changes.tolist())
    return most


def _curvature(loss: Loss, margins: Array, target: Array) -> Any:
    return to_numpy(loss.curvature(margins, target, loss.prepare(margins, target))).astype(np.float64)
