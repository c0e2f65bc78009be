"""What automatic differentiation has to compute: f and its derivatives, as functions of flat vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from minmin.core.arrays import Array, dtype_name
from minmin.core.structure import Structure, choose_prototype
from minmin.errors import InputError

_KEPT_POINTS = 3
"""Methods work with up to three points at a time: the newest, the one before, and a trial step."""


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
    """

    eps: float
    prototype: Array

    def __init__(
        self,
        fun: Callable[[Any, Any], Any],
        prepare: Callable[[Any], Any] | None,
        structures: tuple[Structure, Structure],
    ):
        for name, function in {"fun": fun, "prepare": prepare}.items():
            if not callable(function) and not (name == "prepare" and function is None):
                raise InputError(f"{name} must be callable, got {function!r}")
        self.fun = fun
        self.prepare = prepare
        self.structures = structures
        self.dtype = dtype_name(choose_prototype(*structures))
        self._kept: tuple[tuple[Array, Any], ...] = ()
        self._set_up()

    @abstractmethod
    def _set_up(self) -> None:
        """Set :attr:`prototype` and :attr:`eps`, and raise if fun cannot be differentiated."""

    @property
    def call(self) -> str:
        """How fun is called, for errors."""
        return "fun(x, y)" if self.prepare is None else "fun(prepare(x), y)"

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
