"""Function: the user's own callables as a problem."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from minmin.constants import Constants
from minmin.errors import InputError, NonFiniteError, UserCodeError
from minmin.oracle import Ability, Evaluation, Problem, Slice, checked_constants, positive_size
from minmin.space import Array, all_finite, as_real, dot, machine_eps, own_copy, to_numpy


class Function(Problem):
    """f(x, y) given by callables.

    Parameters
    ----------
    value : callable or None
        ``value(x, y)`` returns the number f(x, y); asked for once an iteration or less, for the history and
        outside the clock. Without it runs report no values.
    grad_x, grad_y : callable
        ``grad_x(x, y)`` and ``grad_y(x, y)`` return arrays of the lengths of x and y.
    d_x, d_y : int
        Lengths of x and y.
    constants : Constants, optional
        What the methods' guarantees and the certificates rest on; see :class:`minmin.Constants`.
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
        self.d_x = positive_size(d_x, "d_x")
        self.d_y = positive_size(d_y, "d_y")
        self.abilities = Ability.NONE if value is None else Ability.VALUE
        self._given = checked_constants(constants)

    @property
    def constants(self) -> Constants | None:
        return self._given

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
    __slots__ = ("_answer_eps", "_problem")

    def __init__(self, x: Array, y: Array, problem: Function):
        super().__init__(x, y, problem._tally)
        self._problem = problem
        self._answer_eps = 0.0

    @property
    def eps(self) -> float:
        """That of the coarsest answer: callables may compute in single precision."""
        return max(super().eps, self._answer_eps)

    def _compute_value(self) -> float:
        answer = self._ask("value")
        try:
            return float(answer.item() if hasattr(answer, "item") else answer)
        except (TypeError, ValueError):
            raise InputError(f"value(x, y) returned {reprlib.repr(answer)}; it must return one number") from None

    def _compute_grad_x(self) -> Array:
        return self._checked(self._ask("grad_x"), self.x, "grad_x")

    def _compute_grad_y(self) -> Array:
        return self._checked(self._ask("grad_y"), self.y, "grad_y")

    def _ask(self, name: str) -> Any:
        try:
            return getattr(self._problem, name)(own_copy(self.x), own_copy(self.y))
        except Exception as error:
            raise UserCodeError(f"{name}(x, y) raised {type(error).__name__}: {error}") from error

    def _checked(self, answer: Any, model: Array, name: str) -> Array:
        """The user's gradient in the model's library and dtype; a copy, since users reuse buffers."""
        array = as_real(answer, f"{name}(x, y)", model)
        if array.shape != model.shape:
            raise InputError(f"{name}(x, y) returned shape {tuple(array.shape)}; it must return {tuple(model.shape)}")
        self._answer_eps = max(self._answer_eps, machine_eps(array))
        if type(array) is type(model) is np.ndarray:
            own = np.array(array, dtype=model.dtype)
        else:
            xp = array_namespace(model)
            if array_namespace(array) is not xp:
                raise InputError(f"{name}(x, y) returned an array of another library than its argument's")
            own = xp.asarray(array, dtype=model.dtype, device=device(model), copy=True)
        if not math.isfinite(dot(own, own)) and not all_finite(own):
            where = int(np.flatnonzero(~np.isfinite(to_numpy(own)))[0])
            raise NonFiniteError(f"{name}(x, y) returned {float(own[where])} at index {where}")
        return own
