"""What a term is given: one number for all coordinates, or an array with one per coordinate."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, as_real_numpy, dtype_name, to_like
from minmin.errors import InputError, as_number

_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class Parameter:
    """One number, or an array with one per coordinate, which is copied once to every library, dtype and device.

    Attributes
    ----------
    value : float or NumPy array
    size : int or None
        How many numbers there are; None if one number is for all coordinates.
    """

    __slots__ = ("_copies", "_fits_single", "size", "value")

    def __init__(self, value: float | np.ndarray[Any, Any]):
        self.value = value
        self.size = None if isinstance(value, float) else value.shape[0]
        self._fits_single = not isinstance(value, float) or not _LARGEST_SINGLE < abs(value) < math.inf
        self._copies: dict[Hashable, Array] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameter, (self.value,)  # without the copies, which may be on an accelerator

    @property
    def least(self) -> float:
        return float(np.min(self.value))

    def like(self, v: Array) -> float | Array:
        """The number, or the array in the library, dtype and device of ``v``."""
        if isinstance(self.value, float):
            fits = self._fits_single or dtype_name(v) == "float64"
            return self.value if fits else math.copysign(math.inf, self.value)
        if type(v) is np.ndarray and v.dtype == self.value.dtype:
            return self.value
        key = kind_of(v)
        copy = self._copies.get(key)
        if copy is None:
            with np.errstate(over="ignore"):  # what is too large for single precision becomes infinite
                copy = self._copies[key] = to_like(self.value, v)
        return copy

    def require(self, allowed: np.ndarray[Any, Any], name: str, wanted: str) -> None:
        """Raise at the first number that is not allowed."""
        wrong = np.flatnonzero(~np.atleast_1d(allowed))
        if wrong.size:
            number = float(np.atleast_1d(self.value)[wrong[0]])
            raise InputError(f"{self.locate(name, wrong[0])} = {number:g} {wanted}")

    def locate(self, name: str, index: int) -> str:
        """What to call the number at an index in a message."""
        return name if self.size is None else f"{name}[{index}]"

    def check_size(self, size: int, parameter: str, name: str) -> None:
        """Raise if there is not one number for each of ``size`` coordinates."""
        if self.size is not None and self.size != size:
            raise InputError(
                f"{name}: {parameter} has {self.size} numbers, but the block has {size} coordinates; "
                "give one number, or one per coordinate"
            )


def make_parameter(value: Any, name: str, each: str = "coordinate") -> Parameter:
    """A user's number or array with one number per coordinate; infinite ones are allowed, NaN is not."""
    if getattr(value, "ndim", 0) == 0 and not isinstance(value, list | tuple):
        number = as_number(value, name)
        if math.isnan(number):
            raise InputError(f"{name} is nan; give one number, or one per {each}")
        return Parameter(number)
    array = np.array(as_real_numpy(value, name), dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; give one number, or one per {each}")
    if np.isnan(array).any():
        raise InputError(f"{name} holds nan at index {np.flatnonzero(np.isnan(array))[0]}; replace such entries")
    array.flags.writeable = False
    return Parameter(array)


def make_weight(value: Any, name: str, each: str = "coordinate") -> Parameter:
    """A user's weights: finite and not negative."""
    weight = make_parameter(value, name, each)
    numbers = np.asarray(weight.value)
    weight.require((numbers >= 0.0) & np.isfinite(numbers), name, "must be finite and not negative")
    return weight


def kind_of(v: Array) -> Hashable:
    """The library, dtype and device of an array, as a key of a dictionary."""
    return v.dtype if type(v) is np.ndarray else (type(v), type(v.dtype), v.dtype, device(v))
