"""Function: a problem made of the user's callables."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, as_real, same_kind, zeros
from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, require_constants_type, require_size
from minmin.core.rounding import RoundingScale, rounding_error
from minmin.core.structure import Structure, choose_prototype, join_arrays, make_structures
from minmin.core.tree import find_leaves
from minmin.core.vectors import copy_vector, norm
from minmin.errors import InputError, UserCodeError, as_number
from minmin.problems.differences import Difference, choose_difference, difference_values

_ANOTHER_LIBRARY = (
    "x and y are NumPy arrays, as the start is; for functions of another library give a start of that library, such as "
    "x0=torch.zeros(d_x, dtype=torch.float64), y0=torch.zeros(d_y, dtype=torch.float64), or use from_jax or from_torch"
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
        ``grad_x(x, y)`` and ``grad_y(x, y)`` return arrays of the lengths of x and y, or the structures of x and y.
        Like f, they may be infinite or NaN outside of f's domain, but not at the start. If ``grad_y`` is None,
        differences of values replace it: each ∇ᵧf then takes d_y + 1 values, which are counted. With constants, bounds
        include the error of the differences.
    d_x, d_y : int, optional
        Lengths of x and y, if both are flat arrays.
    x0, y0 : nested dicts, lists, tuples and NamedTuples of arrays and numbers, optional
        Examples of x and y, in place of ``d_x`` and ``d_y``: arrays of any shape and library, float32 or float64. They
        are the default start. Callables get x and y in this structure, library, dtype and device, and so does the
        result. A list of numbers is one array.
    constants : Constants, optional
        Methods' guarantees and certificates are based on them; see :class:`minmin.Constants`.
    value_error : float, optional
        How far a value may be off; by default the rounding error of f. It matters if ``grad_y`` is None.

    Examples
    --------
    >>> import numpy as np, minmin
    >>> f = minmin.problems.Function(
    ...     lambda x, y: np.sum((x["w"] - y) ** 2) + np.sum(y**2),
    ...     lambda x, y: {"w": 2 * (x["w"] - y)},
    ...     lambda x, y: 2 * (y - x["w"]) + 2 * y,
    ...     x0={"w": np.ones((2, 3))},
    ...     y0=np.ones((2, 3)),
    ... )
    >>> minmin.minimize(f).x["w"].shape
    (2, 3)
    """

    def __init__(
        self,
        value: Callable[[Any, Any], float] | None,
        grad_x: Callable[[Any, Any], Any],
        grad_y: Callable[[Any, Any], Any] | None,
        *,
        d_x: int | None = None,
        d_y: int | None = None,
        x0: Any = None,
        y0: Any = None,
        constants: Constants | None = None,
        value_error: float | None = None,
    ):
        for name, function in {"value": value, "grad_x": grad_x, "grad_y": grad_y}.items():
            if not callable(function) and not (name != "grad_x" and function is None):
                raise InputError(f"{name} must be callable as {name}(x, y), got {function!r}")
        if value is None and grad_y is None:
            raise InputError("give grad_y or value: without ∇ᵧf, f must be known, and differences of it replace ∇ᵧf")
        if value_error is not None and not 0.0 < as_number(value_error, "value_error") < math.inf:
            raise InputError(f"value_error = {value_error} must be positive and finite")
        self.value_error = value_error
        self.value = value
        self.grad_x = grad_x
        self.grad_y = grad_y
        self.has_value = value is not None
        self._constants = require_constants_type(constants)
        self._prototype = np.zeros(0)
        if x0 is None and y0 is None:
            self.d_x, self.d_y = require_size(d_x, "d_x"), require_size(d_y, "d_y")
        else:
            _require_examples_alone(d_x, d_y, x0, y0)
            self._take_structures(*make_structures(_read_list(x0), _read_list(y0)))

    def _take_structures(self, structure_x: Structure, structure_y: Structure) -> None:
        self.structure_x, self.structure_y = structure_x, structure_y
        self.d_x, self.d_y = structure_x.size, structure_y.size
        self._prototype = choose_prototype(structure_x, structure_y)

    def with_vectors_like(self, x0: Any, y0: Any) -> Function:
        """The same function for a start of another library: callables get such arrays, methods compute with cheap ones.

        See :func:`minmin.core.structure.choose_prototype`.
        """
        given = [as_real(start, name) for start, name in ((x0, "x0"), (y0, "y0")) if start is not None]
        foreign = given and all(not isinstance(a, np.ndarray) and same_kind(a, given[0]) for a in given)
        if self.structure_x is not None or not foreign:
            return self
        twin = copy(self)
        twin._take_structures(*make_structures(zeros(self.d_x, given[0]), zeros(self.d_y, given[0])))
        return twin

    @property
    def prototype(self) -> Array:
        return self._prototype

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
        eps = max(array_eps(self.x), self._coarsest_eps)
        return RoundingScale(eps, norm(self.y), self._difference_terms(eps))

    def _difference_terms(self, eps: float) -> float:
        """The size of terms whose rounding errors would be the error of differences of values; zero without these."""
        constants = self._problem.constants
        if self._problem.grad_y is not None or constants is None or not math.isfinite(constants.L_y):
            return 0.0
        return self._difference.error / (rounding_error(eps, 1.0) * math.sqrt(constants.L_y))

    @property
    def _difference(self) -> Difference:
        p = self._problem
        return choose_difference(self.value, self.y, p.constants, p.value_error)

    def locate(self, gradient: str, index: int) -> str:
        structure = self._problem.structure_x if gradient == "grad_x" else self._problem.structure_y
        return super().locate(gradient, index) if structure is None else structure.locate(index)

    def _compute_value(self) -> float:
        returned = self._call("value")
        try:
            return float(returned.item() if hasattr(returned, "item") else returned)
        except (TypeError, ValueError):
            raise InputError(f"value(x, y) returned {reprlib.repr(returned)}; it must return one number") from None

    def _compute_grad_x(self) -> Array:
        return self._read_gradient(self._call("grad_x"), self.x, self._problem.structure_x, "grad_x(x, y)")

    def _compute_grad_y(self) -> Array:
        if self._problem.grad_y is None:
            if self._problem.constants is None:
                half_of_the_digits = math.sqrt(array_eps(self.y))
                self._coarsest_eps = max(self._coarsest_eps, half_of_the_digits)
            return difference_values(self._problem.fix(self.x), self, self._difference.step)
        return self._read_gradient(self._call("grad_y"), self.y, self._problem.structure_y, "grad_y(x, y)")

    def _call(self, name: str) -> Any:
        try:
            return getattr(self._problem, name)(*self._copy_point())
        except Exception as error:
            numpy_alone = type(self.x) is np.ndarray and "numpy.ndarray" in str(error)
            advice = f"; {_ANOTHER_LIBRARY}" if numpy_alone else ""
            if isinstance(error, ArithmeticError) or "domain" in str(error):
                advice = "; outside of f's domain, return inf or NaN"
            raise UserCodeError(f"{name}(x, y) raised {type(error).__name__}: {error}{advice}") from error

    def _copy_point(self) -> tuple[Any, Any]:
        """x and y as the user sees them; copies, since a callable may change them."""
        if self._problem.structure_x is None:
            return copy_vector(self.x), copy_vector(self.y)
        return self._problem.to_user(self.x, self.y)

    def _read_gradient(self, returned: Any, block: Array, structure: Structure | None, name: str) -> Array:
        """A gradient as a vector in its block's library and dtype; a copy, since a callable may reuse its arrays."""
        if structure is not None:
            arrays = structure.list_arrays(returned, name)
            self._coarsest_eps = max(self._coarsest_eps, *map(array_eps, arrays))
            return join_arrays(arrays, block)
        array = as_real(returned, name, block)
        if array.shape != block.shape:
            raise InputError(f"{name} returned shape {tuple(array.shape)}; it must return {tuple(block.shape)}")
        self._coarsest_eps = max(self._coarsest_eps, array_eps(array))
        return (
            np.array(array, dtype=block.dtype)
            if type(array) is type(block) is np.ndarray
            else join_arrays([array], block)
        )


def _require_examples_alone(d_x: Any, d_y: Any, x0: Any, y0: Any) -> None:
    if x0 is None or y0 is None:
        missing = "x0" if x0 is None else "y0"
        raise InputError(f"give {missing}, too: an example of {missing[0]}")
    if d_x is not None or d_y is not None:
        raise InputError("leave d_x and d_y out: x0 and y0 say how many variables there are")


def _read_list(example: Any) -> Any:
    """A list of numbers as an array; anything else unchanged."""
    is_list = isinstance(example, list | tuple) and not hasattr(example, "_fields")
    is_list = is_list and all(isinstance(leaf, int | float) for leaf in find_leaves(example))
    return as_real(example, "x0") if is_list else example
