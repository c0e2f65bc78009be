"""Function: a problem made of the user's callables, and what it computes at a point by them."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from copy import copy
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array, array_eps, as_real, number_eps, same_kind, to_like, zeros
from minmin.core.blocks import BlockLayout, make_layout
from minmin.core.bound import SINGLE_EPS, Constants, Grid, RoundingScale, rounding_error
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, require_constants_type, require_size
from minmin.core.structure import Structure, choose_prototype, join_arrays, make_structures
from minmin.core.tree import find_leaves
from minmin.core.vectors import copy_vector, largest_entry, norm
from minmin.errors import InputError, MinMinError, as_positive
from minmin.problems.block_callables import BlockGradient, BlockValue, check_grads, explain_user_error


class Function(Problem):
    """f(x, y) given by callables, or f of several blocks.

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
        include the error of the differences; so L_x and L_y must be finite.
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
    grads, sizes : lists, optional
        For a function of several blocks, in place of ``grad_x``, ``grad_y``, ``d_x`` and ``d_y``: a gradient and a
        length for every block. All callables take all blocks: ``value(a, b, c)``, ``grads[0](a, b, c)``. The start is a
        list, too, ``minimize(f, [a, b, c])``, and so is ``r.blocks``. ``r.calls`` counts "grad_0", "grad_1", ...
    L, mu : lists of float, optional
        For several blocks, in place of ``constants``: diag(mu) ⪯ H ⪯ diag(L), with one number for every block. If f is
        a convex g plus a_i/2 |block i|² in every block, take mu = a and L = k·(Lipschitz constant of g's gradient in
        the block alone) + a, for k blocks. They count as proved: a wrong number makes the bound wrong.
    costs : list of float, optional
        For several blocks: what each gradient costs, in any unit. With ``L`` and ``mu`` it says which block is outside
        of which; docs/guides/methods.md says how. By default all blocks cost the same, but two blocks keep their order,
        as x and y do.

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
        value: Callable[..., float] | None,
        grad_x: Callable[[Any, Any], Any] | None = None,
        grad_y: Callable[[Any, Any], Any] | None = None,
        *,
        d_x: int | None = None,
        d_y: int | None = None,
        x0: Any = None,
        y0: Any = None,
        constants: Constants | None = None,
        value_error: float | None = None,
        grads: Sequence[Callable[..., Any]] | None = None,
        sizes: Sequence[int] | None = None,
        L: Sequence[float] | None = None,
        mu: Sequence[float] | None = None,
        costs: Sequence[float] | None = None,
    ):
        of_blocks = {"grads": grads, "sizes": sizes, "L": L, "mu": mu, "costs": costs}
        if any(given is not None for given in of_blocks.values()):
            of_two = {"grad_x": grad_x, "grad_y": grad_y, "d_x": d_x, "d_y": d_y, "x0": x0, "y0": y0}
            of_two |= {"constants": constants, "value_error": value_error}
            self._set_blocks(value, of_blocks, of_two)
            return
        for name, function in {"value": value, "grad_x": grad_x, "grad_y": grad_y}.items():
            if not callable(function) and not (name != "grad_x" and function is None):
                raise InputError(f"{name} must be callable as {name}(x, y), got {function!r}")
        if value is None and grad_y is None:
            raise InputError("give grad_y or value: without ∇ᵧf, f must be known, and differences of it replace ∇ᵧf")
        if value_error is not None:
            as_positive(value_error, "value_error")
        self.value_error = value_error
        self.value = value
        self.grad_x = grad_x
        self.grad_y = grad_y
        self.has_value, self.grad_y_from_values = value is not None, grad_y is None
        self._constants = c = require_constants_type(constants)
        if grad_y is None and c is not None and math.isinf(c.L_x + c.L_y):
            raise InputError("give a finite L_x and L_y, or no constants: L says how exact differences of f are")
        if x0 is None and y0 is None:
            self.d_x, self.d_y = require_size(d_x, "d_x"), require_size(d_y, "d_y")
        else:
            _require_examples_alone(d_x, d_y, x0, y0)
            self._set_structures(*make_structures(_read_list(x0), _read_list(y0)))

    def _set_blocks(self, value: Any, given: dict[str, Any], of_two: dict[str, Any]) -> None:
        """Become a function of several blocks."""
        for name, argument in of_two.items():
            if argument is not None:
                raise InputError(f"leave {name} out: with grads and sizes, f has several blocks; see L, mu and costs")
        for name in ("grads", "sizes"):
            if given[name] is None:
                raise InputError(f"give {name}, too: a function of several blocks needs grads and sizes")
        if value is not None and not callable(value):
            raise InputError(f"value must be callable with all blocks, got {value!r}")
        layout = make_layout(given["sizes"], given["L"], given["mu"], given["costs"])
        self._value_of_blocks = value
        self._grads = check_grads(given["grads"], layout.sizes)
        self.value_error = None
        self.has_value = value is not None
        self._set_layout(layout)

    def _set_layout(self, layout: BlockLayout) -> None:
        self.blocks = layout
        self.d_x, self.d_y, self._constants = layout.d_x, layout.d_y, layout.constants
        self.value = None if self._value_of_blocks is None else BlockValue(self._value_of_blocks, layout)
        self.grad_x = BlockGradient(self._grads, layout, (layout.outer,))
        self.grad_y = BlockGradient(self._grads, layout, layout.rest)

    def nest(self, x: Array) -> Function:
        """y ↦ f(x, y) as a function of the blocks in y."""
        assert self.blocks is not None
        return self.with_layout(self.blocks.fix(x if self.structure_x is None else self.structure_x.unflatten(x)))

    def with_layout(self, layout: BlockLayout) -> Function:
        twin = copy(self)
        twin._set_layout(layout)
        if self.structure_x is not None:
            example = self.structure_x.prototype
            twin._set_structures(*make_structures(zeros(twin.d_x, example), zeros(twin.d_y, example)))
        return twin

    def _set_structures(self, structure_x: Structure, structure_y: Structure) -> None:
        self.structure_x, self.structure_y = structure_x, structure_y
        self.d_x, self.d_y = structure_x.size, structure_y.size
        self._prototype = choose_prototype(structure_x, structure_y)

    def for_start(self, x0: Any, y0: Any) -> Function:
        """The same function for a start of another library: callables get such arrays, methods compute with cheap ones.

        See :func:`minmin.core.structure.choose_prototype`.
        """
        starts = {"x0": x0, "y0": y0}
        if self.blocks is not None and isinstance(x0, list | tuple):
            starts = {f"block {i} of the start": block for i, block in enumerate(x0)}
        given = [as_real(start, name) for name, start in starts.items() if start is not None]
        foreign = given and all(not isinstance(a, np.ndarray) and same_kind(a, given[0]) for a in given)
        if self.structure_x is not None or not foreign:
            return self
        twin = copy(self)
        twin._set_structures(*make_structures(zeros(self.d_x, given[0]), zeros(self.d_y, given[0])))
        return twin

    def fix(self, x: Array) -> Slice:
        return FunctionSlice(x, self)


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
    def _difference(self) -> _Difference:
        p = self._problem
        return _choose_difference(self.value, self.y, p.constants, p.value_error, self._value_error)

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
        gradient, values = _difference_values(slice_, self, step)
        grid = reduce(Grid.add, values.tolist(), Grid())
        self._value_error = grid.error(self.value, abs(self.value), max(array_eps(self.y), self._value_eps))
        self._rounding = None
        if self._difference.step > 2.0 * step:
            gradient, _ = _difference_values(slice_, self, self._difference.step)
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
        if type(array) is type(block) is np.ndarray:
            return np.array(array, dtype=block.dtype)
        return join_arrays([array], block)


class _Difference(NamedTuple):
    """A step of forward differences, and the error of the gradient that they give.

    Attributes
    ----------
    step : float
        h: every coordinate of y is moved by this.
    error : float
        A bound on the norm of the error; infinite without constants.
    """

    step: float
    error: float


def _choose_difference(
    value: float, y: Array, constants: Constants | None, value_error: float | None, least_error: float
) -> _Difference:
    """The best step for values with this error, by default that of rounding, but at least ``least_error``.

    (f(y + h e_i) - f(y))/h is off by at most L_y h/2 + 2ε/h if values are off by ε. That is least for h = 2√(ε/L_y),
    where it is 2√(ε L_y).
    """
    eps = array_eps(y)
    epsilon = max(rounding_error(eps, abs(value)), least_error) if value_error is None else value_error
    spacing = eps * max(1.0, largest_entry(y))
    if constants is None:
        return _Difference(max(math.sqrt(epsilon), math.sqrt(eps) * max(1.0, largest_entry(y))), math.inf)
    L = constants.L_y
    step = max(2.0 * math.sqrt(epsilon / L), 2.0 * spacing)
    return _Difference(step, math.sqrt(y.shape[0]) * (0.5 * L * step + 2.0 * epsilon / step))


def _difference_values(at: Slice, here: Evaluation, step: float) -> tuple[Array, np.ndarray[Any, Any]]:
    """∇ᵧf by d_y more values, each counted; and these values with the one here."""
    y, d = here.y, here.y.shape[0]
    values, steps = np.full(d + 1, here.value), np.zeros(d)
    for i in range(d):
        moved = y + to_like(step * np.eye(1, d, i)[0], y)
        values[i], steps[i] = at.at(moved).value, float((moved - y)[i])
    return to_like((values[:d] - here.value) / steps, y), values
