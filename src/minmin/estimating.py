"""estimate_constants(): the constants of any problem around one point, from differences of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from minmin.core.arrays import all_finite
from minmin.core.blocks import BlockLayout
from minmin.core.bound import Constants, rounding_error
from minmin.core.precision import full_float32
from minmin.core.problem import Problem, require_problem
from minmin.core.start import make_start
from minmin.core.vectors import Vector, first_array, from_flat, norm, to_flat
from minmin.errors import GRADIENT_MAY_BE_WRONG, InputError, NonFiniteError, UnsupportedError
from minmin.numerics.lanczos import ritz_values
from minmin.problems.spectrum import (
    choose_cheapest,
    convexity_frontier,
    least_eigenvalue,
    prove_constants,
    smoothness_frontier,
)

Matrix = np.ndarray[Any, Any]
Frontier = list[tuple[float, float]]

_X_PROBES = 30
"""Directions along which the change of ∇ₓf is measured. Measured: docs/benchmarks/tuning.md."""
_Y_PROBES = 60
"""The same for ∇ᵧf, which is cheap."""
_L_MARGIN, _MU_MARGIN = 1.15, 0.5
"""Factors of L and mu if the probes do not span the space. Curvatures along probes lie between the extremes, so that
without the factors L would be too low and mu too high. Measured: docs/benchmarks/tuning.md."""
_SHORTEST_DIRECTION = 1e-6
"""A new direction of Lanczos shorter than this times the largest Ritz value is only the error of the differences."""
_LEAST_SHARE = 0.1
"""A direction in x is left out if its share in all joint probes is below this. The errors of the differences are
divided by the share."""
_SINGLE_EPS = float(np.finfo(np.float32).eps)
"""The precision of callables that compute in float32, whatever dtype they return."""
_SUSPICIOUS, _CONTRADICTORY = 1e-3, 0.1
"""Errors of the measured Hessian relative to its norm. In double precision an error is about 1e-10. Above the first,
gradients are probably computed in single precision, and longer steps are tried. Above the second they are no gradients
of one function, or change abruptly."""

_GIVE_ANOTHER_POINT = "constants are estimated around one point: give x and y inside the domain of f"


def estimate_constants(problem: Problem, x: Any = None, y: Any = None) -> Constants:
    """The constants of a problem: proved or given ones if it has them, else estimates at a point.

    What the problem proves, or what its user has given, is returned as it is. Estimates replace what is missing: all
    four constants, or both L if one is infinite (Poisson loss), or both mu if one is zero (a block without a penalty).
    They come from differences of gradients along some directions, and hold at the point only. L may be larger and mu
    smaller elsewhere; so estimate at several points if f is far from quadratic. A bound that is based on estimates is
    not certified.

    If x has at most 30 variables and y at most 60, the whole Hessian is measured. This takes 2·d_x + 5 calls of ∇ₓf and
    2·(d_x + d_y) + 9 of ∇ᵧf. The estimates are then right up to rounding and the error of the differences. A mu below
    that error is reported as 0. In larger problems Lanczos chooses the directions: at most 65 calls of ∇ₓf and 310 of
    ∇ᵧf. Then L has a margin of 15 %, and mu is half of what was measured. It may still be too high if a condition
    number is large. On random quadratics with 200 to 800 variables mu was never too high for κ up to 100; it was up to
    4 times too high for κ = 10³, 12 times for 10⁴, and 30 times for 10⁶. The calls double if gradients turn out to be
    computed in single precision although they are stored in double.

    If f has several blocks, ``.L`` and ``.mu`` have a number for every block, and can be given back: ``Function(value,
    grads=..., sizes=..., L=constants.L, mu=constants.mu)``. The whole Hessian is then measured if the outermost block
    has at most 30 variables and the others together at most 60. Otherwise each of the other blocks takes up to 240
    further calls of ∇ᵧf.

    Parameters
    ----------
    problem : Problem
    x, y : arrays, optional
        The point; zero by default. A point near the minimum is a good choice.

    Returns
    -------
    Constants
        With ``source="estimated"`` and the point in ``at``, if any of the four is an estimate.

    Raises
    ------
    InputError
        If f is not convex at the point, or if the gradients contradict each other.
    NonFiniteError
        If a gradient is not finite at the point.

    Examples
    --------
    >>> import minmin
    >>> f = minmin.problems.Function(
    ...     None, lambda x, y: 2 * x + y, lambda x, y: x + 50 * y, d_x=3, d_y=3
    ... )
    >>> constants = minmin.estimate_constants(f)
    >>> constants.source
    'estimated'
    """
    require_problem(problem, "problem")
    known = problem.constants
    if known is not None and known.source == "estimated":
        known = None
    L_known = known is not None and math.isfinite(known.L_x) and math.isfinite(known.L_y)
    mu_known = known is not None and known.mu_x > 0.0 and known.mu_y > 0.0
    if known is not None and L_known and mu_known:
        return known
    if problem.y_is_remote:
        raise UnsupportedError(
            "y stays with the clients, so the constants of a federation cannot be estimated here; "
            "let every client give its problem constants=minmin.estimate_constants(problem)"
        )
    x, y = make_start(problem, x, y)
    with full_float32(problem.prototype_at(x)):
        hessian = _measure(problem.to_like(first_array(x)), x, y)
    L_pairs = [(known.L_x, known.L_y)] if known is not None and L_known else hessian.smoothness()
    mu_pairs = [(known.mu_x, known.mu_y)] if known is not None and mu_known else hessian.convexity()
    L_x, L_y, mu_x, mu_y = choose_cheapest(L_pairs, mu_pairs)
    estimated = Constants(max(L_x, mu_x), max(L_y, mu_y), mu_x, mu_y).estimated_at(*problem.to_user(x, y))
    if problem.blocks is None:
        return estimated
    L, mu = hessian.of_blocks(problem.blocks)
    if known is not None:
        L, mu = (L_known and known.L) or L, (mu_known and known.mu) or mu
    return estimated.with_blocks(tuple(map(max, L, mu)), mu)


class _Projection(NamedTuple):
    """The Hessian at a point, projected on directions in x and directions in y.

    Attributes
    ----------
    matrix : array
        In units in which both diagonal blocks have norms around one.
    counts : tuple of int
        How many of the directions are in x, and how many in every block in y.
    scales : tuple of float
        The units of curvature in x and in y.
    asymmetry : float
        The norm of the antisymmetric part, which has been removed: the error of the differences shows there.
    rounding : float
        The expected error of ``matrix`` by rounding.
    complete : bool
        Whether the directions span the whole space.
    """

    matrix: Matrix
    counts: tuple[int, ...]
    scales: tuple[float, float]
    asymmetry: float
    rounding: float
    complete: bool

    @property
    def error(self) -> float:
        """The error of ``matrix``."""
        return max(self.asymmetry, self.rounding)

    def smoothness(self) -> Frontier:
        """Estimates of (L_x, L_y)."""
        return self._in_original_units(smoothness_frontier(self.raised, self.counts[0]), self.margins[0])

    def convexity(self) -> Frontier:
        """Estimates of (mu_x, mu_y); zeros if the error hides them."""
        values, vectors = scipy.linalg.eigh(self.matrix, subset_by_index=[0, 0])
        if values[0] < -2.0 * self.error:
            parts = np.split(vectors[:, 0], [self.counts[0]])
            square_length = sum(float(part @ part) / scale for part, scale in zip(parts, self.scales, strict=True))
            raise InputError(
                "f is not convex at this point: its curvature along some direction is "
                f"{values[0] / square_length:.3g}. minmin needs a convex f; if f is convex, {GRADIENT_MAY_BE_WRONG}"
            )
        pairs = convexity_frontier(self.lowered, self.counts[0]) or [(0.0, 0.0)]
        return self._in_original_units(pairs, self.margins[1])

    def of_blocks(self, layout: BlockLayout) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Estimates of L and mu of every block, in the user's order."""
        L, _ = prove_constants(self.raised, self.counts)
        is_convex = least_eigenvalue(self.lowered) > 0.0
        mu = prove_constants(self.lowered, self.counts)[1] if is_convex else (0.0,) * len(L)
        units = (self.scales[0], *(self.scales[1] for _ in layout.rest))
        factors = [unit * layout.scales[i] ** 2 for i, unit in zip(layout.order, units, strict=True)]
        places = np.argsort(layout.order)
        in_user_order = [
            tuple(float(margin * numbers[place] * factors[place]) for place in places)
            for margin, numbers in zip(self.margins, (L, mu), strict=True)
        ]
        return in_user_order[0], in_user_order[1]

    @property
    def raised(self) -> Matrix:
        """The matrix with its error added."""
        return self.matrix + self.error * np.eye(len(self.matrix))

    @property
    def lowered(self) -> Matrix:
        """The matrix with twice its error subtracted."""
        return self.matrix - 2.0 * self.error * np.eye(len(self.matrix))

    @property
    def margins(self) -> tuple[float, float]:
        """The factors of L and of mu."""
        return (1.0, 1.0) if self.complete else (_L_MARGIN, _MU_MARGIN)

    def _in_original_units(self, pairs: Frontier, margin: float) -> Frontier:
        in_x, in_y = (margin * scale for scale in self.scales)
        return [(in_x * for_x, in_y * for_y) for for_x, for_y in pairs]


def _measure(problem: Problem, x: Vector, y: Vector) -> _Projection:
    """The projected Hessian, with longer steps if gradients are less precise than they seem."""
    gradients = _Gradients(problem, x, y)
    hessian = _project(_ScaledHessian(gradients, gradients.eps))
    if hessian.error > _SUSPICIOUS and gradients.eps < _SINGLE_EPS:
        hessian = min(hessian, _project(_ScaledHessian(gradients, _SINGLE_EPS)), key=lambda h: h.error)
    if hessian.asymmetry > _CONTRADICTORY:
        raise InputError(
            "the gradients around this point contradict each other: the Hessian from their differences is not "
            f"symmetric, by {hessian.asymmetry:.2g} of its norm; f may not be smooth here, or {GRADIENT_MAY_BE_WRONG}"
        )
    return hessian


class _Gradients:
    """Both gradients around a point, as NumPy arrays in double precision."""

    def __init__(self, problem: Problem, x: Vector, y: Vector):
        self._problem, self._x, self._y = problem, x, y
        self.sizes = to_flat(x).size, to_flat(y).size
        blocks = problem.blocks
        self.sizes_in_y = self.sizes[1:] if blocks is None else tuple(blocks.sizes[i] for i in blocks.rest)
        self.norms = norm(x), norm(y)
        self.eps = 0.0
        self.here = self.at(np.zeros(self.sizes[0]), np.zeros(self.sizes[1]))

    def at(self, dx: Matrix, dy: Matrix) -> tuple[Matrix, Matrix]:
        """∇ₓf and ∇ᵧf at (x + dx, y + dy)."""
        evaluation = self._evaluate(dx, dy)
        return self._read(evaluation, "grad_x"), self._read(evaluation, "grad_y")

    def in_y_at(self, dy: Matrix) -> Matrix:
        """∇ᵧf at (x, y + dy)."""
        return self._read(self._evaluate(np.zeros(self.sizes[0]), dy), "grad_y")

    def _evaluate(self, dx: Matrix, dy: Matrix) -> Any:
        return self._problem.fix(self._x + from_flat(dx, self._x)).at(self._y + from_flat(dy, self._y))

    def _read(self, evaluation: Any, name: str) -> Matrix:
        try:
            gradient = to_flat(getattr(evaluation, name))
        except NonFiniteError as error:
            raise NonFiniteError(f"{error}; {_GIVE_ANOTHER_POINT}") from error
        if not all_finite(gradient):
            raise NonFiniteError(f"{name} is NaN or infinite; {_GIVE_ANOTHER_POINT}")
        self.eps = max(self.eps, evaluation.rounding.eps)
        return gradient


class _ScaledHessian:
    """Products with the Hessian by central differences, in units in which its diagonal blocks have norms around one."""

    def __init__(self, gradients: _Gradients, eps: float):
        self._gradients = gradients
        steps = [_step_length(eps, size) for size in gradients.norms]
        (d_x, d_y), rng = gradients.sizes, np.random.default_rng(0)
        self.scales = (
            _rough_norm(lambda v: self._difference(steps[0], v, np.zeros(d_y))[0], rng.standard_normal(d_x)),
            _rough_norm(lambda w: self._difference_in_y(steps[1], w), rng.standard_normal(d_y)),
        )
        self._roots = math.sqrt(self.scales[0]), math.sqrt(self.scales[1])
        self._step = max(root * step for root, step in zip(self._roots, steps, strict=True))
        terms = sum(
            root * size + float(np.linalg.norm(gradient)) / root
            for root, size, gradient in zip(self._roots, gradients.norms, gradients.here, strict=True)
        )
        self.rounding = rounding_error(eps, terms) / self._step

    @property
    def sizes(self) -> tuple[int, int]:
        return self._gradients.sizes

    @property
    def sizes_in_y(self) -> tuple[int, ...]:
        """The lengths of the blocks in y."""
        return self._gradients.sizes_in_y

    def times(self, direction: Matrix) -> Matrix:
        in_x, in_y = np.split(direction, [self.sizes[0]])
        image_x, image_y = self._difference(self._step, in_x / self._roots[0], in_y / self._roots[1])
        return np.concatenate([image_x / self._roots[0], image_y / self._roots[1]])

    def times_in_y(self, direction: Matrix) -> Matrix:
        """H_yy times a direction, without a call of ∇ₓf."""
        return self._difference_in_y(self._step, direction / self._roots[1]) / self._roots[1]

    def _difference(self, step: float, in_x: Matrix, in_y: Matrix) -> tuple[Matrix, Matrix]:
        after = self._gradients.at(step * in_x, step * in_y)
        before = self._gradients.at(-step * in_x, -step * in_y)
        return (after[0] - before[0]) / (2.0 * step), (after[1] - before[1]) / (2.0 * step)

    def _difference_in_y(self, step: float, in_y: Matrix) -> Matrix:
        after, before = self._gradients.in_y_at(step * in_y), self._gradients.in_y_at(-step * in_y)
        return (after - before) / (2.0 * step)


def _step_length(eps: float, size: float) -> float:
    """The step of central differences at a point of this norm.

    With s = 1 + size, (eps·s)^⅓ is best if f changes its shape over lengths around 1, and eps^⅓·s if it does so over
    lengths around s. This lies between them.
    """
    return float((eps * (1.0 + size) ** 2) ** (1 / 3))


def _rough_norm(apply: Callable[[Matrix], Matrix], start: Matrix) -> float:
    """The norm of a symmetric operator from two power steps; never too large, and one for a zero operator."""
    image = apply(start / np.linalg.norm(start))
    length = float(np.linalg.norm(image))
    return (float(np.linalg.norm(apply(image / length))) if length > 0.0 else 0.0) or 1.0


def _project(hessian: _ScaledHessian) -> _Projection:
    """Project the Hessian on directions that Lanczos finds, or on all if they are few.

    A probe q = (q_x, q_y) has an image H q in both blocks. H_yy q_y is measured apart, without ∇ₓf. The difference of
    the two y-images is H_yx q_x, which by symmetry also gives H_xy. So one product with ∇ₓf yields two directions, q_x
    and q_y, and the constants of each block are found apart even if the other block is much worse conditioned.
    """
    d_x, d_y = hessian.sizes
    rng = np.random.default_rng(1)
    if d_x <= _X_PROBES:
        probes = np.eye(d_x + d_y, d_x)
        images = _columns(hessian.times, probes)
    else:
        probes, images = _lanczos(hessian.times, rng.standard_normal(d_x + d_y), _X_PROBES)
    if d_y <= _Y_PROBES:
        V_y = np.eye(d_y)
        H_yy_V_y = _columns(hessian.times_in_y, V_y)
    else:
        V_y, H_yy_V_y = _lanczos(hessian.times_in_y, rng.standard_normal(d_y), _Y_PROBES)
        seen = np.hstack([probes[d_x:], images[d_x:]])
        for _ in range(2):  # twice, so that only rounding errors are left
            seen = seen - V_y @ (V_y.T @ seen)
        further = _orthonormal_columns(seen, _SHORTEST_DIRECTION)[0]
        V_y, H_yy_V_y = np.hstack([V_y, further]), np.hstack([H_yy_V_y, _columns(hessian.times_in_y, further)])
    counts_y = hessian.sizes_in_y
    if d_y > _Y_PROBES and len(counts_y) > 1:  # directions in a single block, which span those found before
        spans = [_orthonormal_columns(rows, _SHORTEST_DIRECTION)[0] for rows in np.split(V_y, np.cumsum(counts_y)[:-1])]
        V_y, counts_y = scipy.linalg.block_diag(*spans), tuple(span.shape[1] for span in spans)
        H_yy_V_y = _columns(hessian.times_in_y, V_y)
    elif d_y > _Y_PROBES:
        counts_y = (V_y.shape[1],)
    V_x, mix = _orthonormal_columns(probes[:d_x], _LEAST_SHARE)  # V_x = probes_x @ mix
    in_y = V_y.T @ (probes[d_x:] @ mix)
    H_yx = V_y.T @ (images[d_x:] @ mix) - V_y.T @ H_yy_V_y @ in_y
    H_xx = V_x.T @ (images[:d_x] @ mix) - H_yx.T @ in_y
    H_yy = V_y.T @ H_yy_V_y
    asymmetry = max(float(np.linalg.norm(block - block.T, 2)) / 2.0 for block in (H_xx, H_yy))
    if np.linalg.norm(H_yx, 2) <= 2.0 * max(asymmetry, hessian.rounding):
        H_yx = np.zeros_like(H_yx)  # if x and y do not interact, the constants of a block are its own eigenvalues
    matrix = np.block([[(H_xx + H_xx.T) / 2.0, H_yx.T], [H_yx, (H_yy + H_yy.T) / 2.0]])
    return _Projection(
        matrix=matrix,
        counts=(V_x.shape[1], *counts_y),
        scales=hessian.scales,
        asymmetry=asymmetry,
        rounding=hessian.rounding,
        complete=len(matrix) == d_x + d_y,
    )


def _columns(apply: Callable[[Matrix], Matrix], directions: Matrix) -> Matrix:
    """The images of all columns."""
    return np.stack([apply(column) for column in directions.T], axis=1) if directions.size else directions


def _lanczos(apply: Callable[[Matrix], Matrix], start: Matrix, steps: int) -> tuple[Matrix, Matrix]:
    """The directions of Lanczos and their images, as columns."""
    directions, images = [], []

    def recorded(v: Matrix) -> Matrix:
        directions.append(v)
        images.append(apply(v))
        return images[-1]

    ritz_values(
        recorded, start, steps, shortest_direction=lambda scale: _SHORTEST_DIRECTION * scale, orthogonalize=True
    )
    return np.stack(directions, axis=1), np.stack(images, axis=1)


def _orthonormal_columns(matrix: Matrix, least: float) -> tuple[Matrix, Matrix]:
    """Orthonormal columns U = matrix @ mix that span what is longer than ``least`` in the matrix, and mix."""
    U, lengths, Vt = scipy.linalg.svd(matrix, full_matrices=False)
    kept = lengths > least
    return U[:, kept], Vt[kept].T / lengths[kept]
