"""Columns of the inverse Hessian of a linear model: by a factorisation, or by conjugate gradients without a Hessian."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from minmin.core.arrays import Array
from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import Gauge
from minmin.core.vectors import dot
from minmin.methods.newton_step import solve_newton_system
from minmin.methods.y_system import YSystem
from minmin.numerics.dense import DENSE_UP_TO, inverse_root
from minmin.problems.linear.evaluation import LinearEvaluation
from minmin.problems.linear.penalties import Penalty

_ACCURACY, _MOST_STEPS = 1e-11, 10_000
"""Conjugate gradients stop at this relative residual, or after this many steps. Measured: docs/benchmarks/tuning.md."""
_SOLVED = 1e-6
"""A system with a larger relative residual has no solution. A right side outside the range of H leaves at least 1e-3 of
itself if fewer than 10⁶ columns depend on each other."""
_OUTSIDE = 1e-6
"""A coefficient is not determined if the kernel of H, scaled to a unit diagonal, has this share of its square."""
_PROBES = 30
"""A trace of more terms is estimated from this many vectors of random signs. The standard error of the effective number
of parameters p is at most √(2p/30): 2.6 for p = 100."""
_NUMBERS_AT_A_TIME = 2**22
"""Margins of several columns are computed at once, up to this many numbers (32 MB)."""


class Solution(NamedTuple):
    """H⁻¹b with its margins, and whether the system has a solution."""

    x: Array
    y: Array
    image: Array
    solved: bool


class InverseHessian(ABC):
    """H⁻¹ of the penalised mean loss at one point; the pseudo-inverse if H is singular.

    Coefficients are numbered: first those of x, then those of y. If the loss does not change as one number is added to
    all margins of a sample, the coefficients of every column sum to zero, and so do those of every solution here. That
    part of H has no data in it: small penalties would make it large in H⁻¹, and lose digits.

    Parameters
    ----------
    evaluation : LinearEvaluation
        In NumPy and double precision.
    """

    def __init__(self, evaluation: LinearEvaluation):
        self.evaluation = evaluation
        self._gauge = evaluation.model.loss.gauge(Penalty(0.0))

    @abstractmethod
    def solve(self, right_x: Array, right_y: Array) -> Solution:
        """Solve H·(x, y) = the right side."""

    @abstractmethod
    def images(self, numbers: Sequence[int]) -> Iterator[Array | None]:
        """For every one of these coefficients the margins of its column of H⁻¹; None if it is not determined."""

    @abstractmethod
    def count_parameters(self) -> float:
        """The effective number of parameters, tr H⁻¹(H - A) with A the penalties."""

    def find_kernel(self) -> list[int]:
        """The coefficients of y that the data do not determine."""
        return (self.evaluation.model.d_x + np.flatnonzero(self._in_kernel)).tolist()

    @abstractmethod
    def _factorise(self) -> tuple[Array, Array] | None:
        """H_yy, invertible but for dependent columns, and K with KᵀK = H_yy⁻¹; None if y is too large for that."""

    @property
    def _in_kernel(self) -> Array:
        """Which coefficients of y are not determined, since a combination of columns of Y without penalty is zero."""
        return self._kernel_shares > _OUTSIDE

    @cached_property
    def _kernel_shares(self) -> Array:
        """The diagonal of the projection onto the kernel of H_yy, scaled to a unit diagonal."""
        factorised = self._factorise()
        if factorised is None or factorised[1].any(axis=1).all():
            return np.zeros(self.evaluation.model.d_y)
        hessian, root = factorised
        diagonal = np.diagonal(hessian)
        scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled_root = root * scale
        range_ = (hessian / (scale * scale[:, None])) @ scaled_root.T
        return 1.0 - np.einsum("ij,ji->i", range_, scaled_root)

    def _count_free(self, size: int) -> int:
        """How many of these coefficients are free: all but sums over the outputs, and dependent columns of Y."""
        in_sums = 0 if self._gauge is None else size // self.evaluation.model.loss.outputs
        return size - in_sums - round(float(self._kernel_shares.sum()))

    def _project(self, vectors: Array) -> Array:
        """A vector, or every row of a matrix, without sums over the outputs."""
        if self._gauge is None:
            return vectors
        return np.reshape([self._gauge.project(v) for v in np.atleast_2d(vectors)], vectors.shape)


class FactorisedInverse(InverseHessian):
    """For a model whose columns are all in Y: H_yy is H, but for one column of zeros in X."""

    def __init__(self, evaluation: LinearEvaluation):
        super().__init__(evaluation)
        hessian = evaluation.hess_yy()
        self._hessian = hessian if self._gauge is None else self._gauge.make_invertible(hessian)
        whole = inverse_root(self._hessian)
        self._whole_root, self._root = whole, self._project(whole)

    def _factorise(self) -> tuple[Array, Array]:
        return self._hessian, self._whole_root

    def solve(self, right_x: Array, right_y: Array) -> Solution:
        y = self._root.T @ (self._root @ right_y)
        return Solution(0.0 * right_x, y, self.evaluation.model.y_block.image(y), True)

    def images(self, numbers: Sequence[int]) -> Iterator[Array | None]:
        model = self.evaluation.model
        outputs, rows = model.loss.outputs, self.evaluation.margins.shape[0]
        at_once = max(1, _NUMBERS_AT_A_TIME // (rows * outputs))
        for start in range(0, len(numbers), at_once):
            chosen = np.array(numbers[start : start + at_once]) - model.d_x
            table = (self._root.T @ self._root[:, chosen]).reshape(-1, outputs * len(chosen))
            images = np.ascontiguousarray(model.y_block.design.image(table).T).reshape(outputs, len(chosen), rows)
            for place, number in enumerate(chosen):
                image = images[0, place] if outputs == 1 else images[:, place].T
                yield None if self._in_kernel[number] else image

    def count_parameters(self) -> float:
        alpha = self.evaluation.model.y_block.penalty.to_numpy(len(self._root))
        return self._count_free(len(alpha)) - float(np.square(self._root).sum(axis=0) @ alpha)


class IterativeInverse(InverseHessian):
    """One run of conjugate gradients per column: y is eliminated as in Newton's method, and they solve for x."""

    def __init__(self, evaluation: LinearEvaluation):
        super().__init__(evaluation)
        self._y_system = YSystem(evaluation)
        preconditioner = evaluation.x_preconditioner()
        self._preconditioner = preconditioner if self._gauge is None else _WithoutGauge(preconditioner, self._gauge)
        self._refined = False

    def _factorise(self) -> tuple[Array, Array] | None:
        evaluation = self.evaluation
        if evaluation.model.d_y > DENSE_UP_TO:
            return None
        hessian, gauge = evaluation.hess_yy(), evaluation.gauge
        return hessian if gauge is None else gauge.make_invertible(hessian), self._y_system.roots[0]

    def solve(self, right_x: Array, right_y: Array) -> Solution:
        evaluation, model = self.evaluation, self.evaluation.model
        right_x, right_y = self._project(right_x), self._project(right_y)
        y = self._y_system.solve(right_y)
        gradient = evaluation.hess_product(evaluation.slice.along(0.0 * right_x), y) - right_x
        step = solve_newton_system(
            self._y_system, gradient, y, self._preconditioner, tolerance=_ACCURACY, most_steps=_MOST_STEPS
        )
        residual = evaluation.hess_product(step.direction, step.dy) - right_x
        left, all_of_it = (dot(r, self._preconditioner.solve(r)) for r in (residual, gradient))
        if step.end.refined and not self._refined:  # the better preconditioner serves all further systems
            self._preconditioner, self._refined = self._preconditioner.refine() or self._preconditioner, True
        image = step.direction.images[0] + model.y_block.image(step.dy)
        return Solution(step.direction.dx, step.dy, image, left <= _SOLVED**2 * all_of_it)

    def images(self, numbers: Sequence[int]) -> Iterator[Array | None]:
        d_x, d_y = self.evaluation.model.d_x, self.evaluation.model.d_y
        for number in numbers:
            right = np.zeros(d_x + d_y)
            right[number] = 1.0
            solution = self.solve(right[:d_x], right[d_x:])
            determined = solution.solved and not (number >= d_x and self._in_kernel[number - d_x])
            yield solution.image if determined else None

    def count_parameters(self) -> float:
        """Dependent columns of X all count. If many coefficients are penalised, the trace is that of random signs."""
        model = self.evaluation.model
        alpha = np.concatenate([block.penalty.to_numpy(block.size) for block in (model.x_block, model.y_block)])
        penalised = np.flatnonzero(alpha)
        if len(penalised) <= _PROBES:
            probes = np.zeros((len(penalised), len(alpha)))
            probes[np.arange(len(penalised)), penalised] = 1.0
            repeats = 1
        else:
            probes = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, len(alpha)))
            repeats = _PROBES
        trace = math.fsum(self._square(np.sqrt(alpha) * probe) for probe in probes) / repeats
        return self._count_free(len(alpha)) - trace

    def _square(self, vector: Array) -> float:
        """vᵀH⁻¹v."""
        d_x = self.evaluation.model.d_x
        solution = self.solve(vector[:d_x], vector[d_x:])
        return dot(vector[:d_x], self._project(solution.x)) + dot(vector[d_x:], self._project(solution.y))


class _WithoutGauge(Preconditioner):
    """A preconditioner whose solutions have no part along which f never changes; rounding would make it grow."""

    def __init__(self, preconditioner: Preconditioner, gauge: Gauge):
        super().__init__(preconditioner.diagonal)
        self._preconditioner, self._gauge = preconditioner, gauge
        self.price = preconditioner.price

    def solve(self, r: Array) -> Array:
        return self._gauge.project(self._preconditioner.solve(self._gauge.project(r)))

    def refine(self) -> Preconditioner | None:
        better = self._preconditioner.refine()
        return None if better is None else _WithoutGauge(better, self._gauge)
