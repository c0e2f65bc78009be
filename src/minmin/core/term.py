"""Term: a convex function of one block, known by its values and its proximal map."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from minmin.core.arrays import Array, array_eps
from minmin.core.tree import identify

_BISECTIONS = 50
"""How often the interval of a scale is halved; 50 times leaves 1e-15 of it."""


class Change(NamedTuple):
    """How much a term changes between two points, and the size of the numbers that were added to compute that."""

    value: float
    size: float


class Piece(ABC):
    """A convex set around a point on which a term is smooth, and the term's derivatives at the point.

    For |v_i|, for example, the numbers that are not negative are a piece, and those that are not positive are another.

    Attributes
    ----------
    free : array of bool
        The coordinates that can move within the piece; the others stay.
    gradient, diagonal : arrays
        The term's gradient, and the diagonal of its Hessian; zero for coordinates that stay.
    """

    free: Array
    gradient: Array
    diagonal: Array

    @abstractmethod
    def times(self, d: Array) -> Array:
        """The term's Hessian times d."""

    @abstractmethod
    def hessian(self) -> Array:
        """The term's Hessian as a dense matrix."""

    @abstractmethod
    def rise(self, d: Array) -> float:
        """How much the term changes over a step d within the piece; exact also where d is lost in rounding."""

    @abstractmethod
    def hold(self, v: Array) -> Array:
        """A point of the piece near v; coordinates, or groups of them, that would leave it end at its edge."""

    @abstractmethod
    def scaled(self, factor: float, unit: float) -> Piece:
        """The piece of factor·t(v/unit)."""


class Term(ABC):
    """A convex function t(v) of one block, which may have kinks or be infinite: |v|, or 0 in a box and ∞ elsewhere.

    A subclass defines :meth:`value` and :meth:`prox`. With :meth:`conjugate`, linear models have a duality gap also
    where the penalties prove nothing.

    Attributes
    ----------
    convexity : float
        t(v) - convexity/2 |v|² is convex, too; 0 if nothing more is known than that t is convex.
    takes_steps : bool
        Whether :meth:`prox` also takes an array with one step per coordinate: |u_i - v_i|² is divided by 2·step_i.
    has_pieces : bool
        Whether :meth:`piece` is defined, and :meth:`prox` takes an array of steps; Newton's method needs that.
    """

    convexity: float = 0.0
    takes_steps: bool = False
    has_pieces: bool = False

    @property
    def parts(self) -> tuple[Term | None, ...]:
        """One term, or None, per part of the block."""
        return (self,)

    @abstractmethod
    def value(self, v: Array) -> float:
        """t(v); infinite where v is not allowed."""

    def change(self, old: Array, new: Array) -> Change:
        """t(new) - t(old), where both are finite; more exact than that difference if the points are near each other."""
        values = self.value(old), self.value(new)
        return Change(values[1] - values[0], abs(values[0]) + abs(values[1]))

    @abstractmethod
    def prox(self, v: Array, step: float) -> Array:
        """The proximal map: the u that minimises t(u) + |u - v|²/(2·step), for a step above 0."""

    def piece(self, v: Array, gradient: Array) -> Piece:
        """The piece to look for a lower point in, from a point v where f has this gradient."""
        raise NotImplementedError(f"{type(self).__name__} has no pieces")

    def conjugate(self, s: Array) -> float | None:
        """sup_v <s, v> - t(v), the convex conjugate; infinite where that is unbounded, None if it is not known."""
        return None

    def dual_scale(self, s: Array) -> float:
        """The largest number up to 1 that, times s, has a finite conjugate."""
        if math.isfinite(self._conjugate(s)):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if math.isfinite(self._conjugate(middle * s)):
                low = middle
            else:
                high = middle
        return low

    def _conjugate(self, s: Array) -> float:
        value = self.conjugate(s)
        return math.inf if value is None else value

    def dual_radius(self, s: Array) -> float:
        """Every vector like s that is not longer than this has a finite conjugate; 0 if no such length is known."""
        return 0.0

    def project(self, v: Array) -> Array:
        """The nearest point where t is finite."""
        return v if math.isfinite(self.value(v)) else self.prox(v, array_eps(v))

    def diameter(self, v: Array) -> float:
        """No two vectors like v where t is finite are farther apart than this; infinite if there is no limit."""
        return math.inf

    def slack(self, v: Array) -> float:
        """How far outside of a constraint a vector like v may be where t is finite, because of rounding errors."""
        return 0.0

    def check_size(self, size: int, name: str) -> None:
        """Raise if the term does not fit a block of this length; ``name`` is that of the argument, such as "term_x"."""
        return

    def identity(self) -> Iterable[Any]:
        """Arrays, numbers and strings that distinguish this term from others, for checkpoints."""
        public = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return [type(self).__qualname__, *identify(public)]
