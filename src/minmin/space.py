"""What a vector is: an array of any array-API library, or Blocks, a tuple of arrays that is a vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, to_device

from minmin.errors import InputError

Array = Any
"""A one-dimensional array (or, for data, a matrix) of any array-API library."""


class Blocks:
    """Several arrays that together are one vector of a weighted space.

    The inner product ``a @ b`` is the weighted sum of the inner products of their parts, so that a
    method written with ``+``, ``-``, ``*`` and ``@`` never needs to know whether it moves one array or
    many.

    Parameters
    ----------
    parts : sequence of arrays
    weights : sequence of float
        The weight of each part in the inner product.
    """

    __slots__ = ("parts", "weights")
    __array_ufunc__ = None  # so that a NumPy number times Blocks asks Blocks

    def __init__(self, parts: Sequence[Array], weights: Sequence[float]):
        self.parts = tuple(parts)
        self.weights = tuple(weights)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.parts)

    def __getitem__(self, index: int) -> Array:
        return self.parts[index]

    def map(self, function: Callable[..., Array], *others: Blocks) -> Blocks:
        """Apply a function part by part."""
        return Blocks([function(*ps) for ps in zip(self, *others, strict=True)], self.weights)

    def __add__(self, other: Blocks) -> Blocks:
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other: Blocks) -> Blocks:
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, scalar: float) -> Blocks:
        return self.map(lambda a: a * scalar)

    __rmul__ = __mul__

    def __neg__(self) -> Blocks:
        return self.map(lambda a: -a)

    def __matmul__(self, other: Blocks) -> float:
        return sum(w * float(p @ q) for w, p, q in zip(self.weights, self, other, strict=True))

    def __repr__(self) -> str:
        return f"Blocks({', '.join(repr(p) for p in self.parts)})"


Vector = Any
"""An :data:`Array` or :class:`Blocks`."""


def dot(a: Vector, b: Vector) -> float:
    """Inner product, weighted for :class:`Blocks`."""
    return float(a @ b)


def norm(a: Vector) -> float:
    """The norm that belongs to :func:`dot`; where the square leaves the range of float32, computed in scaled form."""
    square = float(a @ a)
    if 1e-30 < square < 1e30:
        return math.sqrt(square)
    peak = max((largest(part) for part in parts_of(a)), default=0.0)
    if peak == 0.0 or not math.isfinite(peak):
        return peak
    scaled = (1.0 / peak) * a if peak > 1e-30 else 1e30 * a
    return math.sqrt(float(scaled @ scaled)) * (peak if peak > 1e-30 else 1e-30)


def square(number: float) -> float:
    """A number's square; infinite where it overflows (where ``**`` would raise)."""
    return number * number


def largest(array: Array) -> float:
    """The largest absolute value of an entry; zero of an empty array."""
    xp = array_namespace(array)
    return float(xp.max(xp.abs(array))) if array.shape[0] else 0.0


def first_array(vector: Vector) -> Array:
    """The array that tells a vector's library, dtype and device."""
    return vector[0] if isinstance(vector, Blocks) else vector


def parts_of(vector: Vector) -> tuple[Array, ...]:
    """The arrays that a vector is made of."""
    return vector.parts if isinstance(vector, Blocks) else (vector,)


def machine_eps(vector: Vector) -> float:
    """The spacing of floats next to 1 in the vector's dtype."""
    dtype = first_array(vector).dtype
    key = type(dtype), dtype  # libraries' dtypes do not compare with each other's
    eps = _KNOWN_EPS.get(key)
    if eps is None:
        eps = _KNOWN_EPS[key] = _EPS[dtype_name(first_array(vector))]
    return eps


_KNOWN_EPS: dict[tuple[type, Any], float] = {}
_NATIVE = (np.dtype("float64"), np.dtype("float32"))
_EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}


def all_finite(array: Array) -> bool:
    if type(array) is np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            if array.ndim == 1 and math.isfinite(np.dot(array, array)):  # cheaper, and enough but for huge entries
                return True
        return bool(np.isfinite(array).all())
    xp = array_namespace(array)
    return bool(xp.all(xp.isfinite(array)))


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """The array's values in NumPy, wherever it lives."""
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError):  # on an accelerator
        return np.asarray(to_device(array, "cpu"))


def reshaped(array: Array, shape: tuple[int, ...]) -> Array:
    """The array in another shape."""
    if type(array) is np.ndarray:  # looking for the library takes longer than reshaping
        return array.reshape(shape)
    return array_namespace(array).reshape(array, shape)


def same_kind(first: Array, second: Array) -> bool:
    """Whether two arrays have one library and one dtype."""
    return array_namespace(first) is array_namespace(second) and dtype_name(first) == dtype_name(second)


def like(array: Array, model: Array) -> Array:
    """The same values in the library, dtype and device of ``model``."""
    if type(array) is type(model) is np.ndarray:
        return np.asarray(array, dtype=model.dtype)
    xp = array_namespace(model)
    if array_namespace(array) is not xp:
        array = to_numpy(array)
    return xp.asarray(array, dtype=model.dtype, device=device(model))


def as_real(value: Any, name: str, model: Array | None = None) -> Array:
    """Turn a user's array or list into a real floating array, keeping float32 and float64.

    Integers and truth values take the dtype of ``model`` (default NumPy's float64), lists its library as well.
    """
    if type(value) is np.ndarray and value.dtype in _NATIVE:
        return value
    if not is_array_api_obj(value):
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{name} cannot be read as an array: {error}") from None
        if array.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {array.dtype} values; give real numbers (float32 or float64)")
        plain = isinstance(value, list | tuple) and model is not None
        value = like(array, model) if plain else array
    if isinstance(value, np.ndarray):
        value = np.asarray(value, dtype=value.dtype.newbyteorder("="))
    xp = array_namespace(value)
    if dtype_name(value) in _EPS:
        return value
    if xp.isdtype(value.dtype, ("integral", "bool")):
        default = xp.float64 if model is None else getattr(xp, dtype_name(model))
        return xp.astype(value, default)
    raise InputError(f"{name} has dtype {value.dtype}; give float32 or float64")


def own_copy(vector: Vector) -> Vector:
    """The same vector in memory of its own."""
    if isinstance(vector, Blocks):
        return vector.map(own_copy)
    if type(vector) is np.ndarray:
        return np.array(vector)
    return array_namespace(vector).asarray(vector, copy=True)


def dtype_name(array: Array) -> str:
    """The dtype as every library spells it: "float64", ..."""
    dtype = array.dtype
    key = type(dtype), dtype
    name = _KNOWN_NAMES.get(key)
    if name is None:
        name = _KNOWN_NAMES[key] = str(dtype).rsplit(".", maxsplit=1)[-1]
    return name


_KNOWN_NAMES: dict[tuple[type, Any], str] = {}


def require_finite(array: Array, name: str) -> None:
    """Refuse NaN and infinity, saying where the first one is."""
    if all_finite(array):
        return
    values = to_numpy(array)
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
    index = where[0] if len(where) == 1 else where
    raise InputError(f"{name} holds {values[where]} at index {index}; remove or replace such entries")
