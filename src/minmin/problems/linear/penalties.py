"""Penalties on the coefficients of a block: one number for all columns, or one per column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, as_real, namespace_of, require_finite, to_like, to_numpy
from minmin.core.vectors import dot, norm
from minmin.errors import InputError, as_number


class Penalty:
    """½ Σ alpha_j v_j².

    Attributes
    ----------
    alpha : float or array
        One number for all columns, or an array with one per column.
    least, most : float
        The smallest and the largest alpha.
    """

    __slots__ = ("alpha", "least", "most")

    def __init__(self, alpha: float | Array):
        self.alpha = alpha
        values = np.asarray(alpha) if isinstance(alpha, float) else to_numpy(alpha)
        self.least, self.most = float(values.min()), float(values.max())

    @property
    def is_one_number(self) -> bool:
        """Whether one number is the penalty of every column."""
        return isinstance(self.alpha, float)

    @property
    def covers_all(self) -> bool:
        """Whether every column is penalised."""
        return self.least > 0.0

    def product(self, a: Array, b: Array) -> float:
        """Σ alpha_j a_j b_j."""
        return self.alpha * dot(a, b) if self.is_one_number else dot(self.alpha * a, b)

    def dual_norm(self, gradient: Array) -> float:
        """√Σ g_j²/alpha_j over the penalised columns."""
        if self.is_one_number:
            return norm(gradient) / math.sqrt(self.alpha) if self.alpha > 0.0 else 0.0
        return norm(gradient * self.inverse() ** 0.5)

    def inverse(self) -> Array:
        """1/alpha_j for every column, and 0 for unpenalised ones. Needs a penalty per column."""
        alpha: Array = self.alpha
        xp, is_penalised = namespace_of(alpha), alpha > 0
        return xp.astype(is_penalised, alpha.dtype) / xp.where(is_penalised, alpha, xp.ones_like(alpha))

    def keep_unpenalised(self, v: Array) -> Array:
        """v with zeros for the penalised columns."""
        if self.is_one_number:
            return 0.0 * v if self.alpha > 0.0 else v
        return namespace_of(v).where(self.alpha > 0, 0.0 * v, v)

    def repeat(self, times: int) -> Penalty:
        """The penalty of a block with ``times`` coefficients per column."""
        return self if isinstance(self.alpha, float) or times == 1 else Penalty(repeat(self.alpha, times))

    def find_unpenalised(self) -> np.ndarray[Any, Any]:
        """The indices of the unpenalised columns. Needs a penalty per column."""
        return np.flatnonzero(to_numpy(self.alpha) == 0.0)

    def to_numpy(self, size: int) -> np.ndarray[Any, Any]:
        """The penalty of every one of ``size`` coefficients."""
        return np.broadcast_to(np.asarray(self.alpha if self.is_one_number else to_numpy(self.alpha)), (size,))

    def to_like(self, prototype: Array) -> Penalty:
        """A copy in the library, dtype and device of ``prototype``."""
        return self if self.is_one_number else Penalty(to_like(self.alpha, prototype))


def repeat(per_column: Array, times: int) -> Array:
    """Every entry ``times`` times, one after the other."""
    if times == 1:
        return per_column
    xp = namespace_of(per_column)
    return xp.reshape(xp.broadcast_to(per_column[:, None], (per_column.shape[0], times)), (-1,))


def make_penalty(alpha: Any, name: str, columns: int, prototype: Array) -> Penalty:
    """A user's penalty for a block with this many columns: a number, or an array with one per column.

    If all are equal it becomes one number, which is a little faster.
    """
    if getattr(alpha, "ndim", 0) == 0 and not isinstance(alpha, list | tuple):
        number = as_number(alpha, name)
        if not 0.0 <= number < math.inf:
            raise InputError(f"{name} = {number} must be finite and not negative")
        return Penalty(number)
    array = to_like(as_real(alpha, name, prototype), prototype)
    if array.shape != (columns,):
        raise InputError(
            f"{name} has shape {tuple(array.shape)}; give one number, or one for each of {columns} columns"
        )
    require_finite(array, name)
    values = to_numpy(array)
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"{name}[{wrong}] = {values[wrong]:g} must not be negative")
    return Penalty(float(values[0]) if (values == values[0]).all() else array)
