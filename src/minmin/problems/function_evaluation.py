"""What :class:`minmin.problems.Function` computes at a point, by the user's callables."""

from __future__ import annotations

import math
import reprlib
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from minmin.core.arrays import Array, array_eps, as_real, number_eps
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Slice
from minmin.core.rounding import SINGLE_EPS, Grid, RoundingScale, rounding_error
from minmin.core.structure import Structure, join_arrays
from minmin.core.vectors import copy_vector, largest_entry, norm
from minmin.errors import InputError, MinMinError
from minmin.problems.block_callables import explain_user_error
from minmin.problems.differences import Difference, choose_difference, difference_values

if TYPE_CHECKING:
    from minmin.problems.function import Function


class FunctionSlice(Slice):
    __slots__ = ("_tally", "eps", "problem", "show_x", "show_y")

    def __init__(self, x: Array, problem: Function):
        self.x = x
        self.problem, self.eps = problem, array_eps(x)
        # Callables see copies, since they may change them.
        self.show_x = self.show_y = np.ndarray.copy if type(x) is np.ndarray else copy_vector
        if problem.structure_x is not None and problem.structure_y is not None:
            self.show_x, self.show_y = problem.structure_x.unflatten, problem.structure_y.unflatten
        self._tally = problem.tally if problem.blocks is None else problem.blocks.count_in(problem.tally)

    @property
    def nested(self) -> Function | None:
        blocks = self.problem.blocks
        return None if blocks is None or len(blocks.rest) == 1 else self.problem.nest(self.x)

    def at(self, y: Array) -> Evaluation:
        return _FunctionEvaluation(self, y, self._tally)


class _FunctionEvaluation(Evaluation):
    __slots__ = ("_coarsest_eps", "_problem", "_slice", "_value_eps", "_value_error")

    def __init__(self, slice_: FunctionSlice, y: Array, tally: Tally):
        super().__init__(slice_.x, y, tally)
        self._slice, self._problem = slice_, slice_.problem
        self._coarsest_eps, self._value_eps, self._value_error = slice_.eps, 0.0, 0.0

    def _compute_rounding(self) -> RoundingScale:
        """In the lowest precision that a callable has returned so far: it may be single precision."""
        terms = 0.0 if self._problem.grad_y is not None else self._difference_terms(self._coarsest_eps)
        return RoundingScale(self._coarsest_eps, norm(self.y), 0.0, self._value_eps, terms)

    def note_precision(self, eps: float) -> None:
        if eps > self._coarsest_eps:
            self._coarsest_eps, self._rounding = eps, None

    def _difference_terms(self, eps: float) -> float:
        """The size of terms whose rounding errors would be the error of differences of values."""
        constants = self._problem.constants
        if constants is None:
            return 0.0
        return self._difference.error / (rounding_error(eps, 1.0) * math.sqrt(constants.L_y))

    @property
    def _difference(self) -> Difference:
        p = self._problem
        return choose_difference(self.value, self.y, p.constants, p.value_error, self._value_error)

    def locate(self, gradient: str, index: int) -> str:
        if self._problem.blocks is not None:
            return self._problem.blocks.locate(gradient, index)
        structure = self._problem.structure_x if gradient == "grad_x" else self._problem.structure_y
        return super().locate(gradient, index) if structure is None else structure.locate(index)

    def find_largest_entry(self, grad_x: Array, grad_y: Array) -> float:
        blocks = self._problem.blocks
        return largest_entry(grad_x, grad_y) if blocks is None else blocks.find_largest_entry(grad_x, grad_y)

    def _compute_value(self) -> float:
        returned = self._call("value")
        try:
            number = returned.item() if hasattr(returned, "item") else returned
            if isinstance(number, str | bytes) or returned is np.ma.masked:
                raise TypeError
            value = float(number)
        except (TypeError, ValueError):
            raise InputError(f"value(x, y) returned {reprlib.repr(returned)}; it must return one number") from None
        self._value_eps = number_eps(returned)
        if self._value_eps > 0.0:
            self._value_error, self._rounding = rounding_error(self._value_eps, abs(value)), None
        return value

    def _compute_grad_x(self) -> Array:
        return self._read_gradient(self._call("grad_x"), self.x, self._problem.structure_x, "grad_x(x, y)")

    def _compute_grad_y(self) -> Array:
        if self._problem.grad_y is None:
            return self._difference_values()
        return self._read_gradient(self._call("grad_y"), self.y, self._problem.structure_y, "grad_y(x, y)")

    def _difference_values(self) -> Array:
        """∇ᵧf by differences; by longer ones if all values turn out to be rounded."""
        slice_ = self._problem.fix(self.x)
        step = self._difference.step
        gradient, values = difference_values(slice_, self, step)
        grid = reduce(Grid.add, values.tolist(), Grid())
        self._value_error = grid.error(self.value, abs(self.value), max(array_eps(self.y), self._value_eps))
        self._rounding = None
        if self._difference.step > 2.0 * step:
            gradient, _ = difference_values(slice_, self, self._difference.step)
        if self._problem.constants is None:
            lowered = SINGLE_EPS if grid.single else max(array_eps(self.y), self._value_eps)
            self.note_precision(math.sqrt(lowered))  # half of the digits
        return gradient

    def _call(self, name: str) -> Any:
        try:
            return getattr(self._problem, name)(self._slice.show_x(self.x), self._slice.show_y(self.y))
        except Exception as error:
            if self._problem.blocks is not None and isinstance(error, MinMinError):
                raise  # by a gradient of several blocks, which names the block
            raise explain_user_error(f"{name}(x, y)", error, self.x) from error

    def _read_gradient(self, returned: Any, block: Array, structure: Structure | None, name: str) -> Array:
        """A gradient as a vector in its block's library and dtype; a copy, since a callable may reuse its arrays."""
        if structure is not None:
            arrays = structure.list_arrays(returned, name)
            self.note_precision(max(map(array_eps, arrays)))
            return join_arrays(arrays, block)
        array = returned
        if not (type(array) is type(self.x) is np.ndarray and array.dtype == self.x.dtype):
            array = as_real(array, name, block)
            self.note_precision(array_eps(array))
        if array.shape != block.shape:
            raise InputError(f"{name} returned shape {tuple(array.shape)}; it must return {tuple(block.shape)}")
        return (
            np.array(array, dtype=block.dtype)
            if type(array) is type(block) is np.ndarray
            else join_arrays([array], block)
        )
