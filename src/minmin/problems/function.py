"""Function: a problem made of the user's callables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from minmin.core.arrays import Array, as_real, same_kind, zeros
from minmin.core.blocks import BlockLayout, make_layout
from minmin.core.constants import Constants
from minmin.core.problem import Problem, Slice, require_constants_type, require_size
from minmin.core.structure import Structure, choose_prototype, make_structures
from minmin.core.tree import find_leaves
from minmin.errors import InputError, as_number
from minmin.problems.block_callables import BlockGradient, BlockValue, check_grads
from minmin.problems.function_evaluation import FunctionSlice


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
            self._take_blocks(value, of_blocks, of_two)
            return
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
        self._constants = c = require_constants_type(constants)
        if grad_y is None and c is not None and math.isinf(c.L_x + c.L_y):
            raise InputError("give a finite L_x and L_y, or no constants: L says how exact differences of f are")
        self._prototype = np.zeros(0)
        if x0 is None and y0 is None:
            self.d_x, self.d_y = require_size(d_x, "d_x"), require_size(d_y, "d_y")
        else:
            _require_examples_alone(d_x, d_y, x0, y0)
            self._take_structures(*make_structures(_read_list(x0), _read_list(y0)))

    def _take_blocks(self, value: Any, given: dict[str, Any], of_two: dict[str, Any]) -> None:
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
        self._prototype = np.zeros(0)
        self._take_layout(layout)

    def _take_layout(self, layout: BlockLayout) -> None:
        self.blocks = layout
        self.d_x, self.d_y, self._constants = layout.d_x, layout.d_y, layout.constants
        self.value = None if self._value_of_blocks is None else BlockValue(self._value_of_blocks, layout)
        self.grad_x = BlockGradient(self._grads, layout, (layout.outer,))
        self.grad_y = BlockGradient(self._grads, layout, layout.rest)

    def nest(self, x: Array) -> Function:
        """y ↦ f(x, y) as a function of the blocks in y."""
        assert self.blocks is not None
        twin = copy(self)
        twin._take_layout(self.blocks.fix(x if self.structure_x is None else self.structure_x.unflatten(x)))
        if self.structure_x is not None:
            example = self.structure_x.prototype
            twin._take_structures(*make_structures(zeros(twin.d_x, example), zeros(twin.d_y, example)))
        return twin

    def _take_structures(self, structure_x: Structure, structure_y: Structure) -> None:
        self.structure_x, self.structure_y = structure_x, structure_y
        self.d_x, self.d_y = structure_x.size, structure_y.size
        self._prototype = choose_prototype(structure_x, structure_y)

    def with_vectors_like(self, x0: Any, y0: Any) -> Function:
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
        twin._take_structures(*make_structures(zeros(self.d_x, given[0]), zeros(self.d_y, given[0])))
        return twin

    @property
    def prototype(self) -> Array:
        return self._prototype

    @property
    def constants(self) -> Constants | None:
        return self._constants

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
