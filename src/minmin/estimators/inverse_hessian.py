"""Columns of the inverse Hessian of a linear model, without the Hessian: y is eliminated, and CG solves for x."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import Gauge
from minmin.core.vectors import dot
from minmin.methods.newton_step import solve_newton_system
from minmin.methods.y_system import YSystem
from minmin.numerics.dense import DENSE_UP_TO
from minmin.problems.linear.evaluation import LinearEvaluation

_Array = np.ndarray[Any, Any]

_ACCURACY, _MOST_STEPS = 1e-12, 10_000
"""Conjugate gradients stop at this relative residual, or after this many steps."""
_SOLVED = 1e-6
"""A system with a larger relative residual has no solution. A right side outside the range of H leaves at least 1e-3 of
itself if fewer than 10⁶ columns depend on each other."""
_OUTSIDE = 1e-6
"""A coefficient is not determined if the kernel of H, scaled to a unit diagonal, has this share of its square."""
_PROBES = 30
"""A trace of more terms is estimated from this many vectors of random signs. The standard error of the effective number of parameters p
is at most √(2p/30): 2.6 for p = 100."""
_NUMBERS_AT_A_TIME = 2**22
"""Margins of several columns are computed at once, up to this many numbers (32 MB)."""


class Solution(NamedTuple):
    """H⁻¹b with its margins, and whether the system has a solution."""

    x: _Array
    y: _Array
    image: _Array
    solved: bool


class InverseHessian:
    """H⁻¹ of the penalised mean loss at one point; the pseudo-inverse if H is singular.

    Coefficients are numbered: first those of x, then those of y.

    Parameters
    ----------
    evaluation : LinearEvaluation
        In NumPy and double precision.
    """

    def __init__(self, evaluation: LinearEvaluation):
        self.evaluation = evaluation
        self._y_system = YSystem(evaluation)
        preconditioner, gauge = (
            evaluation.x_preconditioner(),
            evaluation.model.loss.gauge(evaluation.model.x_block.penalty),
        )
        self._preconditioner = preconditioner if gauge is None else _WithoutGauge(preconditioner, gauge)
        self._refined = False

    @property
    def is_dense(self) -> bool:
        """Whether all coefficients are in y, so that H is factorised."""
        return self.evaluation.model.x_block.is_zero

    def solve(self, right_x: _Array, right_y: _Array) -> Solution:
        """Solve H·(x, y) = the right side by one run of conjugate gradients."""
        evaluation, model = self.evaluation, self.evaluation.model
        right_x, right_y = model.project_start(right_x, right_y)
        y = self._y_system.solve(right_y)
        gradient = evaluation.hess_product(evaluation.slice.along(0.0 * right_x), y) - right_x
        step = solve_newton_system(
            self._y_system, gradient, y, self._preconditioner, tolerance=_ACCURACY, most_steps=_MOST_STEPS
        )
        residual = evaluation.hess_product(step.direction, step.dy) - right_x
        left, all_of_it = (dot(r, self._preconditioner.solve(r)) for r in (residual, gradient))
        solved = left <= _SOLVED**2 * all_of_it
        if step.refined and not self._refined:  # the better preconditioner serves all further systems
            self._preconditioner, self._refined = self._preconditioner.refine() or self._preconditioner, True
        image = step.direction.images[0] + model.y_block.image(step.dy)
        return Solution(step.direction.dx, step.dy, image, solved)

    def images(self, numbers: Sequence[int]) -> Iterator[_Array | None]:
        """For every one of these coefficients the margins of its column of H⁻¹; None if it is not determined."""
        d_x = self.evaluation.model.d_x
        in_kernel = self._y_in_kernel
        if self.is_dense:
            for number, image in zip(numbers, self._images_in_y([n - d_x for n in numbers]), strict=True):
                yield None if in_kernel[number - d_x] else image
            return
        for number in numbers:
            right = np.zeros(d_x + self.evaluation.model.d_y)
            right[number] = 1.0
            solution = self.solve(right[:d_x], right[d_x:])
            undetermined = not solution.solved if number < d_x else in_kernel[number - d_x]
            yield None if undetermined else solution.image

    def find_kernel(self) -> list[int]:
        """The coefficients of y that the data do not determine."""
        return (self.evaluation.model.d_x + np.flatnonzero(self._y_in_kernel)).tolist()

    def count_parameters(self) -> float:
        """The effective number of parameters, tr H⁻¹(H - A) with A the penalties.

        If H is not factorised, and many coefficients are penalised, tr H⁻¹A is estimated from vectors of random signs.
        """
        model = self.evaluation.model
        rank = model.d_y if self._root is None else int(self._root.any(axis=1).sum())
        penalties = model.x_block.penalty, model.y_block.penalty
        alpha_x, alpha_y = (p.to_numpy(size) for p, size in zip(penalties, (model.d_x, model.d_y), strict=True))
        for penalty, alpha in zip(penalties, (alpha_x, alpha_y), strict=True):
            if model.loss.gauge(penalty) is not None:  # one number of every unpenalised column is free
                rank -= int((alpha == 0.0).sum()) // model.loss.outputs
        if self.is_dense and self._root is not None:
            return rank - float(np.square(self._root).sum(axis=0) @ alpha_y)
        alpha = np.concatenate([alpha_x, alpha_y])
        penalised = np.flatnonzero(alpha)
        if len(penalised) <= _PROBES:
            probes = np.zeros((len(penalised), len(alpha)))
            probes[np.arange(len(penalised)), penalised] = 1.0
            count = 1
        else:
            probes = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, len(alpha)))
            count = _PROBES
        trace = math.fsum(self._square(np.sqrt(alpha) * probe) for probe in probes) / count
        return model.d_x + rank - trace

    def _square(self, vector: _Array) -> float:
        """vᵀH⁻¹v."""
        d_x = self.evaluation.model.d_x
        solution = self.solve(vector[:d_x], vector[d_x:])
        return dot(vector[:d_x], solution.x) + dot(vector[d_x:], solution.y)

    @property
    def _root(self) -> _Array | None:
        """K with KᵀK = H_yy⁻¹; None if y is too large."""
        return self._y_system.roots[0] if self.evaluation.model.d_y <= DENSE_UP_TO else None

    @cached_property
    def _y_in_kernel(self) -> _Array:
        """Which coefficients of y are not determined, since a combination of columns of Y without penalty is zero."""
        root, gauge = self._root, self.evaluation.gauge
        if root is None or root.any(axis=1).all():
            return np.zeros(self.evaluation.model.d_y, dtype=bool)
        hessian = self.evaluation.hess_yy()
        hessian = hessian if gauge is None else gauge.make_invertible(hessian)
        diagonal = np.diagonal(hessian)
        scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled_root = root * scale
        projection = (hessian / (scale * scale[:, None])) @ scaled_root.T
        outside: _Array = 1.0 - np.einsum("ij,ji->i", projection, scaled_root) > _OUTSIDE
        return outside

    def _images_in_y(self, numbers: Sequence[int]) -> Iterator[_Array]:
        """The same for coefficients of y if there are no others; several at once, as that is faster."""
        model, root, gauge = self.evaluation.model, self._root, self.evaluation.gauge
        assert root is not None
        outputs, rows = model.loss.outputs, self.evaluation.margins.shape[0]
        at_once = max(1, _NUMBERS_AT_A_TIME // (rows * outputs))
        for start in range(0, len(numbers), at_once):
            solved = root.T @ root[:, numbers[start : start + at_once]]
            if gauge is not None:
                solved = np.stack([gauge.project(column) for column in solved.T], axis=1)
            table = solved.reshape(-1, outputs * solved.shape[1])
            images = np.ascontiguousarray(model.y_block.design.image(table).T)
            for image in images.reshape(outputs, -1, rows).transpose(1, 0, 2):
                yield image[0] if outputs == 1 else image.T


class _WithoutGauge(Preconditioner):
    """A preconditioner whose solutions have no part along which f never changes; rounding would make it grow."""

    def __init__(self, preconditioner: Preconditioner, gauge: Gauge):
        super().__init__(preconditioner.diagonal)
        self._preconditioner, self._gauge = preconditioner, gauge
        self.price = preconditioner.price

    def solve(self, r: _Array) -> _Array:
        return self._gauge.project(self._preconditioner.solve(self._gauge.project(r)))

    def refine(self) -> Preconditioner | None:
        better = self._preconditioner.refine()
        return None if better is None else _WithoutGauge(better, self._gauge)
