"""Models as named arrays, some shared and some private, and their places in x and y_i."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from minmin.core.arrays import as_real_numpy
from minmin.core.bound import Constants
from minmin.core.structure import Structure, join_arrays, make_structures
from minmin.errors import InputError
from minmin.problems.function import Function

Array = np.ndarray[Any, Any]
Model = dict[str, Array]


class Layout:
    """Which named arrays of a model are private; all others are shared.

    Parameters
    ----------
    model : mapping of str to array
        The starting point, such as a PyTorch ``state_dict``: arrays of any shape, all float32 or all float64.
    private : iterable of str
        Names of private arrays, or patterns such as "head.*".

    Examples
    --------
    >>> layout = Layout({"body": np.zeros((3, 2)), "head.bias": np.zeros(2)}, private=["head.*"])
    >>> layout.x0.shape, layout.y0.shape
    ((6,), (2,))
    >>> layout.shared(layout.x0)["body"].shape
    (3, 2)
    """

    def __init__(self, model: Mapping[str, Any], private: Iterable[str]):
        if not isinstance(model, Mapping) or not model:
            raise InputError(f"a model is a mapping of names to arrays, got {type(model).__name__}")
        patterns = [private] if isinstance(private, str) else list(private)
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in model):
                raise InputError(f"private {pattern!r} matches no name of the model: {', '.join(model)}")
        start = {name: as_real_numpy(array, f"the model's {name!r}") for name, array in model.items()}
        dtypes = {array.dtype for array in start.values()}
        if len(dtypes) > 1:
            raise InputError(f"the model's arrays are {' and '.join(map(str, dtypes))}; convert them all to one type")
        matched = {n: array for n, array in start.items() if any(fnmatchcase(n, pattern) for pattern in patterns)}
        others = {name: array for name, array in start.items() if name not in matched}
        if not matched or not others:
            raise InputError("a model needs at least one shared and one private array; change private=")
        self._shared, self._private = make_structures(others, matched)
        self.x0, self.y0 = self._shared.start.copy(), self._private.start.copy()

    def shared(self, x: Any) -> Model:
        """The shared arrays in x, by name."""
        return _unpack(x, self._shared)

    def private(self, y: Any) -> Model:
        """The private arrays in y_i, by name."""
        return _unpack(y, self._private)

    def model(self, x: Any, y: Any) -> Model:
        """All arrays, by name."""
        return {**self.shared(x), **self.private(y)}

    def problem(
        self,
        value: Callable[[Model], float],
        gradient: Callable[[Model, list[str]], Mapping[str, Any]],
        *,
        constants: Constants | None = None,
    ) -> Function:
        """Build the problem f_i from callables that take the model as named arrays.

        Parameters
        ----------
        value : callable
            ``value(model)`` is f_i.
        gradient : callable
            ``gradient(model, names)`` returns the gradients with respect to the named arrays, by name. The names are
            either all shared or all private arrays, so that the cheap gradient does not cost an expensive one.
        constants : Constants, optional
            Some methods need them, and so does a certificate.
        """
        blocks = (self._shared, list(self.shared(self.x0))), (self._private, list(self.private(self.y0)))
        grad_x, grad_y = (partial(_differentiate, self, gradient, *block) for block in blocks)
        sizes = {"d_x": self.x0.size, "d_y": self.y0.size}
        return Function(partial(_evaluate, self, value), grad_x, grad_y, **sizes, constants=constants)

    def metric(self, measure: Callable[[Model], float]) -> Callable[[Array, Array], float]:
        """Build a metric for :class:`Client` from a callable that takes the model as named arrays."""
        return partial(_evaluate, self, measure)


# Functions of the module, not closures, since those cannot be pickled for other processes.


def _evaluate(layout: Layout, function: Callable[[Model], float], x: Array, y: Array) -> float:
    return float(function(layout.model(x, y)))


def _differentiate(
    layout: Layout, gradient: Callable[..., Any], structure: Structure, names: list[str], x: Array, y: Array
) -> Array:
    found = gradient(layout.model(x, y), list(names))
    for name in names:
        if name not in found:
            raise InputError(f"gradient(model, names) returned nothing for {name!r}")
    of_block = {name: found[name] for name in names}
    joined: Array = join_arrays(structure.list_arrays(of_block, "gradient"), structure.start)
    return joined


def _unpack(vector: Any, structure: Structure) -> Model:
    array = np.asarray(vector)
    if array.shape != (structure.size,):
        raise InputError(f"{structure.block} has shape {array.shape}; this layout needs ({structure.size},)")
    named: Model = structure.unflatten(array)
    return named
