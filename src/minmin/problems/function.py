"""Function: a problem made of the user's callables."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from minmin.core.arrays import Array, array_eps, as_real, dtype_name, library_name
from minmin.core.constants import Constants
from minmin.core.problem import Evaluation, Problem, Slice, require_constants_type, require_size
from minmin.core.rounding import RoundingScale
from minmin.core.vectors import copy_vector, norm
from minmin.errors import InputError, UserCodeError

_ANOTHER_LIBRARY = (
    "x and y are NumPy arrays, as the start is; for functions of another library give a start of that library, such as "
    "x0=torch.zeros(d_x, dtype=torch.float64), y0=torch.zeros(d_y, dtype=torch.float64)"
)


class Function(Problem):
    """f(x, y) given by callables.

    Parameters
    ----------
    value : callable or None
        ``value(x, y)`` returns the number f(x, y); None if only the gradients are known. With constants it is called at
        most once per iteration, for the history, and its time is not counted. Without constants a run calls it once for
        every x that it tries, to notice the edge of f's domain and whether f is convex. It calls it for every y, too,
        once f was infinite or NaN where ∇ᵧf was finite.
    grad_x, grad_y : callable
        ``grad_x(x, y)`` and ``grad_y(x, y)`` return arrays of the lengths of x and y. Like f, they may be infinite or
        NaN outside of f's domain, but not at the start.
    d_x, d_y : int
        Lengths of x and y.
    constants : Constants, optional
        Methods' guarantees and certificates are based on them; see :class:`minmin.Constants`.
    """

    def __init__(
        self,
        value: Callable[[Array, Array], float] | None,
        grad_x: Callable[[Array, Array], Array],
        grad_y: Callable[[Array, Array], Array],
        *,
        d_x: int,
        d_y: int,
        constants: Constants | None = None,
    ):
        for name, function in {"value": value, "grad_x": grad_x, "grad_y": grad_y}.items():
            if not callable(function) and not (name == "value" and function is None):
                raise InputError(f"{name} must be callable as {name}(x, y), got {function!r}")
        self.value = value
        self.grad_x = grad_x
        self.grad_y = grad_y
        self.d_x = require_size(d_x, "d_x")
        self.d_y = require_size(d_y, "d_y")
        self.has_value = value is not None
        self._constants = require_constants_type(constants)

    @property
    def constants(self) -> Constants | None:
        return self._constants

    def fix(self, x: Array) -> Slice:
        return _FunctionSlice(x, self)


class _FunctionSlice(Slice):
    __slots__ = ("_problem",)

    def __init__(self, x: Array, problem: Function):
        super().__init__(x)
        self._problem = problem

    def at(self, y: Array) -> Evaluation:
        return _FunctionEvaluation(self.x, y, self._problem)


class _FunctionEvaluation(Evaluation):
    __slots__ = ("_coarsest_eps", "_problem")

    def __init__(self, x: Array, y: Array, problem: Function):
        super().__init__(x, y, problem.tally)
        self._problem = problem
        self._coarsest_eps = 0.0

    @property
    def rounding(self) -> RoundingScale:
        """In the lowest precision that a callable has returned so far: it may be single precision."""
        return RoundingScale(max(array_eps(self.x), self._coarsest_eps), norm(self.y))

    def _compute_value(self) -> float:
        returned = self._call("value")
        try:
            return float(returned.item() if hasattr(returned, "item") else returned)
        except (TypeError, ValueError):
            raise InputError(f"value(x, y) returned {reprlib.repr(returned)}; it must return one number") from None

    def _compute_grad_x(self) -> Array:
        return self._check(self._call("grad_x"), self.x, "grad_x")

    def _compute_grad_y(self) -> Array:
        return self._check(self._call("grad_y"), self.y, "grad_y")

    def _call(self, name: str) -> Any:
        try:
            return getattr(self._problem, name)(copy_vector(self.x), copy_vector(self.y))
        except Exception as error:
            numpy_alone = type(self.x) is np.ndarray and "numpy.ndarray" in str(error)
            advice = f"; {_ANOTHER_LIBRARY}" if numpy_alone else ""
            if isinstance(error, ArithmeticError) or "domain" in str(error):
                advice = "; outside of f's domain, return inf or NaN"
            raise UserCodeError(f"{name}(x, y) raised {type(error).__name__}: {error}{advice}") from error

    def _check(self, returned: Any, prototype: Array, name: str) -> Array:
        """A gradient in its block's library and dtype; a copy, since a callable may reuse its arrays."""
        array = as_real(returned, f"{name}(x, y)", prototype)
        if array.shape != prototype.shape:
            raise InputError(
                f"{name}(x, y) returned shape {tuple(array.shape)}; it must return {tuple(prototype.shape)}"
            )
        self._coarsest_eps = max(self._coarsest_eps, array_eps(array))
        if type(array) is type(prototype) is np.ndarray:
            gradient = np.array(array, dtype=prototype.dtype)
        else:
            xp = array_namespace(prototype)
            if array_namespace(array) is not xp:
                raise InputError(self._explain_library(name, array))
            gradient = xp.asarray(array, dtype=prototype.dtype, device=device(prototype), copy=True)
        return gradient

    def _explain_library(self, name: str, returned: Array) -> str:
        """How to mend a gradient that is of another library than the start."""
        theirs, ours = library_name(returned), library_name(self.x)
        x0, y0 = (
            f"{theirs}.zeros({size}, dtype={theirs}.{dtype_name(returned)})"
            for size in (self._problem.d_x, self._problem.d_y)
        )
        return (
            f"{name}(x, y) returned an array of {theirs}, but x and y are of {ours}, as the start is; "
            f"return arrays of {ours}, or give a start of {theirs}: x0={x0}, y0={y0}"
        )
