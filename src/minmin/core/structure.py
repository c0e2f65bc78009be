"""Structures: nested arrays of any shape as one flat vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array

from minmin.core.arrays import (
    Array,
    array_eps,
    as_real,
    dtype_name,
    is_on_accelerator,
    namespace_of,
    require_finite,
    reshape,
    to_like,
    to_numpy,
)
from minmin.core.tree import Expand, Tree, find_leaves
from minmin.errors import InputError, name_type, show

_HOST_UP_TO = {"jax": 300_000, "others": 30_000}
"""Up to this many variables, vectors of functions that compute on an accelerator are kept in main memory.
Measured: docs/benchmarks/tuning.md."""


class Leaf(NamedTuple):
    """One array or number of a structure.

    Attributes
    ----------
    place : str
        Where it is, as one would write it in Python: "['layer'][0]".
    shape : tuple of int
    prototype : array
        An empty array with its library, dtype and device.
    number : type or None
        The type of a number, such as float; None for an array.
    """

    place: str
    shape: tuple[int, ...]
    prototype: Array
    number: type | None

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Structure:
    """How a user sees one block of variables: arrays of any shape in nested dicts, lists, tuples and NamedTuples.

    Methods see one flat vector instead, in the lowest precision of the arrays.

    Parameters
    ----------
    example : nested dicts, lists, tuples and NamedTuples of arrays and numbers
        Also the default start. None counts as an empty container.
    name : str
        What the user calls it.
    prototype : array
        An array with the library, dtype and device that Python's numbers take if there is no array beside them.
    expand : callable, optional
        Tells about containers of another library.
    """

    def __init__(self, example: Any, name: str, prototype: Array, expand: Expand | None = None):
        self._tree = Tree(example, expand)
        values = list(find_leaves(example, expand))
        like = next(filter(_is_array, values), prototype)
        pairs = zip(values, self._tree.places(), strict=True)
        self.leaves = tuple(_make_leaf(value, place, name, like) for value, place in pairs)
        self.name = name
        self.size = sum(leaf.size for leaf in self.leaves)
        if self.size == 0:
            raise InputError(f"{name} holds no variables: both blocks need at least one")
        self._ends = np.cumsum([leaf.size for leaf in self.leaves]).tolist()
        self.prototype = max((leaf.prototype for leaf in self.leaves), key=array_eps)
        self._cannot_change = all(leaf.number or is_jax_array(leaf.prototype) for leaf in self.leaves)
        self._newest: tuple[Any, list[Any]] = (None, [])  # of JAX, where a conversion takes long
        self.start = self.flatten(example, name, np.zeros(0, dtype_name(self.prototype)))

    def flatten(self, tree: Any, name: str, prototype: Array) -> Array:
        """One flat vector in the library, dtype and device of ``prototype``; always a copy.

        Parameters
        ----------
        tree : structure like the example
        name : str
            What the user calls it, for errors.
        """
        arrays = self.list_arrays(tree, name)
        for leaf, array in zip(self.leaves, arrays, strict=True):
            require_finite(array, name + leaf.place)
        return join_arrays(arrays, prototype)

    def list_arrays(self, tree: Any, name: str) -> list[Array]:
        """The arrays in a structure like the example, in order and checked; numbers become arrays, too."""
        return [_read(leaf, value, name + leaf.place) for leaf, value in self.pair_leaves(tree, name)]

    def pair_leaves(self, tree: Any, name: str) -> Iterator[tuple[Leaf, Any]]:
        """Every leaf with what a nested structure like the example holds there."""
        return zip(self.leaves, self._tree.read(tree, name), strict=True)

    def split(self, vector: Array) -> list[Array]:
        """The pieces of a vector in their shapes."""
        starts = [0, *self._ends[:-1]]
        pieces = zip(self.leaves, starts, self._ends, strict=True)
        return [reshape(vector[start:end], leaf.shape) for leaf, start, end in pieces]

    def build(self, arrays: Sequence[Any]) -> Any:
        """A structure like the example, of other arrays."""
        return self._tree.build(iter(arrays))

    def unflatten(self, vector: Array) -> Any:
        """A structure of arrays like those of the example, from a vector of any library; always a copy."""
        known, arrays = self._newest
        if known is not vector:
            arrays = [_show(leaf, piece) for leaf, piece in zip(self.leaves, self.split(vector), strict=True)]
            if self._cannot_change:
                self._newest = (vector, arrays)
        return self.build(arrays)

    def locate(self, index: int) -> str:
        """What the user calls an entry of the vector: "x['w'][0, 3]"."""
        number = next(i for i, end in enumerate(self._ends) if index < end)
        leaf = self.leaves[number]
        inside = np.unravel_index(index - (self._ends[number] - leaf.size), leaf.shape)
        entry = f"[{', '.join(str(i) for i in inside)}]" if leaf.shape else ""
        return f"{self.block}{leaf.place}{entry}"

    @property
    def block(self) -> str:
        """The block's name: "x" or "y"."""
        return self.name.removesuffix("0")

    def describe(self) -> str:
        """Places, shapes and dtypes: two structures with the same description take the same vectors."""
        return ", ".join(f"{leaf.place}{leaf.shape}{dtype_name(leaf.prototype)}" for leaf in self.leaves)


def make_structures(
    x0: Any, y0: Any, prototype: Array | None = None, expand: Expand | None = None
) -> tuple[Structure, Structure]:
    """The structures of both blocks.

    Python's numbers become like the arrays of their block, or of the other block, or like ``prototype``.
    """
    like = next(filter(_is_array, find_leaves([x0, y0], expand)), np.zeros(0) if prototype is None else prototype)
    return Structure(x0, "x0", like, expand), Structure(y0, "y0", like, expand)


def choose_prototype(*structures: Structure) -> Array:
    """An array of the library, dtype and device in which vectors of these structures are kept.

    In main memory, where one operation takes microseconds, unless the arrays are many and on an accelerator.
    """
    prototype = max((s.prototype for s in structures), key=array_eps)
    limit = _HOST_UP_TO["jax" if is_jax_array(prototype) else "others"]
    if sum(s.size for s in structures) > limit and is_on_accelerator(prototype):
        return prototype
    return np.zeros(0, dtype_name(prototype))


def require_same_structure(first: Structure | None, other: Structure | None, name: str, block: str = "x") -> None:
    """Raise if two problems that share a block have it in different structures; flat arrays fit any of their length."""
    if first is None or other is None or first.describe() == other.describe():
        return
    raise InputError(
        f"{block} has another structure in {name} than in the first one: {other.describe()} instead of "
        f"{first.describe()}; give all of them the same {block}0, with its keys in the same order"
    )


def join_arrays(arrays: Sequence[Array], prototype: Array) -> Array:
    """The entries of all arrays as one vector in the library, dtype and device of ``prototype``; always a copy."""
    if type(prototype) is np.ndarray:
        return np.concatenate([to_numpy(a).reshape(-1) for a in arrays], dtype=prototype.dtype)
    return namespace_of(prototype).concat([reshape(to_like(a, prototype), (-1,)) for a in arrays])


def _is_array(value: Any) -> bool:
    return is_array_api_obj(value) and not isinstance(value, np.generic)  # NumPy's numbers look like arrays


def _make_leaf(value: Any, place: str, name: str, prototype: Array) -> Leaf:
    where = f"{name}{place}"
    if _is_array(value):
        if dtype_name(value) not in ("float32", "float64"):
            raise InputError(f"{where} has dtype {dtype_name(value)}; give float32 or float64")
        return Leaf(place, tuple(value.shape), to_like(np.zeros(0), value), None)
    if isinstance(value, np.floating | float):
        if isinstance(value, np.floating) and dtype_name(value) not in ("float32", "float64"):
            raise InputError(f"{where} has dtype {dtype_name(value)}; give float32 or float64")
        own = np.zeros(0, value.dtype) if isinstance(value, np.floating) else to_like(np.zeros(0), prototype)
        return Leaf(place, (), own, type(value))
    if isinstance(value, bool | int | np.integer | np.bool_):
        raise InputError(f"{where} is {show(value)}, not a floating-point number; give {float(value)}")
    hint = ", such as dict(module.named_parameters())" if hasattr(value, "named_parameters") else ""
    raise InputError(
        f"{where} is {name_type(value)}; give arrays and numbers in nested dicts, lists, tuples and NamedTuples{hint}"
    )


def _read(leaf: Leaf, value: Any, name: str) -> Array:
    array = as_real(np.asarray(value) if isinstance(value, np.generic) else value, name, leaf.prototype)
    if tuple(array.shape) != leaf.shape:
        raise InputError(f"{name} has shape {tuple(array.shape)}; it must have {leaf.shape}")
    return array


def _show(leaf: Leaf, piece: Array) -> Any:
    if leaf.number is not None:
        return leaf.number(piece)
    if type(piece) is np.ndarray:
        return to_like(np.array(piece), leaf.prototype)  # which may share its memory
    return namespace_of(leaf.prototype).asarray(to_like(piece, leaf.prototype), copy=True)
