"""What a vector is: an array of any array-API library, or Parts, several arrays that together are one vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, largest_here, namespace_of, to_like, to_numpy


class Parts:
    """The y of a :class:`~minmin.Sum`: one array per term, together one vector of a weighted space.

    The inner product ``a @ b`` is the weighted sum of the inner products of the parts. So a method written with ``+``,
    ``-``, ``*`` and ``@`` works for one array and for several.

    Parameters
    ----------
    parts : sequence of arrays
    weights : sequence of float
        The weight of each part in the inner product.
    """

    __slots__ = ("parts", "weights")
    __array_ufunc__ = None  # so that a NumPy number times Parts calls __rmul__ below

    def __init__(self, parts: Sequence[Array], weights: Sequence[float]):
        self.parts = tuple(parts)
        self.weights = tuple(weights)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.parts)

    def __getitem__(self, index: int) -> Array:
        return self.parts[index]

    def map(self, function: Callable[..., Array], *others: Parts) -> Parts:
        """Apply a function to every part."""
        return Parts([function(*ps) for ps in zip(self, *others, strict=True)], self.weights)

    def __add__(self, other: Parts) -> Parts:
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other: Parts) -> Parts:
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, scalar: float) -> Parts:
        return self.map(lambda a: a * scalar)

    __rmul__ = __mul__

    def __neg__(self) -> Parts:
        return self.map(lambda a: -a)

    def __matmul__(self, other: Parts) -> float:
        return sum(w * float(p @ q) for w, p, q in zip(self.weights, self, other, strict=True))

    def __repr__(self) -> str:
        return f"Parts({', '.join(repr(p) for p in self.parts)})"


Vector = Any
"""An :data:`Array` or :class:`Parts`."""


def dot(a: Vector, b: Vector) -> float:
    """Inner product, weighted for :class:`Parts`."""
    return float(a.dot(b) if type(a) is np.ndarray else a @ b)  # short arrays take half as long as with @


LEAST = float(np.finfo(np.float64).tiny)
"""The least positive number with all digits: a square that underflows is taken to be this in upper bounds."""
_TINY, _HUGE = 1e-30, 1e30
"""A sum of squares between these is used directly. Float32 ends at 1.2e-38 and 3.4e38, so an entry whose square
underflows is below 2e-8 of such a sum."""


def norm(a: Vector) -> float:
    """The norm of the inner product :func:`dot`; scaled first if the square would leave the range of float32."""
    square_sum = float(a.dot(a) if type(a) is np.ndarray else a @ a)
    if _TINY < square_sum < _HUGE:
        return math.sqrt(square_sum)
    peak = largest_entry(a)
    if peak == 0.0 or not math.isfinite(peak):
        return peak
    if peak <= _TINY:
        return norm(_HUGE * a) * _TINY
    scaled = (1.0 / peak) * a
    return math.sqrt(float(scaled @ scaled)) * peak


def largest_entry(*vectors: Vector) -> float:
    """The largest absolute entry of all these vectors."""
    return max(map(largest_here, chain.from_iterable(map(parts_of, vectors))), default=0.0)


def square(number: float) -> float:
    """The square of a number; infinite if it overflows, when ``**`` would raise."""
    return number * number


def square_up(number: float) -> float:
    """The square of a number, for upper bounds: only that of zero is zero, though others may underflow."""
    return max(number * number, LEAST) if number != 0.0 else 0.0


def first_array(vector: Vector) -> Array:
    """An array with the vector's library, dtype and device."""
    return vector[0] if isinstance(vector, Parts) else vector


def parts_of(vector: Vector) -> tuple[Array, ...]:
    """The arrays in a vector."""
    return vector.parts if isinstance(vector, Parts) else (vector,)


def from_parts(parts: Sequence[Array], prototype: Vector) -> Vector:
    """The vector of these arrays: Parts with the weights of ``prototype``, or the only array."""
    return Parts(parts, prototype.weights) if isinstance(prototype, Parts) else parts[0]


def map_parts(function: Callable[..., Array], *vectors: Vector) -> Vector:
    """The vector of a function of the arrays in these vectors, part by part."""
    return from_parts([function(*parts) for parts in zip(*map(parts_of, vectors), strict=True)], vectors[0])


def flatten(vector: Vector) -> Array:
    """One array with the same inner products: parts are multiplied by the roots of their weights."""
    if not isinstance(vector, Parts):
        return vector
    return namespace_of(vector[0]).concat([math.sqrt(w) * p for w, p in zip(vector.weights, vector, strict=True)])


def unflatten(array: Array, prototype: Vector) -> Vector:
    """The inverse of :func:`flatten`, for a vector with the parts of ``prototype``."""
    if not isinstance(prototype, Parts):
        return array
    parts, start = [], 0
    for part, weight in zip(prototype, prototype.weights, strict=True):
        parts.append(array[start : start + part.shape[0]] * (1.0 / math.sqrt(weight)))
        start += part.shape[0]
    return Parts(parts, prototype.weights)


def to_flat(vector: Vector) -> np.ndarray[Any, Any]:
    """One NumPy array in double precision with the same inner products, like :func:`flatten`."""
    return to_numpy(flatten(vector)).astype(np.float64)


def from_flat(array: np.ndarray[Any, Any], prototype: Vector) -> Vector:
    """The inverse of :func:`to_flat`, in the library, dtype and device of ``prototype``."""
    return unflatten(to_like(array, first_array(prototype)), prototype)


def machine_eps(vector: Vector) -> float:
    """The spacing of floats next to 1 in the vector's dtype."""
    return array_eps(first_array(vector))


def copy_vector(vector: Vector) -> Vector:
    """A copy of the vector."""
    if type(vector) is np.ndarray:
        return vector.copy()
    if isinstance(vector, Parts):
        return vector.map(copy_vector)
    return namespace_of(vector).asarray(vector, copy=True)
