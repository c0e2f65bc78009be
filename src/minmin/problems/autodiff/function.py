"""AutodiffFunction: a problem made of one function, and the oracle by which a library differentiates it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from array_api_compat import array_namespace

from minmin.core.arrays import Array, dtype_name, zeros
from minmin.core.bound import Constants, RoundingScale
from minmin.core.preconditioner import Preconditioner
from minmin.core.problem import require_constants_type
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice, YStepModel
from minmin.core.structure import Structure, choose_prototype
from minmin.core.vectors import dot, machine_eps, norm
from minmin.errors import InputError
from minmin.problems.linear.preconditioner import weaken

_KEPT_POINTS = 3
"""Methods work with up to three points at a time: the newest, the one before, and a trial step."""
_MOST_DIAGONAL = 32
"""Conjugate gradients are preconditioned by the diagonal of H_xx if x has at most this many variables, since it takes a
product for each."""


class HessianProducts(NamedTuple):
    """Products with the Hessian at one point. What they share is computed once.

    Attributes
    ----------
    in_x, in_y : callables
        ``in_x(dx, dy)`` is H_xx·dx + H_xy·dy, and ``in_y(dx, dy)`` is H_yx·dx + H_yy·dy.
    diagonal_in_x : callable
        ``diagonal_in_x()`` is the diagonal of H_xx, by one product per variable.
    """

    in_x: Callable[[Array, Array], Array]
    in_y: Callable[[Array, Array], Array]
    diagonal_in_x: Callable[[], Array]


class Oracle(ABC):
    """f(x, y) = fun(prepare(x), y), and its derivatives. Vectors come back in the library that they were given in.

    Parameters
    ----------
    fun : callable
    prepare : callable or None
    structures : pair of Structure
        Of x and y.

    Attributes
    ----------
    eps : float
        The precision in which fun computes.
    prototype : array
        An array of the library, dtype and device with which fun computes.
    call : str
        How fun is called, for errors.
    """

    eps: float
    prototype: Array

    def __init__(
        self, fun: Callable[..., Any], prepare: Callable[..., Any] | None, structures: tuple[Structure, Structure]
    ):
        for name, function in {"fun": fun, "prepare": prepare}.items():
            if not callable(function) and not (name == "prepare" and function is None):
                raise InputError(f"{name} must be callable, got {function!r}")
        self.fun, self.prepare, self.structures = fun, prepare, structures
        self.call = "fun(x, y)" if prepare is None else "fun(prepare(x), y)"
        self.dtype = dtype_name(choose_prototype(*structures))
        self._kept: tuple[tuple[Array, Any], ...] = ()
        self._set_up()

    @abstractmethod
    def _set_up(self) -> None:
        """Set :attr:`prototype` and :attr:`eps`, and raise if fun cannot be differentiated."""

    def fix(self, x: Array) -> Any:
        """What depends on x alone. That of the newest points is kept, since the history needs f there, too."""
        for point, fixed in self._kept:
            if point is x:
                return fixed
        fixed = self._fix(x)
        self._kept = ((x, fixed), *self._kept[: _KEPT_POINTS - 1])
        return fixed

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept of points, which belongs to one run."""
        return {**vars(self), "_kept": ()}

    @abstractmethod
    def _fix(self, x: Array) -> Any: ...

    @abstractmethod
    def value(self, fixed: Any, y: Array) -> float:
        """f."""

    @abstractmethod
    def value_and_grad_x(self, fixed: Any, y: Array) -> tuple[Any, Array]:
        """f, as an array of the library, and ∇ₓf, computed together."""

    @abstractmethod
    def grad_y(self, fixed: Any, y: Array) -> Array:
        """∇ᵧf."""

    @abstractmethod
    def hess_yy(self, fixed: Any, y: Array) -> Array:
        """H_yy as a matrix."""

    @abstractmethod
    def differentiate_twice(self, fixed: Any, y: Array) -> HessianProducts:
        """Products with the Hessian at a point."""

    @abstractmethod
    def curvature_along(self, fixed: Any, y: Array, dx: Array, dy: Array) -> tuple[float, float]:
        """The second and third derivative of t ↦ f(x + t·dx, y + t·dy) at zero."""


class AutodiffFunction(SecondOrderProblem):
    """f(x, y) given by one function, see :func:`minmin.problems.from_jax` and :func:`minmin.problems.from_torch`."""

    kind: str = "a function of JAX or PyTorch"

    def __init__(self, oracle: Oracle, constants: Constants | None):
        self.structure_x, self.structure_y = oracle.structures
        self.d_x, self.d_y = (structure.size for structure in oracle.structures)
        self.oracle = oracle
        self._constants = require_constants_type(constants)
        self._prototype = choose_prototype(*oracle.structures)

    def prototype_at(self, x: Array) -> Array:
        return self.oracle.prototype

    def fix(self, x: Array) -> AutodiffSlice:
        return AutodiffSlice(x, self)

    def identity(self) -> Iterable[Any]:
        """Functions have no identity."""
        return [repr(self._constants), *(structure.describe() for structure in self.oracle.structures)]


class AutodiffSlice(SecondOrderSlice):
    __slots__ = ("_problem", "fixed")

    def __init__(self, x: Array, problem: AutodiffFunction):
        super().__init__(x)
        self._problem = problem
        self.fixed = problem.oracle.fix(x)

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
        self._problem, self._oracle = problem, problem.oracle
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
