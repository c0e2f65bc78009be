"""Vectors with one entry per row of the data, kept where the rows are: in other processes, or on other machines.

:func:`map_rows` and :func:`reduce_rows` call a function on arrays as they are. If one of the arguments is a
:class:`RowValue`, the function is called where the rows are, once for every group of rows.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, NamedTuple

import numpy as np

Combine = Literal["sum", "max", "min", "any", "all", "union", "list"]
"""How the results of the groups of rows become one; "union" sorts, and "list" has one result per group."""
_Measure = Callable[..., float]


class Reduction(NamedTuple):
    """A function of row values, and how its results for all groups of rows are combined."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    combine: Combine = "sum"

    def compute(self) -> Any:
        """Its result, wherever the rows are."""
        rows = _find_rows(self.args)
        return self.function(*self.args) if rows is None else rows.fetch(self)


class Recipe:
    """How a value is computed where the rows are.

    Attributes
    ----------
    token : int or str
        The name of the value there.
    function : callable or None
        None for what every group of rows loads by itself.
    args : tuple
        Recipes stand for values; everything else is passed as it is.
    """

    __slots__ = ("args", "function", "token")

    def __init__(self, token: int | str, function: Callable[..., Any] | None = None, args: tuple[Any, ...] = ()):
        self.token = token
        self.function = function
        self.args = args


class Rows(ABC):
    """The rows of a data set, in several groups."""

    count: int
    """The number of rows."""

    @abstractmethod
    def apply(self, function: Callable[..., Any], *args: Any, example: Any = None) -> Any:
        """A name for the function of these arguments, computed for every group of rows when it is needed.

        ``example`` is the result for a single row; by default it is computed here, from the examples of the arguments.
        """

    @abstractmethod
    def fetch(self, reduction: Reduction) -> Any:
        """The combined result of a reduction."""

    @abstractmethod
    def prefetch(self, reductions: Sequence[Reduction]) -> None:
        """Compute reductions that :meth:`fetch` will be asked for soon, in one exchange."""

    @abstractmethod
    def gather(self, vector: RowVector) -> np.ndarray[Any, Any]:
        """All entries, in the order of the rows."""

    @abstractmethod
    def note_sum(self, result: RowVector, terms: Sequence[tuple[float, RowVector]]) -> None:
        """Note that a vector is Σ factor·vector, so that a lost one can be computed again from few coefficients."""

    @abstractmethod
    def release(self, token: int | str) -> None:
        """Called when nothing here refers to a value any more."""


class RowValue:
    """A name for something that every group of rows has, such as an array or a design.

    Attributes
    ----------
    rows : Rows
    recipe : Recipe
    example : Any
        The value for a single row, from which dtypes and shapes are known here; None if there is none.
    """

    __slots__ = ("__weakref__", "example", "recipe", "rows")

    def __init__(self, rows: Rows, recipe: Recipe, example: Any = None):
        self.rows = rows
        self.recipe = recipe
        self.example = example

    def __del__(self) -> None:
        self.rows.release(self.recipe.token)

    def call(self, method: str, *args: Any, example: Any = None) -> Any:
        """A name for what a method of this value returns, see :meth:`Rows.apply`."""
        return self.rows.apply(_call_method, self, method, *args, example=example)


class RowVector(RowValue):
    """A vector with one entry per row, or a table with several."""

    __slots__ = ()
    __array_ufunc__ = None  # so that a NumPy number times a RowVector calls __rmul__ below
    __hash__ = object.__hash__

    @property
    def dtype(self) -> Any:
        return self.example.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows.count, *self.example.shape[1:])

    @property
    def ndim(self) -> int:
        return int(self.example.ndim)

    def __add__(self, other: Any) -> RowVector:
        return self._sum(operator.add, other, 1.0)

    def __sub__(self, other: Any) -> RowVector:
        return self._sum(operator.sub, other, -1.0)

    def _sum(self, function: Callable[..., Any], other: Any, factor: float) -> RowVector:
        result: RowVector = self.rows.apply(function, self, other)
        if isinstance(other, RowVector):
            self.rows.note_sum(result, [(1.0, self), (factor, other)])
        return result

    def __mul__(self, other: Any) -> RowVector:
        result: RowVector = self.rows.apply(operator.mul, self, other)
        if np.ndim(other) == 0:
            self.rows.note_sum(result, [(float(other), self)])
        return result

    __rmul__ = __mul__

    def __neg__(self) -> RowVector:
        return self * -1.0

    def __radd__(self, other: Any) -> Any:
        return self.rows.apply(operator.add, other, self)

    def __rsub__(self, other: Any) -> Any:
        return self.rows.apply(operator.sub, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.rows.apply(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.rows.apply(operator.truediv, other, self)

    def __pow__(self, other: Any) -> Any:
        return self.rows.apply(operator.pow, self, other)

    def __abs__(self) -> Any:
        return self.rows.apply(operator.abs, self)

    def __getitem__(self, key: Any) -> Any:
        return self.rows.apply(operator.getitem, self, key)

    def __matmul__(self, other: Any) -> Any:
        """The inner product of two vectors with one entry per row."""
        return self.rows.fetch(Reduction(operator.matmul, (self, other)))


def request(value: Any, method: str, *args: Any, combine: Combine = "sum") -> Reduction:
    """What a method of a value returns; with rows elsewhere, its results for all groups of rows are combined."""
    return Reduction(_call_method, (value, method, *args), combine)


def _call_method(value: Any, name: str, *args: Any) -> Any:
    return getattr(value, name)(*args)


def map_rows(function: Callable[..., Any], *args: Any) -> Any:
    """The function of these arguments, or a name for it where the rows are."""
    rows = _find_rows(args)
    return function(*args) if rows is None else rows.apply(function, *args)


def reduce_rows(function: Callable[..., Any], *args: Any, combine: Combine = "sum") -> Any:
    """The function of these arguments; with rows elsewhere, its results for all groups of rows are combined."""
    return Reduction(function, args, combine).compute()


def combines_rows(combine: Combine) -> Callable[[_Measure], _Measure]:
    """A decorator for functions that return a number: with rows elsewhere, call :func:`reduce_rows`."""

    def decorate(measure: _Measure) -> _Measure:
        @wraps(measure)
        def combined(*args: Any) -> float:
            if type(args[0]) is np.ndarray:  # as in most calls
                return measure(*args)
            rows = _find_rows(args)
            return measure(*args) if rows is None else float(rows.fetch(Reduction(combined, args, combine)))

        return combined

    return decorate


def prefetch(*reductions: Reduction) -> None:
    """Compute what :func:`reduce_rows` will be asked for soon, in one exchange; do nothing if the rows are here."""
    rows = _find_rows(reductions[0].args)
    if rows is not None:
        rows.prefetch(reductions)


def _find_rows(args: Sequence[Any]) -> Rows | None:
    """Where the rows of one of these arguments are; None if they are all here."""
    for arg in args:
        if isinstance(arg, RowValue):
            return arg.rows
    return None


class RowSum(ABC):
    """y ↦ f(x, y) = Σ_i φ_i(y) + r(y) for a fixed x, with convex φ_i, and an r whose gradient is cheap.

    A base class for slices, beside :class:`minmin.extend.Slice`.
    """

    __slots__ = ()

    @abstractmethod
    def find_row_smoothness(self) -> np.ndarray[Any, Any]:
        """The L of every φ_i, in float64."""

    @abstractmethod
    def estimate_change(self, known: Any, y: Any, rows: np.ndarray[Any, Any], factors: np.ndarray[Any, Any]) -> Any:
        """Σ_j factors_j (∇φ_i(y) - ∇φ_i(ŷ)) + ∇r(y) - ∇r(ŷ), with i = rows_j.

        ``known`` is the evaluation at ŷ, where ∇ᵧf is known; so only the rows at y are computed and counted. The
        numbers of the rows ascend, and some may be repeated.
        """
