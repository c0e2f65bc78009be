"""AutodiffFunction: a problem made of one function, which a library differentiates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from array_api_compat import array_namespace

from minmin.core.arrays import Array, zeros
from minmin.core.constants import Constants
from minmin.core.preconditioner import Preconditioner
from minmin.core.problem import require_constants_type
from minmin.core.rounding import RoundingScale
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice, YStepModel
from minmin.core.structure import choose_prototype
from minmin.core.vectors import dot, machine_eps, norm
from minmin.problems.autodiff.oracle import HessianProducts, Oracle
from minmin.problems.linear.preconditioner import weaken

_MOST_DIAGONAL = 32
"""Conjugate gradients are preconditioned by the diagonal of H_xx if x has at most this many variables, since it takes a
product for each."""


class AutodiffFunction(SecondOrderProblem):
    """f(x, y) given by one function, see :func:`minmin.problems.from_jax` and :func:`minmin.problems.from_torch`."""

    def __init__(self, oracle: Oracle, constants: Constants | None):
        self.structure_x, self.structure_y = oracle.structures
        self.d_x, self.d_y = (structure.size for structure in oracle.structures)
        self._oracle = oracle
        self._constants = require_constants_type(constants)
        self._prototype = choose_prototype(*oracle.structures)

    @property
    def kind(self) -> str:
        return "function of JAX or PyTorch"

    @property
    def constants(self) -> Constants | None:
        return self._constants

    @property
    def prototype(self) -> Array:
        return self._prototype

    def computes_like(self, x: Array) -> Array:
        return self._oracle.prototype

    def fix(self, x: Array) -> AutodiffSlice:
        return AutodiffSlice(x, self, self._oracle)

    def identity(self) -> Iterable[Any]:
        """Functions have no identity."""
        return [repr(self._constants), *(structure.describe() for structure in self._oracle.structures)]


class AutodiffSlice(SecondOrderSlice):
    __slots__ = ("_problem", "fixed", "oracle")

    def __init__(self, x: Array, problem: AutodiffFunction, oracle: Oracle):
        super().__init__(x)
        self._problem = problem
        self.oracle = oracle
        self.fixed = oracle.fix(x)

    def at(self, y: Array) -> AutodiffEvaluation:
        return AutodiffEvaluation(self, y, self._problem)

    def along(self, dx: Array) -> Direction:
        return Direction(dx, ())

    def moved(self, direction: Direction, t: float) -> AutodiffSlice:
        return self._problem.fix(self.x + t * direction.dx)


class AutodiffEvaluation(SecondOrderEvaluation):
    __slots__ = ("_oracle", "_problem", "_products_cache", "_unread_value", "slice")
    slice: AutodiffSlice

    def __init__(self, slice_: AutodiffSlice, y: Array, problem: AutodiffFunction):
        super().__init__(slice_.x, y, problem.tally)
        self.slice = slice_
        self._problem = problem
        self._oracle = slice_.oracle
        self._products_cache: HessianProducts | None = None
        self._unread_value: Any = None

    def locate(self, gradient: str, index: int) -> str:
        return self._oracle.structures[0 if gradient == "grad_x" else 1].locate(index)

    def _compute_rounding(self) -> RoundingScale:
        return RoundingScale(max(machine_eps(self.x), self._oracle.eps), norm(self.y))

    @property
    def value(self) -> float:
        return super().value if self.value_on_the_way is None else self.value_on_the_way

    @property
    def value_on_the_way(self) -> float | None:
        """Read only when it is asked for: reading one number takes JAX as long as a small gradient."""
        if self._unread_value is not None:
            self._value, self._unread_value = float(self._unread_value), None
        return self._value

    def _compute_value(self) -> float:
        return self._oracle.value(self.slice.fixed, self.y)

    def _compute_grad_x(self) -> Array:
        """With f, which is computed on the way and counted, too."""
        value, gradient = self._oracle.value_and_grad_x(self.slice.fixed, self.y)
        if self._value is None:
            self._tally.add("value")
            self._unread_value = value
        return gradient

    def _compute_grad_y(self) -> Array:
        return self._oracle.grad_y(self.slice.fixed, self.y)

    @property
    def _products(self) -> HessianProducts:
        if self._products_cache is None:
            self._products_cache = self._oracle.differentiate_twice(self.slice.fixed, self.y)
        return self._products_cache

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        return self._oracle.hess_yy(self.slice.fixed, self.y)

    def hess_yy_product(self, dy: Array) -> Array:
        self._tally.add("hess_yy_product")
        return self._products.in_y(zeros(self.x.shape[0], self.x), dy)

    def hess_yy_diagonal(self) -> Array:
        """Ones: the diagonal itself would take a product for every variable."""
        return array_namespace(self.y).ones_like(self.y)

    def hess_xx_diagonal(self) -> Array:
        """Ones for a large block, as in :meth:`hess_yy_diagonal`."""
        if self.x.shape[0] > _MOST_DIAGONAL:
            return array_namespace(self.x).ones_like(self.x)
        self._tally.add("hess_xx_diagonal")
        return self._products.diagonal_in_x()

    def x_preconditioner(self) -> Preconditioner:
        """A diagonal as for a linear model, with mu_x in place of the penalty."""
        constants = self._problem.constants
        return Preconditioner(weaken(self.hess_xx_diagonal(), 0.0 if constants is None else constants.mu_x))

    def hess_yx(self, direction: Direction) -> Array:
        return self._products.in_y(direction.dx, zeros(self.y.shape[0], self.y))

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        return self._products.in_x(direction.dx, dy)

    def model_after(self, dy: Array) -> YStepModel:
        """Counted as one ``grad_x``, unless it is known, and one ``hess_product``."""
        self._tally.add("hess_product")
        return YStepModel(dy, self.grad_x + self._products.in_x(zeros(self.x.shape[0], self.x), dy))

    def slope(self, direction: Direction, dy: Array) -> float:
        """From both gradients, which the next step needs anyway if this point is taken."""
        return dot(self.grad_x, direction.dx) + dot(self.grad_y, dy)

    def model_distance(self, direction: Direction, dy: Array) -> float:
        """How fast the curvature along the step changes here, relative to itself."""
        self._tally.add("third_derivative")
        second, third = self._oracle.curvature_along(self.slice.fixed, self.y, direction.dx, dy)
        return abs(third) / second if second > 0.0 else math.inf
