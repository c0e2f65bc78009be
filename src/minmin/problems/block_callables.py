"""A user's callables of several blocks as callables of x and y, which hold the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, as_real, to_like
from minmin.core.blocks import BlockLayout
from minmin.core.vectors import copy_vector
from minmin.errors import InputError, UserCodeError

_ANOTHER_LIBRARY = (
    "x and y are NumPy arrays, as the start is; for functions of another library give a start of that library, such as "
    "x0=torch.zeros(d_x, dtype=torch.float64), y0=torch.zeros(d_y, dtype=torch.float64), or use from_jax or from_torch"
)


class BlockValue:
    """f(x, y) by a callable of the blocks."""

    def __init__(self, value: Callable[..., Any], layout: BlockLayout):
        self._value = value
        self._layout = layout

    def __call__(self, x: Array, y: Array) -> Any:
        return self._value(*self._layout.split(x, y))


class BlockGradient:
    """The gradient in x or in y, by one callable for each of the blocks in it."""

    def __init__(self, grads: Sequence[Callable[..., Any]], layout: BlockLayout, numbers: Sequence[int]):
        self._grads = grads
        self._layout = layout
        self._numbers = numbers

    def __call__(self, x: Array, y: Array) -> Array:
        gradients = [self._call(i, x, y) for i in self._numbers]
        coarsest = max(gradients, key=array_eps)  # of all, so that its dtype tells the precision of the whole
        return self._layout.join_gradients([to_like(g, coarsest) for g in gradients], self._numbers)

    def _call(self, number: int, x: Array, y: Array) -> Array:
        name = f"grads[{number}]"
        blocks = self._layout.split(x, y)
        try:
            returned = self._grads[number](*blocks)
        except Exception as error:
            raise explain_user_error(name, error, blocks[number]) from error
        gradient = as_real(returned, name, x)
        if tuple(gradient.shape) != (self._layout.sizes[number],):
            expected = (self._layout.sizes[number],)
            raise InputError(f"{name} returned shape {tuple(gradient.shape)}; it must return {expected}")
        return copy_vector(gradient)  # a callable may return the same array for another block


def explain_user_error(name: str, error: Exception, argument: Any) -> UserCodeError:
    """What a user's callable raised, and what to do."""
    numpy_alone = type(argument) is np.ndarray and "numpy.ndarray" in str(error)
    advice = f"; {_ANOTHER_LIBRARY}" if numpy_alone else ""
    if isinstance(error, ArithmeticError) or "domain" in str(error):
        advice = "; outside of f's domain, return inf or NaN"
    return UserCodeError(f"{name} raised {type(error).__name__}: {error}{advice}")


def check_grads(grads: Any, sizes: Sequence[int]) -> tuple[Callable[..., Any], ...]:
    """A user's gradients, one for every block."""
    functions = tuple(grads) if isinstance(grads, list | tuple) else ()
    if len(functions) != len(sizes):
        got = f"{len(functions)} functions" if functions else repr(grads)
        raise InputError(f"grads must be a list with a function for each of the {len(sizes)} blocks, got {got}")
    for i, function in enumerate(functions):
        if not callable(function):
            raise InputError(f"grads[{i}] must be callable with all {len(sizes)} blocks, got {function!r}")
    return functions
