"""Arrays of any array-API library: checks, conversions, and a few functions that work for all of them."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_jax_array, is_torch_array, to_device

from minmin.core.rows import RowVector, combines_rows
from minmin.errors import InputError, require_values

Array = Any
"""A one-dimensional array (or, for data, a matrix) of any array-API library."""

_KEPT_DTYPES = (np.dtype("float64"), np.dtype("float32"))
_EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}
_HALF_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def namespace_of(array: Array) -> Any:
    """The array-API namespace of an array; for NumPy without the usual search, which takes microseconds."""
    return np if type(array) is np.ndarray else array_namespace(array)


def array_eps(array: Array) -> float:
    """The spacing of floats next to 1 in the array's dtype."""
    return _EPS[_name_dtype(array.dtype)]


def number_eps(number: Any) -> float:
    """The precision that a number's dtype tells; 0 if it has none, or one that is not of floats."""
    return (_EPS | _HALF_EPS).get(dtype_name(number), 0.0) if hasattr(number, "dtype") else 0.0


def library_name(array: Array) -> str:
    """The name of an array's library, such as "numpy"."""
    return array_namespace(array).__name__.removeprefix("array_api_compat.")


def describe_kind(array: Array) -> str:
    """The dtype, library and device of an array, for messages; NumPy has one device, which is not named."""
    where = "" if type(array) is np.ndarray else f" on {device(array)}"
    return f"{dtype_name(array)} of {library_name(array)}{where}"


def dtype_name(array: Array) -> str:
    """The name of the dtype, the same for every library: "float64", ..."""
    return _name_dtype(array.dtype)


@lru_cache(maxsize=None, typed=True)  # by type, too: dtypes of different libraries cannot be compared
def _name_dtype(dtype: Any) -> str:
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def largest_here(array: Array) -> float:
    """The largest absolute value of an entry of an array that is here; 0 for an empty one."""
    if 0 in array.shape:
        return 0.0
    if type(array) is np.ndarray:
        return float(np.maximum.reduce(np.abs(array), axis=None))  # np.max takes longer
    xp = array_namespace(array)
    return float(xp.max(xp.abs(array)))


@combines_rows("max")
def largest(array: Array) -> float:
    """The largest absolute value of an entry; 0 for an empty array."""
    return largest_here(array)


@combines_rows("sum")
def inner(a: Array, b: Array) -> float:
    """The sum over all entries of the product of two arrays of the same shape."""
    if a.ndim > 1:
        a, b = reshape(a, (-1,)), reshape(b, (-1,))
    return float(a @ b)


@combines_rows("sum")
def total(array: Array) -> float:
    """The sum of all entries."""
    return float(array.sum() if type(array) is np.ndarray else array_namespace(array).sum(array))


@combines_rows("sum")
def weighted_square(weights: Array, v: Array) -> float:
    """The sum over all entries of weights·v²."""
    return inner(weights * v, v)


def sum_rows(table: Array) -> Array:
    """The sum of every row of a matrix; computed by a product, since sums over short rows are slow."""
    return table @ namespace_of(table).ones(table.shape[1], dtype=table.dtype, device=device(table))


def all_finite(array: Array) -> bool:
    if type(array) is np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            # Faster, and fails only if entries are huge.
            if math.isfinite(np.dot(array, array) if array.ndim == 1 else array.sum()):
                return True
        return bool(np.isfinite(array).all())
    xp = array_namespace(array)
    return bool(xp.all(xp.isfinite(array)))


def is_on_accelerator(array: Array) -> bool:
    """Whether an array is not in main memory, so that every number that is read from it waits for the accelerator."""
    if type(array) is np.ndarray:
        return False
    place = device(array)
    kind = getattr(place, "type", None) or getattr(place, "platform", None)  # in PyTorch and in JAX
    return library_name(array) == "cupy" or kind not in (None, "cpu")


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """The values as a NumPy array, copied from an accelerator if necessary."""
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, RowVector):
        return array.rows.gather(array)
    if is_torch_array(array):
        return np.asarray(array.detach().cpu())  # NumPy takes no tensor that records gradients
    if is_jax_array(array):
        return np.asarray(array)  # from any device; JAX calls none of them "cpu"
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError):  # on an accelerator
        return np.asarray(to_device(array, "cpu"))


def reshape(array: Array, shape: tuple[int, ...]) -> Array:
    """The array in another shape."""
    if type(array) is np.ndarray:  # finding the library takes longer than reshaping
        return array.reshape(shape)
    return array_namespace(array).reshape(array, shape)


def replace_zeros(diagonal: Array) -> Array:
    """Replace zeros in a diagonal by ones: they belong to variables that do not affect f."""
    xp = namespace_of(diagonal)
    return xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))


def zeros(size: int, prototype: Array) -> Array:
    """A vector of zeros in the library, dtype and device of ``prototype``."""
    if type(prototype) is np.ndarray:
        return np.zeros(size, dtype=prototype.dtype)
    if dtype_name(prototype) == "float64":
        _require_jax_float64(prototype, "the problem is in float64")
    return array_namespace(prototype).zeros(size, dtype=prototype.dtype, device=device(prototype))


def identity(size: int, prototype: Array) -> Array:
    """The identity matrix in the library, dtype and device of ``prototype``."""
    if type(prototype) is np.ndarray:
        return np.eye(size, dtype=prototype.dtype)
    return array_namespace(prototype).eye(size, dtype=prototype.dtype, device=device(prototype))


def in_double(array: Array) -> np.ndarray[Any, Any]:
    """The values as a NumPy array in double precision."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def same_kind(first: Array, second: Array) -> bool:
    """Whether two arrays have the same library, dtype and device."""
    if array_namespace(first) is not array_namespace(second) or dtype_name(first) != dtype_name(second):
        return False
    return bool(device(first) == device(second))


def to_like(array: Array, prototype: Array) -> Array:
    """The same values in the library, dtype and device of ``prototype``."""
    if type(array) is type(prototype) is np.ndarray:
        return np.asarray(array, dtype=prototype.dtype)
    xp = array_namespace(prototype)
    if array_namespace(array) is not xp:
        array = to_numpy(array)
        if is_torch_array(prototype) and (not array.flags.writeable or min(array.strides, default=0) < 0):
            array = array.copy()  # PyTorch warns of the one and refuses the other
        if is_jax_array(prototype):  # asarray with a dtype takes four times as long
            return sys.modules["jax"].device_put(np.array(array, dtype=prototype.dtype), device(prototype))
    return xp.asarray(array, dtype=prototype.dtype, device=device(prototype))


def as_real(value: Any, name: str, prototype: Array | None = None) -> Array:
    """Turn a user's array or list into a real floating array, keeping float32 and float64.

    Integers and booleans take the dtype of ``prototype`` (default: float64). Lists also take its library. PyTorch's
    tensors are taken without the record of how they were computed, which would grow with every step of a run.
    """
    if type(value) is np.ndarray and value.dtype in _KEPT_DTYPES:
        return value
    require_values(value, name)
    if not is_array_api_obj(value):
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{name} cannot be read as an array: {error}") from None
        if array.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {array.dtype} values; give real numbers (float32 or float64)")
        has_no_library = isinstance(value, list | tuple) and prototype is not None
        value = to_like(array, prototype) if has_no_library else array
    if isinstance(value, np.ndarray):
        value = np.asarray(value, dtype=value.dtype.newbyteorder("="))
    elif is_torch_array(value) and value.requires_grad:
        value = value.detach()
    xp = array_namespace(value)
    if dtype_name(value) in _EPS:
        if dtype_name(value) == "float64":
            _require_jax_float64(value, f"{name} is float64")
        return value
    if xp.isdtype(value.dtype, ("integral", "bool")):
        wanted = "float64" if prototype is None else dtype_name(prototype)
        if wanted == "float64":
            _require_jax_float64(value, f"{name} holds {value.dtype} values, which become float64")
        return xp.astype(value, getattr(xp, wanted))
    raise InputError(f"{name} has dtype {value.dtype}; give float32 or float64")


def as_real_numpy(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Turn a user's array or list into a real floating array of NumPy, keeping float32 and float64."""
    return to_numpy(as_real(to_numpy(value) if is_array_api_obj(value) else value, name))


def _require_jax_float64(array: Array, what: str) -> None:
    """Raise if this is an array of JAX with float64 switched off."""
    if is_jax_array(array):
        require_jax_float64(what)


def require_jax_float64(what: str) -> None:
    """Raise if JAX, which must be loaded, has float64 switched off: it would warn, and continue in float32."""
    config = sys.modules["jax"].config
    allows_explicit = getattr(getattr(config, "jax_explicit_x64_dtypes", None), "name", "") == "ALLOW"
    if not (config.jax_enable_x64 or allows_explicit):
        raise InputError(
            f'{what}, which JAX has switched off; call jax.config.update("jax_enable_x64", True) before the first '
            "array is made, or give float32"
        )


def require_finite(array: Array, name: str) -> None:
    """Raise if there is a NaN or infinity; the message says where the first one is."""
    if all_finite(array):
        return
    values = to_numpy(array)
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
    index = place[0] if len(place) == 1 else place
    raise InputError(f"{name} holds {values[place]} at index {index}; remove or replace such entries")
